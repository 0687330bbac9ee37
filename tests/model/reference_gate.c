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
uint64_t ref_mapped_with(const reference *ref, unsigned states, bool with_going, uint64_t small,
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
    return ref_mapped_with(ref, states, with_going, 0, 0);
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
    uint64_t most, small, large;

    if (ref_count_in(ref, REF_IDLE_STATES) == 0)
        return false;
    if (why == SC_TAKE_ALL)
        return true;
    if (why == SC_TAKE_ROOM) {
        return ref->rules.gate.is_gated && ref_mapped_of(ref, REF_WANTED_STATES | REF_IDLE_STATES,
                                                         true) > ref_ceiling(ref, live);
    }
    if (ref_count_in(ref, 1 << REF_SPOILT) > 0 || ref_is_short(ref))
        return true;
    ref_headroom(ref, &small, &large);
    most = 4 * ((peak > live ? peak : live) * ref->rules.overhead_percent / 100);
    small = small < most ? small : most;
    large = large < most ? large : most;
    return ref->rules.gate.is_gated &&
           ref_mapped_with(ref, REF_WANTED_STATES | REF_IDLE_STATES, false, small, large) >
               ref_ceiling(ref, ref_mapped_with(ref, REF_WANTED_STATES, false, small, large));
}

static uint64_t set_size(const reference *ref, unsigned scope)
{
    uint64_t count = 0;

    for (int i = 0; i < REF_SHAPES; i++) {
        const ref_shape *shape = &ref->shapes[i];

        count += shape->is_known && shape->scope == scope && shape->bytes >= ref->rules.small &&
                 ref_is_recent(ref, shape);
    }
    return count;
}

/* Outside FIXED nothing idle is served again. */
void ref_spoil(reference *ref, const ref_scope *scope)
{
    for (unsigned i = 0; i < ref->block_top; i++) {
        ref_block *block = &ref->blocks[i];

        if (block->state == REF_IDLE && &ref->scopes[ref->shapes[block->shape].scope] == scope)
            block->state = REF_SPOILT;
    }
}

/* The observer is told of one call site's gate. */
static void tell_scope(reference *ref, const ref_scope *scope)
{
    if (ref->is_scoped) {
        ref->changes++;
        ref->reason = scope->reason;
    }
}

/* The device is in the best of the phases that its gates are in. */
void ref_follow(reference *ref, sc_reason reason)
{
    unsigned in[SC_PHASE_COUNT] = {0};
    sc_phase phase = SC_PHASE_OFF;

    for (unsigned i = 0; i < ref->scope_count; i++)
        in[ref->scopes[i].phase]++;
    if (in[SC_PHASE_WARMUP])
        phase = SC_PHASE_WARMUP;
    if (in[SC_PHASE_FALLBACK])
        phase = SC_PHASE_FALLBACK;
    if (in[SC_PHASE_FIXED])
        phase = SC_PHASE_FIXED;
    if (phase != ref->phase) {
        ref->phase = phase;
        ref->reason = reason;
        ref->changes++;
    }
}

void ref_declare(reference *ref, ref_scope *scope)
{
    if (scope->phase != SC_PHASE_WARMUP)
        return;
    scope->phase = SC_PHASE_FIXED;
    scope->reason = SC_REASON_DECLARED;
    scope->last_quiet = ref->rules.gate.warmup;
    scope->wanted = ref->rules.gate.rearm;
    scope->opened = ref->step;
    tell_scope(ref, scope);
}

/* The index of the gate that decides for a site, which may be new. */
unsigned ref_scope_of(reference *ref, uint32_t site)
{
    ref_scope *scope = &ref->scopes[ref->scope_count];

    if (!ref->is_scoped)
        return 0;
    ref->is_first_used |= site == 0;
    for (unsigned i = 0; i < ref->scope_count; i++)
        if (ref->scopes[i].site == site)
            return i;
    if (++ref->scope_count == REF_SCOPES)
        abort(); /* the test is to use fewer */
    scope->site = site;
    scope->phase = ref->phase == SC_PHASE_OFF ? SC_PHASE_OFF : SC_PHASE_WARMUP;
    scope->wanted = ref->rules.gate.warmup;
    if (ref->rules.declared.shapes && ref->rules.declared.find(0, site)) {
        ref_declare(ref, scope);
        ref_follow(ref, SC_REASON_DECLARED);
    }
    return ref->scope_count - 1;
}

