/* SPDX-License-Identifier: MIT */
#include "cache/state.h"
#include <stdlib.h>

enum { KNOWN_PER_MAX_SHAPES = 64 };

static uint64_t at_least(uint64_t value, uint64_t least)
{
    return value < least ? least : value;
}

static void declare(sc_cache *cache, sc_scope *scope)
{
    sc_phase from = scope->gate.phase;

    sc_gate_declare(&scope->gate);
    if (scope->gate.phase != from)
        sc_state_moved(cache, scope, from, NULL);
}

sc_cache *sc_cache_new(const sc_cache_rules *rules, const sc_cache_observer *observer)
{
    sc_cache *cache = calloc(1, sizeof(*cache));
    uint64_t max_known;

    if (!cache)
        return NULL;
    cache->rules = *rules;
    cache->observer = *observer;
    cache->rules.max_age = at_least(rules->max_age, 1);
    cache->rules.gate.warmup = at_least(rules->gate.warmup, 1);
    if (!sc_peak_init(&cache->peak, cache->rules.max_age)) {
        free(cache);
        return NULL;
    }
    max_known = rules->gate.max_shapes < UINT64_MAX / KNOWN_PER_MAX_SHAPES
                    ? rules->gate.max_shapes * KNOWN_PER_MAX_SHAPES
                    : UINT64_MAX;
    sc_shapes_init(&cache->shapes, max_known, cache->rules.max_age, rules->small);
    cache->shapes.site_mask = rules->is_keyed_by_site ? UINT32_MAX : 0;
    cache->cap.overhead_percent = rules->overhead_percent;
    cache->cap.limit = rules->limit;
    cache->room = UINT64_MAX;
    cache->step_source = rules->step_source;
    sc_step_init(&cache->inference);
    cache->is_scoped = rules->is_scoped_by_site && rules->gate.is_gated;
    sc_scopes_init(&cache->scopes, &cache->rules.gate);
    if (!cache->is_scoped && rules->declared.shapes > 0)
        declare(cache, &cache->scopes.first);
    sc_state_follow(cache, &cache->scopes.first, NULL);
    return cache;
}

void sc_cache_delete(sc_cache *cache)
{
    sc_live_release(&cache->live);
    sc_cap_release(&cache->cap);
    sc_peak_release(&cache->peak);
    sc_shapes_release(&cache->shapes);
    sc_spare_release(&cache->spare);
    sc_scopes_release(&cache->scopes);
    free(cache);
}

sc_address sc_buffer_address(const sc_buffer *buffer)
{
    return buffer->address;
}

sc_context sc_buffer_context(const sc_buffer *buffer)
{
    return buffer->shape->context;
}

uint64_t sc_buffer_bytes(const sc_buffer *buffer)
{
    return buffer->shape->bytes;
}

uint32_t sc_buffer_shape(const sc_buffer *buffer)
{
    return buffer->shape->id;
}

bool sc_buffer_is_miss(const sc_buffer *buffer)
{
    return buffer->is_miss;
}

sc_lapse sc_buffer_lapse(const sc_buffer *buffer)
{
    return (sc_lapse)buffer->lapse;
}

/* Each gate judges the step, unless nothing came of its own shapes: by how many those are, and by
 * what went for the cap, which is the device's. */
static void judge_step(sc_cache *cache, sc_gate_step step)
{
    const uint64_t requests = step.requests;
    const sc_scope *moved = NULL;

    for (sc_scope *scope = &cache->scopes.first; scope; scope = scope->next) {
        sc_phase from = scope->gate.phase;

        step.requests = scope->requests > 0 ? requests : 0;
        step.shapes = scope->recent;
        scope->requests = 0;
        if (sc_gate_step_end(&scope->gate, step)) {
            sc_state_moved(cache, scope, from, NULL);
            moved = scope;
        }
    }
    if (moved)
        sc_state_follow(cache, moved, NULL);
}

static void end_step(sc_cache *cache, sc_step_end ended_by)
{
    uint64_t live = sc_mapped_total(cache->granted);
    uint64_t held = sc_state_mapped(cache);
    sc_gate_step finished = {
        .requests = cache->tally.requests,
        .evictions = cache->tally.evicted,
        .is_doubtful = ended_by != SC_STEP_END_API && cache->inference.is_doubtful,
    };

    if (cache->observer.step) {
        sc_step_row row = {.step = cache->step,
                           .phase = cache->scopes.phase,
                           .tally = cache->tally,
                           .live = live,
                           .idle = held - live,
                           .scopes = sc_state_scopes(cache),
                           .ended_by = ended_by};

        cache->observer.step(cache->observer.self, &row);
    }
    sc_state_add_tally(&cache->finished, &cache->tally);
    sc_peak_push(&cache->peak, cache->step, cache->tally.live_peak);
    cache->tally = (sc_tally){.live_peak = live, .held_peak = held};
    sc_headroom_step_end(&cache->headroom);
    cache->steps_in[cache->scopes.phase]++;
    cache->step++;
    judge_step(cache, finished);
    sc_shapes_age(&cache->shapes, cache->step);
}

