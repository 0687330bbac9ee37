/* SPDX-License-Identifier: MIT */
#include "model/reference.h"
#include <stdlib.h>

#define MIB ((uint64_t)1 << 20)

reference *ref_new(const sc_cache_rules *rules)
{
    reference *ref = calloc(1, sizeof(*ref));

    if (ref) {
        ref->rules = *rules;
        ref->source = rules->step_source;
        sc_step_init(&ref->inference);
        ref->is_scoped = rules->is_scoped_by_site && rules->gate.is_gated;
        ref->scope_count = 1;
        ref->scopes[0].phase = rules->gate.is_gated ? SC_PHASE_WARMUP : SC_PHASE_FIXED;
        ref->scopes[0].wanted = rules->gate.warmup;
        if (rules->declared.shapes && !ref->is_scoped)
            ref_declare(ref, &ref->scopes[0]);
        ref->phase = ref->scopes[0].phase;
        ref->changes = ref->phase != SC_PHASE_WARMUP;
    }
    return ref;
}

bool ref_is_recent(const reference *ref, const ref_shape *shape)
{
    return shape->last_step + ref->rules.max_age > ref->step;
}

bool ref_is_held(const ref_block *block)
{
    return block->state == REF_LIVE || block->state == REF_PARKING || ref_is_idle(block);
}

bool ref_is_idle(const ref_block *block)
{
    return block->state == REF_IDLE || block->state == REF_SPOILT;
}

static ref_scope *scope_of_block(reference *ref, const ref_block *block)
{
    return &ref->scopes[ref->shapes[block->shape].scope];
}

ref_block *ref_find(reference *ref, sc_address address)
{
    for (unsigned i = 0; i < ref->block_top; i++)
        if (ref_is_held(&ref->blocks[i]) && ref->blocks[i].address == address)
            return &ref->blocks[i];
    return NULL;
}

static ref_block *block_at(reference *ref, unsigned shape, unsigned slot)
{
    for (unsigned i = 0; i < ref->block_top; i++) {
        ref_block *block = &ref->blocks[i];

        if (block->state != REF_NONE && block->shape == shape && block->slot == slot)
            return block;
    }
    return NULL;
}

static unsigned blocks_of(const reference *ref, unsigned shape, unsigned states)
{
    unsigned count = 0;

    for (unsigned i = 0; i < ref->block_top; i++)
        count += ref->blocks[i].shape == shape && (states >> ref->blocks[i].state & 1);
    return count;
}

/* The oldest of too many goes, unless it has blocks. */
static void forget_one_shape(reference *ref, unsigned keep)
{
    unsigned known = 0, oldest = REF_SHAPES;

    for (unsigned i = 0; i < REF_SHAPES; i++)
        known += ref->shapes[i].is_known;
    if (known <= 64 * ref->rules.gate.max_shapes)
        return;
    for (unsigned i = 0; i < REF_SHAPES; i++)
        if (ref->shapes[i].is_known && i != keep && blocks_of(ref, i, ~1u) == 0 &&
            (oldest == REF_SHAPES || ref->shapes[i].stamp < ref->shapes[oldest].stamp))
            oldest = i;
    if (oldest < REF_SHAPES) {
        ref->shapes[oldest] = (ref_shape){0};
        ref->forgotten++;
    }
}

static unsigned shape_of(reference *ref, const sc_request *request)
{
    unsigned found = REF_SHAPES, unused = REF_SHAPES;
    ref_shape *shape;

    for (unsigned i = 0; i < REF_SHAPES; i++) {
        shape = &ref->shapes[i];
        if (!shape->is_known)
            unused = i;
        else if (shape->context == request->context && shape->bytes == request->bytes &&
                 (!ref->rules.is_keyed_by_site || shape->site == request->site))
            found = i;
    }
    if (found == REF_SHAPES) {
        found = unused;
        ref->shapes[found] = (ref_shape){.is_known = true,
                                         .context = request->context,
                                         .bytes = request->bytes,
                                         .site = request->site,
                                         .scope = ref_scope_of(ref, request->site),
                                         .id = (uint32_t)ref->next_id++,
                                         .last_step = ref->step,
                                         .stamp = ++ref->next_stamp};
    } else if (ref->shapes[found].last_step != ref->step) {
        ref->shapes[found].last_step = ref->step;
        ref->shapes[found].stamp = ++ref->next_stamp;
    }
    return found;
}

static void note_high(reference *ref, unsigned shape)
{
    unsigned live = blocks_of(ref, shape, REF_GRANTED_STATES);

    ref_note_peaks(ref);
    ref->shapes[shape].high = live > ref->shapes[shape].high ? live : ref->shapes[shape].high;
}

