/* SPDX-License-Identifier: MIT
 * Sums, the cap, the gate and the steps of the reference: all from scratch, all from history. */
#include "model/reference.h"
#include <stdlib.h>

#define MIB ((uint64_t)1 << 20)

uint64_t ref_mapped(uint64_t bytes)
{
    uint64_t unit = bytes >= MIB ? 2 * MIB : 512;

    return (bytes + unit - 1) / unit * unit;
}

static uint64_t pages(uint64_t small, uint64_t large)
{
    return large + (small + 2 * MIB - 1) / (2 * MIB) * (2 * MIB);
}

/* Mapped bytes of all blocks whose state is in the set (bit i: state i), of those on their way
 * back, and of `small` and `large` more. */
static uint64_t mapped_with(const reference *ref, unsigned states, bool with_going, uint64_t small,
                            uint64_t large)
{
    for (unsigned i = 0; i < ref->block_top; i++) {
        uint64_t bytes = ref->shapes[ref->blocks[i].shape].bytes;

        if (states >> ref->blocks[i].state & 1)
            *(bytes < MIB ? &small : &large) += ref_mapped(bytes);
    }
    for (int i = 0; with_going && i < REF_GOING; i++)
        *(ref->going[i] < MIB ? &small : &large) += ref_mapped(ref->going[i]);
    return pages(small, large);
}

uint64_t ref_mapped_of(const reference *ref, unsigned states, bool with_going)
{
    return mapped_with(ref, states, with_going, 0, 0);
}

uint64_t ref_exact_live(const reference *ref)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < ref->block_top; i++)
        if (REF_WANTED_STATES >> ref->blocks[i].state & 1)
            sum += ref->shapes[ref->blocks[i].shape].bytes;
    return sum;
}

static uint64_t peak_of_late(const reference *ref)
{
    uint64_t most = ref->tally.live_peak;

    for (uint64_t back = 1; back < ref->rules.max_age && back <= ref->step; back++) {
        uint64_t peak = ref->steps[ref->step - back].peak;

        most = peak > most ? peak : most;
    }
    return most;
}

uint64_t ref_ceiling(const reference *ref, uint64_t live)
{
    uint64_t peak = peak_of_late(ref), most;

    peak = live > peak ? live : peak;
    most = peak + peak * ref->rules.overhead_percent / 100;
    most = most > ref->rules.limit ? ref->rules.limit : most;
    return most > live ? most : live;
}

void ref_note_peaks(reference *ref)
{
    uint64_t live = ref_mapped_of(ref, REF_GRANTED_STATES, false),
             held = ref_mapped_of(ref, REF_GRANTED_STATES | REF_IDLE_STATES, true);

    ref->tally.live_peak = live > ref->tally.live_peak ? live : ref->tally.live_peak;
    ref->tally.held_peak = held > ref->tally.held_peak ? held : ref->tally.held_peak;
}

unsigned ref_count_in(const reference *ref, unsigned states)
{
    unsigned count = 0;

    for (unsigned i = 0; i < ref->block_top; i++)
        count += states >> ref->blocks[i].state & 1;
    return count;
}

/* One whose shape has ceded in an earlier step begins anew. */
void ref_cede(reference *ref, const ref_shape *shape)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < ref->ceded_count; i++)
        if (ref->ceded[i].shape != shape->id || ref->ceded[i].step == ref->step)
            ref->ceded[kept++] = ref->ceded[i];
    if (kept == REF_CEDED)
        abort(); /* the test is to be smaller */
    ref->ceded[kept] = (ref_ceded){shape->id, ref->step, ref_mapped(shape->bytes)};
    ref->ceded_count = kept + 1;
}

void ref_forget_ceded(reference *ref)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < ref->ceded_count; i++)
        if (ref->ceded[i].step + 1 >= ref->step)
            ref->ceded[kept++] = ref->ceded[i];
    ref->ceded_count = kept;
}

/* Whether a miss of `shape`, just reserved, would not have fitted had nothing been ceded. */
bool ref_is_real_miss(reference *ref, const ref_shape *shape)
{
    uint64_t live = ref_mapped_of(ref, REF_WANTED_STATES, false);
    uint64_t small = 0, large = 0;

    for (unsigned i = 0; i < ref->ceded_count; i++) {
        if (ref->ceded[i].shape == shape->id) {
            ref->ceded[i] = ref->ceded[--ref->ceded_count];
            break;
        }
    }
    for (unsigned i = 0; i < ref->ceded_count; i++)
        *(ref->ceded[i].mapped < 2 * MIB ? &small : &large) += ref->ceded[i].mapped;
    return mapped_with(ref, REF_WANTED_STATES | REF_IDLE_STATES, false, small, large) >
           ref_ceiling(ref, live);
}

/* Whether the driver, had nothing else changed since it was asked, would have less than the
 * reserve, and idle memory could help. */
bool ref_is_short(const reference *ref)
{
    uint64_t held = ref_mapped_of(ref, REF_WANTED_STATES | REF_IDLE_STATES, false);

    return ref->rules.gate.is_gated && ref->was_asked &&
           held > ref_mapped_of(ref, REF_WANTED_STATES, false) &&
           held + ref->rules.reserve > ref->held_when_asked + ref->free_when_asked;
}

