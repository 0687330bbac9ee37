/* SPDX-License-Identifier: MIT
 * What the reference gives back, why, and when it has gone. */
#include "model/reference.h"
#include <stdlib.h>

const char *ref_take(reference *ref, sc_take why, sc_address address)
{
    ref_block *block = ref_find(ref, address);
    bool is_spoilt = ref_count_in(ref, 1 << REF_SPOILT) > 0;
    const char *wrong = NULL;

    if (!block || !ref_is_idle(block))
        return "it is not idle";
    if (!ref_wants(ref, why))
        return "nothing need go";
    if (is_spoilt)
        wrong = block->state == REF_SPOILT ? NULL : "what is spoilt goes first";
    else
        wrong = ref_judge(ref, block);
    if (why != SC_TAKE_ALL && block->state == REF_IDLE) {
        uint64_t live = ref_mapped_of(ref, REF_WANTED_STATES, false);

        ref->tally.evicted++;
        ref->shapes[block->shape].evicted++;
        if (why == SC_TAKE_DUE && !ref_is_short(ref) &&
            ref_mapped_of(ref, REF_WANTED_STATES | REF_IDLE_STATES, false) <=
                ref_ceiling(ref, live))
            ref_cede(ref, &ref->shapes[block->shape]);
    }
    block->state = REF_NONE;
    ref->taken[ref->taken_count++] = ref->shapes[block->shape].bytes;
    return wrong;
}

void ref_tick(reference *ref, uint64_t now)
{
    uint64_t most = ref->rules.max_idle, next = now + most;

    if (!most || !ref->rules.gate.is_gated || now < ref->look_at)
        return;
    for (unsigned i = 0; i < ref->block_top; i++) {
        ref_block *block = &ref->blocks[i];

        if (block->state == REF_IDLE && block->parked + most <= now) {
            block->state = REF_SPOILT;
            ref->tally.expired++;
        } else if (block->state == REF_IDLE && block->parked + most < next) {
            next = block->parked + most;
        }
    }
    ref->look_at = next < now + most / 16 ? now + most / 16 : next;
}

void ref_driver_free(reference *ref, uint64_t bytes)
{
    ref->was_asked = true;
    ref->held_when_asked = ref_mapped_of(ref, REF_GRANTED_STATES | REF_IDLE_STATES, true);
    ref->free_when_asked = bytes;
}

void ref_took(reference *ref)
{
    for (int i = 0; ref->taken_count > 0; i++)
        if (ref->going[i] == 0)
            ref->going[i] = ref->taken[--ref->taken_count];
}

void ref_gone(reference *ref, uint64_t bytes)
{
    int i = 0;

    while (ref->going[i] != bytes)
        i++;
    ref->going[i] = 0;
    ref->tally.driver_frees++;
}