static ref_block *reserve(reference *ref, unsigned s)
{
    ref_shape *shape = &ref->shapes[s];
    ref_block *block = ref->blocks;
    unsigned slot = 0;

    while (block->state != REF_NONE)
        block++;
    if (block == ref->blocks + ref->block_top && ++ref->block_top == REF_BLOCKS)
        abort();
    while (block_at(ref, s, slot))
        slot++;
    if (slot == shape->slot_count)
        shape->slots[shape->slot_count++] = (ref_slot){0};
    *block = (ref_block){.state = REF_RESERVED, .shape = s, .slot = slot};
    ref_enter(ref, &shape->slots[slot]);
    shape->slots[slot].uses++;
    return block;
}

/* Small ones and those that were declared are never new. */
static bool is_novel(const reference *ref, const ref_shape *shape)
{
    return shape->bytes >= ref->rules.small &&
           !(ref->rules.declared.shapes && ref->rules.declared.find(shape->bytes, shape->site));
}

static void ask_cover(reference *ref, ref_shape *shape)
{
    if (ref->source == SC_STEPS_INFERRED)
        sc_step_ask(&ref->inference, &shape->cover, shape->bytes < ref->rules.small);
}

static void grant(reference *ref, unsigned s)
{
    ref_shape *shape = &ref->shapes[s];
    ref_scope *scope = &ref->scopes[shape->scope];

    if (shape->is_granted)
        return;
    shape->is_granted = true;
    forget_one_shape(ref, s);
    ask_cover(ref, shape);
    if (is_novel(ref, shape)) {
        scope->steps[ref->step].is_new = true;
        if (ref_closes(ref, scope, SC_REASON_NEW_SHAPE))
            ref_follow(ref, SC_REASON_NEW_SHAPE);
    }
}

sc_answer ref_request(reference *ref, sc_request request, ref_block **out)
{
    ref_shape *shape;
    ref_scope *scope;
    bool is_eligible;
    unsigned s;

    if (ref->rules.total && request.bytes > ref->rules.total) {
        ref->tally.requests++;
        ref->tally.bypassed++;
        return SC_PASS;
    }
    if (ref->source == SC_STEPS_INFERRED &&
        sc_step_request(&ref->inference, ref_exact_live(ref), request.bytes) != SC_STEP_END_NONE)
        ref_end_step(ref);
    else if (ref->source == SC_STEPS_COUNTED && ref->tally.requests >= ref->rules.step_requests)
        ref_end_step(ref);
    s = shape_of(ref, &request);
    shape = &ref->shapes[s];
    scope = &ref->scopes[shape->scope];
    scope->steps[ref->step].requests++;
    if (shape->is_granted)
        ask_cover(ref, shape);
    ref->tally.requests++;
    shape->requests++;
    is_eligible = scope->phase == SC_PHASE_FIXED && !ref->rules.is_observing &&
                  !request.is_passing &&
                  (shape->is_granted || !ref->rules.gate.is_gated || !is_novel(ref, shape));
    for (unsigned slot = 0; is_eligible && slot < shape->slot_count; slot++) {
        ref_block *block = block_at(ref, s, slot);

        if (block && block->state == REF_IDLE) {
            block->state = REF_LIVE;
            shape->slots[slot].uses++;
            shape->hits++;
            ref->tally.hits++;
            note_high(ref, s);
            *out = block;
            return SC_HIT;
        }
    }
    *out = reserve(ref, s);
    if (is_eligible) {
        ref_miss(ref, shape);
        shape->misses++;
        ref->tally.misses++;
    } else {
        ref->tally.bypassed++;
    }
    return SC_ALLOCATE;
}

static void forget_block(reference *ref, ref_block *block)
{
    ref_state was = block->state;

    if (was == REF_NONE || was == REF_GONE)
        return;
    block->state = was == REF_RESERVED || was == REF_PARKING ? REF_GONE : REF_NONE;
    if (was != REF_IDLE && was != REF_SPOILT && ref->source == SC_STEPS_INFERRED)
        sc_step_free(&ref->inference, ref_exact_live(ref));
}

bool ref_allocated(reference *ref, ref_block *block, sc_address address)
{
    ref_block *former = ref_find(ref, address);

    grant(ref, block->shape);
    ref->tally.driver_allocs++;
    if (former)
        forget_block(ref, former);
    if (block->state == REF_GONE) {
        block->state = REF_NONE;
    } else {
        block->state = REF_LIVE;
        block->address = address;
        note_high(ref, block->shape);
    }
    return !former;
}

void ref_failed(reference *ref, ref_block *block)
{
    bool was_forgotten = block->state == REF_GONE;

    block->state = REF_NONE;
    if (ref->source == SC_STEPS_INFERRED && !was_forgotten)
        sc_step_free(&ref->inference, ref_exact_live(ref));
    if (!ref->shapes[block->shape].is_granted && blocks_of(ref, block->shape, ~1u) == 0) {
        ref->next_id -= ref->shapes[block->shape].id + 1 == ref->next_id;
        ref->shapes[block->shape] = (ref_shape){0};
    }
}

static void real_free(reference *ref, ref_block *block)
{
    block->state = REF_NONE;
    ref->tally.driver_frees++;
    if (ref->source == SC_STEPS_INFERRED)
        sc_step_free(&ref->inference, ref_exact_live(ref));
}