bool ref_wants(const reference *ref, sc_take why)
{
    uint64_t live = ref_mapped_of(ref, REF_WANTED_STATES, false), peak = peak_of_late(ref);
    uint64_t extra, most, small, large;

    if (ref_count_in(ref, REF_IDLE_STATES) == 0)
        return false;
    if (why == SC_TAKE_ALL)
        return true;
    if (why == SC_TAKE_ROOM) {
        return ref->rules.gate.is_gated && ref_mapped_of(ref, REF_WANTED_STATES | REF_IDLE_STATES,
                                                         true) > ref_ceiling(ref, live);
    }
    if (ref->phase != SC_PHASE_FIXED || ref_count_in(ref, 1 << REF_SPOILT) > 0 || ref_is_short(ref))
        return true;
    extra = ref->miss[0] > ref->miss[1] ? ref->miss[0] : ref->miss[1];
    most = 4 * ((peak > live ? peak : live) * ref->rules.overhead_percent / 100);
    small = extra < 2 * MIB ? extra : 0;
    large = extra - small;
    small = small < most ? small : most;
    large = large < most ? large : most;
    return ref->rules.gate.is_gated &&
           mapped_with(ref, REF_WANTED_STATES | REF_IDLE_STATES, false, small, large) >
               ref_ceiling(ref, mapped_with(ref, REF_WANTED_STATES, false, small, large));
}

static uint64_t set_size(const reference *ref)
{
    uint64_t count = 0;

    for (int i = 0; i < REF_SHAPES; i++) {
        const ref_shape *shape = &ref->shapes[i];

        count += shape->is_known && shape->bytes >= ref->rules.small && ref_is_recent(ref, shape);
    }
    return count;
}

bool ref_closes(reference *ref, sc_reason reason)
{
    uint64_t lasted = 0;

    if (ref->phase != SC_PHASE_FIXED || !ref->rules.gate.is_gated)
        return false;
    for (uint64_t i = ref->opened; i < ref->step; i++)
        lasted += ref->steps[i].requests > 0;
    if (lasted >= 4 * ref->last_quiet)
        ref->wanted = ref->rules.gate.rearm;
    ref->phase = SC_PHASE_FALLBACK;
    ref->reason = reason;
    ref->closed = ref->step;
    ref->fallbacks++;
    ref->changes++;
    return true;
}

/* Steps in a row without a new shape, up to the one that has just ended; empty ones and those whose
 * end is doubtful are passed over. */
static uint64_t quiet_steps(const reference *ref)
{
    uint64_t count = 0;

    for (uint64_t i = ref->step; i > ref->closed; i--) {
        if (ref->steps[i - 1].requests > 0) {
            if (ref->steps[i - 1].is_new)
                break;
            count += !ref->steps[i - 1].is_doubtful;
        }
    }
    return count;
}

static bool is_thrashing(const reference *ref)
{
    uint64_t count = 0;

    for (uint64_t i = ref->step; i > ref->opened && count < ref->rules.gate.warmup; i--) {
        const ref_past_step *past = &ref->steps[i - 1];

        if (past->requests > 0) {
            if (2 * past->evictions <= past->requests)
                return false;
            count++;
        }
    }
    return count == ref->rules.gate.warmup;
}

/* Step number ref->step - 1 has ended. */
static void judge_step(reference *ref, uint64_t width)
{
    bool is_first = ref->phase == SC_PHASE_WARMUP;

    if (!ref->rules.gate.is_gated || ref->phase == SC_PHASE_OFF ||
        ref->steps[ref->step - 1].requests == 0)
        return;
    if (ref->phase == SC_PHASE_FIXED) {
        if (width > ref->rules.gate.max_shapes)
            (void)ref_closes(ref, SC_REASON_TOO_MANY_SHAPES);
        else if (is_thrashing(ref))
            (void)ref_closes(ref, SC_REASON_THRASH);
        return;
    }
    if (ref->steps[ref->step - 1].is_new || ref->steps[ref->step - 1].is_doubtful ||
        quiet_steps(ref) < ref->wanted || width > ref->rules.gate.max_shapes ||
        (!is_first && ref->rules.gate.rearm == 0))
        return;
    ref->phase = SC_PHASE_FIXED;
    ref->reason = is_first ? SC_REASON_SET_FIXED : SC_REASON_REARM;
    ref->last_quiet = ref->wanted;
    ref->wanted = is_first ? ref->rules.gate.rearm : 2 * ref->wanted;
    ref->opened = ref->step;
    ref->changes++;
}

void ref_add_tally(sc_tally *sum, const sc_tally *tally)
{
    sum->requests += tally->requests;
    sum->hits += tally->hits;
    sum->misses += tally->misses;
    sum->bypassed += tally->bypassed;
    sum->driver_allocs += tally->driver_allocs;
    sum->driver_frees += tally->driver_frees;
    sum->evicted += tally->evicted;
    sum->expired += tally->expired;
    sum->live_peak = tally->live_peak > sum->live_peak ? tally->live_peak : sum->live_peak;
    sum->held_peak = tally->held_peak > sum->held_peak ? tally->held_peak : sum->held_peak;
}

void ref_end_step(reference *ref)
{
    ref_past_step *past = &ref->steps[ref->step];
    uint64_t width = set_size(ref);

    if (ref->step + 1 == REF_STEPS)
        abort(); /* the test is to be shorter */
    past->peak = ref->tally.live_peak;
    past->requests = ref->tally.requests;
    past->evictions = ref->tally.evicted;
    past->is_doubtful = ref->source == SC_STEPS_INFERRED && ref->inference.is_doubtful;
    ref_add_tally(&ref->finished, &ref->tally);
    ref->steps_in[ref->phase]++;
    ref->tally = (sc_tally){0};
    ref_note_peaks(ref);
    ref->miss[1] = ref->miss[0];
    ref->miss[0] = 0;
    ref->step++;
    ref_forget_ceded(ref);
    judge_step(ref, width);
}

void ref_step_end(reference *ref)
{
    if (ref->source == SC_STEPS_COUNTED)
        return;
    ref->source = SC_STEPS_NAMED;
    ref_end_step(ref);
}