void sc_cache_step_end(sc_cache *cache)
{
    if (cache->step_source == SC_STEPS_COUNTED)
        return;
    cache->step_source = SC_STEPS_NAMED;
    end_step(cache, SC_STEP_END_API);
}

/* What ended a step just before the request that arrives, if one ended. */
static sc_step_end find_end(sc_cache *cache, uint64_t bytes)
{
    switch (cache->step_source) {
    case SC_STEPS_INFERRED:
        return sc_step_request(&cache->inference, cache->live_bytes, bytes);
    case SC_STEPS_COUNTED:
        /* or more: the engine counts requests that it passes by */
        return cache->tally.requests >= cache->rules.step_requests ? SC_STEP_END_REQUESTS
                                                                   : SC_STEP_END_NONE;
    default:
        return SC_STEP_END_NONE;
    }
}

/* Out of the order of eviction. */
static void leave_order(sc_cache *cache, const sc_shape *shape)
{
    for (uint32_t i = 0; i < shape->count; i++)
        sc_cap_leave(&cache->cap, shape->slots[i]);
}

static void forget_surplus(sc_cache *cache, const sc_shape *keep)
{
    sc_shape *shape = sc_shapes_surplus(&cache->shapes, keep);

    if (shape) {
        leave_order(cache, shape);
        sc_shapes_forget(&cache->shapes, shape);
    }
}

/* NULL: the shape was not declared. */
static const sc_hint *find_declared(const sc_cache *cache, const sc_shape *shape)
{
    const sc_declared *declared = &cache->rules.declared;

    return declared->shapes > 0 ? declared->find(shape->bytes, shape->site) : NULL;
}

/* First sight of a shape: the log learns of it before the gate judges. */
static void announce(sc_cache *cache, const sc_shape *shape)
{
    sc_scope *scope = shape->scope;
    sc_phase from = scope->gate.phase;

    if (cache->observer.shape) {
        sc_shape_row row;

        sc_state_shape_row(shape, &row);
        cache->observer.shape(cache->observer.self, &row);
    }
    if (shape->is_novel && sc_gate_new_shape(&scope->gate)) {
        sc_state_moved(cache, scope, from, shape);
        sc_state_follow(cache, scope, shape);
    }
}

static void infer_from(sc_cache *cache, sc_shape *shape)
{
    if (cache->step_source == SC_STEPS_INFERRED)
        sc_step_ask(&cache->inference, &shape->cover, shape->is_small);
}

/* Its first request has been granted: it is a shape from now on. */
static void admit(sc_cache *cache, sc_shape *shape)
{
    const sc_hint *declared = find_declared(cache, shape);

    shape->is_granted = true;
    forget_surplus(cache, shape);
    infer_from(cache, shape);
    if (declared && (declared->label[0] || declared->count))
        (void)sc_shape_hint(shape, declared);
    announce(cache, shape);
}

/* Nobody got memory of it: a size that the driver refuses is no shape. */
static void dismiss(sc_cache *cache, sc_shape *shape)
{
    if (shape->is_granted || shape->of[SC_STATE_EMPTY] != shape->count)
        return; /* granted, or another request may still be */
    leave_order(cache, shape);
    sc_shapes_dismiss(&cache->shapes, shape);
}

/* Whose gate decides for the requests of a site. Where there is no memory for one, the first's. */
static sc_scope *scope_of(sc_cache *cache, uint32_t site)
{
    sc_scope *scope = cache->is_scoped && site ? sc_scopes_find(&cache->scopes, site) : NULL;

    if (!scope && cache->is_scoped && site) {
        scope = sc_scopes_add(&cache->scopes, site);
        if (scope && cache->rules.declared.shapes > 0 && cache->rules.declared.find(0, site)) {
            declare(cache, scope);
            sc_state_follow(cache, scope, NULL);
        }
    }
    if (scope)
        return scope;
    cache->scopes.is_first_used = true;
    return &cache->scopes.first;
}

/* The request's shape, which may be none yet. NULL: out of memory. */
static sc_shape *recognize(sc_cache *cache, const sc_request *request)
{
    sc_shape *shape =
        sc_shapes_find(&cache->shapes, request->context, request->bytes, request->site);

    if (shape) {
        sc_shapes_use(&cache->shapes, shape, cache->step);
    } else {
        shape = sc_shapes_add(&cache->shapes, scope_of(cache, request->site), request->context,
                              request->bytes, request->site, cache->step);
        if (!shape)
            return NULL;
        shape->is_novel = !shape->is_small && !find_declared(cache, shape);
    }
    shape->requests++;
    shape->scope->requests++;
    return shape;
}

/* Of a shape that will close the gate, nothing is. */
static bool may_serve(const sc_cache *cache, const sc_shape *shape)
{
    bool is_closing = !shape->is_granted && shape->is_novel && cache->rules.gate.is_gated;

    return sc_state_is_serving(cache, shape) && !is_closing;
}

