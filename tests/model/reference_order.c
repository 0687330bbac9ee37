/* SPDX-License-Identifier: MIT
 * Who must go first: every idle block is compared with the one that the cache picked. */
#include "model/reference.h"
#include <math.h>

static bool is_filled(const reference *ref, unsigned shape, unsigned slot)
{
    for (unsigned i = 0; i < ref->block_top; i++) {
        const ref_block *block = &ref->blocks[i];

        if (block->state != REF_NONE && block->shape == shape && block->slot == slot)
            return true;
    }
    return false;
}

/* An eighth of the news each step, the steps in between taken together. */
static void make_order(reference *ref)
{
    double steps = (double)(ref->step + 1 - ref->order_made);
    double old = ref->order_made ? pow(0.875, fmin(steps, 64)) : 0;

    for (unsigned s = 0; s < REF_SHAPES; s++) {
        ref_shape *shape = &ref->shapes[s];

        for (unsigned i = 0; shape->is_known && i < shape->slot_count; i++) {
            ref_slot *slot = &shape->slots[i];

            slot->is_ranked = (slot->is_ranked || slot->entry > 0) &&
                              (ref_is_recent(ref, shape) || is_filled(ref, s, i));
            slot->rate = old * slot->rate + (1 - old) * ((double)slot->uses / steps);
            slot->rate = slot->is_ranked ? slot->rate : 0;
            slot->history = slot->rate > 0 ? slot->history * 1000003 + slot->uses + 1 : 0;
            slot->uses = 0;
            slot->entry = 0;
        }
    }
    ref->order_made = ref->step + 1;
}

void ref_enter(reference *ref, ref_slot *slot)
{
    if (!slot->is_ranked && slot->entry == 0)
        slot->entry = ++ref->next_entry;
}

/* Whether `other` ought to have gone before `victim`. */
static bool is_before(const reference *ref, const ref_block *other, const ref_block *victim)
{
    const ref_shape *a = &ref->shapes[other->shape], *b = &ref->shapes[victim->shape];
    const ref_slot *x = &a->slots[other->slot], *y = &b->slots[victim->slot];
    double of_other = sqrt(x->rate) / (double)ref_mapped(a->bytes);
    double of_victim = sqrt(y->rate) / (double)ref_mapped(b->bytes);

    if (!x->is_ranked || !y->is_ranked)
        return !y->is_ranked && (x->is_ranked || x->entry < y->entry);
    if (x->rate == 0 && y->rate == 0 && ref_mapped(a->bytes) != ref_mapped(b->bytes))
        return ref_mapped(a->bytes) > ref_mapped(b->bytes);
    if (x->history == y->history && ref_mapped(a->bytes) == ref_mapped(b->bytes))
        return other->slot > victim->slot || (other->slot == victim->slot && a->id < b->id);
    return of_other < of_victim * (1 - 1e-9);
}

const char *ref_judge(reference *ref, const ref_block *victim)
{
    if (ref->order_made != ref->step + 1)
        make_order(ref);
    for (unsigned i = 0; i < ref->block_top; i++) {
        const ref_block *block = &ref->blocks[i];

        if (block != victim && ref_is_idle(block) && is_before(ref, block, victim))
            return "another one is of less value";
    }
    return NULL;
}