sc_free_answer ref_free(reference *ref, sc_address address, bool is_passing, ref_block **out)
{
    ref_block *block = ref_find(ref, address);

    *out = NULL;
    if (!block)
        return SC_FREE_UNKNOWN;
    if (block->state != REF_LIVE)
        return SC_FREE_TWICE;
    if (is_passing || block->is_exported || ref->rules.is_observing ||
        scope_of_block(ref, block)->phase != SC_PHASE_FIXED) {
        real_free(ref, block);
        return SC_FREE_RELEASE;
    }
    block->state = REF_PARKING;
    *out = block;
    return SC_FREE_PARK;
}

bool ref_park(reference *ref, ref_block *block, uint64_t now)
{
    if (block->state == REF_GONE) {
        block->state = REF_NONE;
        return true;
    }
    if (block->is_exported || scope_of_block(ref, block)->phase != SC_PHASE_FIXED) {
        real_free(ref, block);
        return false;
    }
    block->state = REF_IDLE;
    block->parked = now;
    if (ref->source == SC_STEPS_INFERRED)
        sc_step_free(&ref->inference, ref_exact_live(ref));
    ref_begin_stretch(ref, ref->shapes[block->shape].id);
    return true;
}

bool ref_unpark(reference *ref, ref_block *block)
{
    if (block->state == REF_GONE) {
        block->state = REF_NONE;
        return false;
    }
    real_free(ref, block);
    return true;
}

bool ref_out_of_memory(reference *ref, uint64_t bytes)
{
    bool has_moved = false;

    ref->ooms++;
    if (ref->rules.total && bytes > ref->rules.total)
        return false;
    if (ref_count_in(ref, REF_IDLE_STATES) == 0 || !ref->rules.gate.is_gated)
        return false;
    for (unsigned i = 0; i < ref->scope_count; i++) {
        if (ref_shut(ref, &ref->scopes[i], SC_REASON_OOM)) {
            ref->scopes[i].steps[ref->step].is_new = true;
            has_moved = true;
        }
    }
    ref->fallbacks += has_moved;
    if (has_moved)
        ref_follow(ref, SC_REASON_OOM);
    return true;
}

void ref_close(reference *ref, sc_reason reason)
{
    for (unsigned i = 0; i < ref->scope_count; i++) {
        ref->scopes[i].phase = SC_PHASE_OFF;
        ref_spoil(ref, &ref->scopes[i]);
    }
    ref_follow(ref, reason);
}

void ref_export(reference *ref, sc_address address)
{
    ref_block *block = ref_find(ref, address);

    if (block) {
        block->is_exported = true;
        block->state = block->state == REF_IDLE ? REF_SPOILT : block->state;
    }
}

void ref_forget(reference *ref, sc_address address)
{
    ref_block *block = ref_find(ref, address);

    if (block)
        forget_block(ref, block);
}

void ref_forget_context(reference *ref, sc_context context)
{
    uint64_t below = UINT64_MAX;

    /* the latest used first, as the cache does: the finder of step ends sees each */
    for (;;) {
        unsigned latest = REF_SHAPES;

        for (unsigned s = 0; s < REF_SHAPES; s++) {
            const ref_shape *shape = &ref->shapes[s];

            if (shape->is_known && shape->stamp < below && shape->context == context &&
                (latest == REF_SHAPES || shape->stamp > ref->shapes[latest].stamp))
                latest = s;
        }
        if (latest == REF_SHAPES)
            return;
        below = ref->shapes[latest].stamp;
        for (unsigned slot = 0; slot < ref->shapes[latest].slot_count; slot++) {
            ref_block *block = block_at(ref, latest, slot);

            if (block)
                forget_block(ref, block);
        }
    }
}

void ref_totals(const reference *ref, sc_cache_totals *totals)
{
    *totals = (sc_cache_totals){
        .phase = ref->phase,
        .step = ref->step,
        .all = ref->finished,
        .live = ref_mapped_of(ref, REF_GRANTED_STATES, false),
        .live_bytes = ref_exact_live(ref),
        .shapes_forgotten = ref->forgotten,
        .fallbacks = ref->fallbacks,
        .ooms = ref->ooms,
    };
    for (unsigned i = !ref->is_first_used; ref->is_scoped && i < ref->scope_count; i++) {
        totals->scopes.all++;
        totals->scopes.fixed += ref->scopes[i].phase == SC_PHASE_FIXED;
    }
    totals->idle = ref_mapped_of(ref, REF_GRANTED_STATES | REF_IDLE_STATES, true) - totals->live;
    for (int i = 0; i < SC_PHASE_COUNT; i++)
        totals->steps_in[i] = ref->steps_in[i];
    for (int i = 0; i < REF_SHAPES; i++)
        totals->shapes += ref->shapes[i].is_known;
    ref_add_tally(&totals->all, &ref->tally);
}