bool ref_shut(reference *ref, ref_scope *scope, sc_reason reason)
{
    uint64_t lasted = 0;

    if (scope->phase != SC_PHASE_FIXED || !ref->rules.gate.is_gated)
        return false;
    for (uint64_t i = scope->opened; i < ref->step; i++)
        lasted += scope->steps[i].requests > 0;
    if (lasted >= 4 * scope->last_quiet)
        scope->wanted = ref->rules.gate.rearm;
    scope->phase = SC_PHASE_FALLBACK;
    scope->reason = reason;
    scope->closed = ref->step;
    ref_spoil(ref, scope);
    return true;
}

bool ref_closes(reference *ref, ref_scope *scope, sc_reason reason)
{
    if (!ref_shut(ref, scope, reason))
        return false;
    ref->fallbacks++;
    tell_scope(ref, scope);
    return true;
}

/* Steps in a row without a new shape, up to the one that has just ended; empty ones and those whose
 * end is doubtful are passed over. */
static uint64_t quiet_steps(const reference *ref, const ref_scope *scope)
{
    uint64_t count = 0;

    for (uint64_t i = ref->step; i > scope->closed; i--) {
        if (scope->steps[i - 1].requests > 0) {
            if (scope->steps[i - 1].is_new)
                break;
            count += !scope->steps[i - 1].is_doubtful;
        }
    }
    return count;
}

static bool is_thrashing(const reference *ref, const ref_scope *scope)
{
    uint64_t count = 0;

    for (uint64_t i = ref->step; i > scope->opened && count < ref->rules.gate.warmup; i--) {
        if (scope->steps[i - 1].requests > 0) {
            if (2 * ref->steps[i - 1].evictions <= ref->steps[i - 1].requests)
                return false;
            count++;
        }
    }
    return count == ref->rules.gate.warmup;
}

/* Step number ref->step - 1 has ended. True: the gate moved. */
static bool judge_step(reference *ref, ref_scope *scope, uint64_t width)
{
    const ref_past_step *past = &scope->steps[ref->step - 1];
    bool is_first = scope->phase == SC_PHASE_WARMUP;

    if (!ref->rules.gate.is_gated || scope->phase == SC_PHASE_OFF || past->requests == 0)
        return false;
    if (scope->phase == SC_PHASE_FIXED) {
        if (width > ref->rules.gate.max_shapes)
            return ref_closes(ref, scope, SC_REASON_TOO_MANY_SHAPES);
        return is_thrashing(ref, scope) && ref_closes(ref, scope, SC_REASON_THRASH);
    }
    if (past->is_new || past->is_doubtful || quiet_steps(ref, scope) < scope->wanted ||
        width > ref->rules.gate.max_shapes || (!is_first && ref->rules.gate.rearm == 0))
        return false;
    scope->phase = SC_PHASE_FIXED;
    scope->reason = is_first ? SC_REASON_SET_FIXED : SC_REASON_REARM;
    scope->last_quiet = scope->wanted;
    scope->wanted = is_first ? ref->rules.gate.rearm : 2 * scope->wanted;
    scope->opened = ref->step;
    tell_scope(ref, scope);
    return true;
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
    uint64_t widths[REF_SCOPES];
    const ref_scope *moved = NULL;

    if (ref->step + 1 == REF_STEPS)
        abort(); /* the test is to be shorter */
    for (unsigned i = 0; i < ref->scope_count; i++) {
        widths[i] = set_size(ref, i);
        ref->scopes[i].steps[ref->step].is_doubtful =
            ref->source == SC_STEPS_INFERRED && ref->inference.is_doubtful;
    }
    ref->steps[ref->step].peak = ref->tally.live_peak;
    ref->steps[ref->step].requests = ref->tally.requests;
    ref->steps[ref->step].evictions = ref->tally.evicted;
    ref_add_tally(&ref->finished, &ref->tally);
    ref->steps_in[ref->phase]++;
    ref->tally = (sc_tally){0};
    ref_note_peaks(ref);
    ref->surprise[1] = ref->surprise[0];
    ref->surprise[0] = 0;
    ref->step++;
    ref_forget_ceded(ref);
    /* the first, then the youngest first: the last that moves gives its reason to the device */
    for (unsigned i = 0; i < ref->scope_count; i++) {
        unsigned which = i ? ref->scope_count - i : 0;

        if (judge_step(ref, &ref->scopes[which], widths[which]))
            moved = &ref->scopes[which];
    }
    if (moved)
        ref_follow(ref, moved->reason);
}

void ref_step_end(reference *ref)
{
    if (ref->source == SC_STEPS_COUNTED)
        return;
    ref->source = SC_STEPS_NAMED;
    ref_end_step(ref);
}