static sc_buffer *serve(sc_cache *cache, sc_shape *shape)
{
    sc_buffer *buffer = sc_shape_lowest_idle(shape);

    sc_state_change(cache, buffer, SC_STATE_IDLE, SC_STATE_LIVE);
    buffer->uses++;
    shape->hits++;
    cache->tally.hits++;
    cache->live_bytes += shape->bytes;
    sc_state_note_peaks(cache, buffer);
    return buffer;
}

/* An empty slot of `shape`, promised to the driver's answer. NULL: out of memory. */
static sc_buffer *reserve(sc_cache *cache, sc_shape *shape)
{
    sc_buffer *buffer = NULL;

    if (sc_cap_reserve(&cache->cap, cache->shapes.slots + 1))
        buffer = sc_shape_empty_slot(&cache->shapes, shape);
    if (buffer) {
        sc_cap_enter(&cache->cap, buffer);
        sc_state_move(cache, buffer, SC_STATE_RESERVED);
        buffer->uses++;
        cache->live_bytes += shape->bytes;
    }
    return buffer;
}

static void count_miss(sc_cache *cache, sc_shape *shape)
{
    sc_mapped live = sc_mapped_plus(cache->granted, cache->reserved);
    sc_mapped held = sc_mapped_plus(live, cache->idle);

    shape->misses++;
    cache->tally.misses++;
    sc_headroom_miss(&cache->headroom, shape, cache->step, held, sc_state_ceiling(cache, live));
}

/* Before it gets a slot: nothing of the shape is idle. */
static sc_lapse lapse_of(const sc_cache *cache, const sc_shape *shape, const sc_request *request)
{
    uint32_t live =
        shape->of[SC_STATE_RESERVED] + shape->of[SC_STATE_LIVE] + shape->of[SC_STATE_PARKING];

    if (!sc_state_is_serving(cache, shape) || !shape->scope->gate.open_steps || request->is_passing)
        return SC_LAPSE_NONE;
    if (!shape->is_granted)
        return SC_LAPSE_NEW_SHAPE;
    return live >= shape->high ? SC_LAPSE_MORE : SC_LAPSE_GONE;
}

sc_answer sc_cache_request(sc_cache *cache, sc_request request, sc_buffer **buffer)
{
    sc_step_end end;
    sc_shape *shape;
    sc_lapse lapse;
    bool is_eligible;

    if (sc_state_is_beyond(cache, request.bytes)) {
        cache->tally.requests++;
        cache->tally.bypassed++;
        *buffer = NULL;
        return SC_PASS;
    }
    end = find_end(cache, request.bytes);
    if (end != SC_STEP_END_NONE)
        end_step(cache, end);
    cache->tally.requests++;
    shape = recognize(cache, &request);
    if (shape && shape->is_granted)
        infer_from(cache, shape);
    is_eligible = shape && may_serve(cache, shape) && !request.is_passing;
    if (is_eligible && shape->of[SC_STATE_IDLE] > 0) {
        *buffer = serve(cache, shape);
        return SC_HIT;
    }
    lapse = shape ? lapse_of(cache, shape, &request) : SC_LAPSE_NONE;
    *buffer = shape ? reserve(cache, shape) : NULL;
    if (*buffer) {
        (*buffer)->is_miss = is_eligible;
        (*buffer)->lapse = (uint8_t)lapse;
    }
    if (*buffer && is_eligible)
        count_miss(cache, shape);
    else
        cache->tally.bypassed++;
    if (shape && !*buffer && !shape->is_granted)
        admit(cache, shape); /* how the driver's call went will not be told */
    return *buffer ? SC_ALLOCATE : SC_PASS;
}

bool sc_cache_allocated(sc_cache *cache, sc_buffer *buffer, sc_address address, uint64_t ns)
{
    sc_shape *shape = buffer->shape;
    sc_buffer *former = sc_live_find(&cache->live, address);

    if (!shape->is_granted)
        admit(cache, shape);
    cache->tally.driver_allocs++;
    shape->allocations++;
    shape->miss_ns += ns;
    if (former)
        sc_state_lose(cache, former, SC_LOST_ELSEWHERE);
    if (buffer->state == SC_STATE_GONE || !sc_live_put(&cache->live, address, buffer)) {
        sc_state_forget(cache, buffer); /* the program's free will be the driver's business */
        sc_state_drop(cache, buffer);
        return !former;
    }
    buffer->address = address;
    sc_state_move(cache, buffer, SC_STATE_LIVE);
    sc_state_note_peaks(cache, buffer);
    return !former;
}

void sc_cache_failed(sc_cache *cache, sc_buffer *buffer)
{
    sc_shape *shape = buffer->shape;

    if (buffer->state == SC_STATE_RESERVED)
        sc_state_note_free(cache, buffer);
    sc_state_drop(cache, buffer);
    dismiss(cache, shape);
}
