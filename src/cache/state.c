/* SPDX-License-Identifier: MIT */
#include "cache/state.h"

static void raise_to(uint64_t *most, uint64_t value)
{
    if (*most < value)
        *most = value;
}

void sc_state_note_peaks(sc_cache *cache, const sc_buffer *buffer)
{
    sc_shape *shape = buffer->shape;
    uint32_t live = shape->of[SC_STATE_LIVE] + shape->of[SC_STATE_PARKING];

    const sc_marks now = sc_state_marks(cache);

    raise_to(&cache->tally.live_peak, now.live);
    raise_to(&cache->tally.held_peak, now.held);
    raise_to(&cache->lap.live, now.live);
    raise_to(&cache->lap.held, now.held);
    shape->high = shape->high < live ? live : shape->high;
    shape->high_now = shape->high_now < live ? live : shape->high_now;
    if (cache->spare.is_on)
        sc_spare_allocated(&cache->spare, buffer->address, cache->granted);
}

void sc_state_move(sc_cache *cache, sc_buffer *buffer, sc_state to)
{
    sc_state_change(cache, buffer, (sc_state)buffer->state, to);
}

void sc_state_spoil(sc_cache *cache, sc_buffer *buffer)
{
    sc_state_change(cache, buffer, SC_STATE_IDLE, SC_STATE_SPOILT);
    sc_cap_spoil(&cache->cap, buffer);
}

void sc_state_note_free(sc_cache *cache, const sc_buffer *buffer)
{
    cache->live_bytes -= buffer->shape->bytes;
    if (cache->step_source == SC_STEPS_INFERRED)
        sc_step_free(&cache->inference, cache->live_bytes);
}

void sc_state_drop(sc_cache *cache, sc_buffer *buffer)
{
    if (buffer->address) {
        if (cache->spare.is_on)
            sc_spare_freed(&cache->spare, buffer->address);
        sc_live_remove(&cache->live, buffer->address);
        buffer->address = 0;
    }
    buffer->is_exported = false;
    sc_state_move(cache, buffer, SC_STATE_EMPTY);
}

void sc_state_forget(sc_cache *cache, sc_buffer *buffer)
{
    sc_state state = (sc_state)buffer->state;

    if (state == SC_STATE_EMPTY || state == SC_STATE_GONE)
        return;
    if (!sc_state_is_idle(state))
        sc_state_note_free(cache, buffer);
    sc_state_drop(cache, buffer);
    if (state == SC_STATE_RESERVED || state == SC_STATE_PARKING)
        sc_state_move(cache, buffer, SC_STATE_GONE);
}

void sc_state_lose(sc_cache *cache, sc_buffer *buffer, sc_loss loss)
{
    if (buffer->state == SC_STATE_LIVE && cache->observer.lost)
        cache->observer.lost(cache->observer.self, buffer->address, loss);
    sc_state_forget(cache, buffer);
}

/* From now on the idle buffers of `scope` may only be given back. Their mapped bytes. */
static uint64_t spoil_idle(sc_cache *cache, const sc_scope *scope)
{
    sc_mapped others = sc_mapped_plus(cache->granted, cache->idle);
    uint64_t held = sc_mapped_total(others);

    for (uint32_t i = 0; i < cache->cap.count; i++) {
        sc_buffer *buffer = cache->cap.order[i];

        if (!buffer || buffer->state != SC_STATE_IDLE || buffer->shape->scope != scope)
            continue;
        sc_mapped_subtract(&others, buffer->shape->bytes);
        sc_state_spoil(cache, buffer);
    }
    return held - sc_mapped_total(others);
}

static void tell(const sc_cache *cache, sc_phase_change change, const sc_shape *shape)
{
    sc_shape_row row;

    if (!cache->observer.phase)
        return;
    change.step = cache->step;
    if (shape) {
        sc_state_shape_row(shape, &row);
        change.shape = &row;
    }
    cache->observer.phase(cache->observer.self, &change);
}

uint64_t sc_state_obey(sc_cache *cache, sc_scope *scope, sc_phase from)
{
    sc_scopes_moved(&cache->scopes, scope, from);
    return scope->gate.phase == SC_PHASE_FIXED ? 0 : spoil_idle(cache, scope);
}

void sc_state_moved(sc_cache *cache, sc_scope *scope, sc_phase from, const sc_shape *shape)
{
    sc_phase_change change = {
        .from = from,
        .to = scope->gate.phase,
        .reason = scope->gate.reason,
        .set_size = scope->recent,
        .idle_released = sc_state_obey(cache, scope, from),
        .is_of_scope = true,
        .scope = scope->site,
    };

    cache->fallbacks += change.to == SC_PHASE_FALLBACK;
    if (cache->is_scoped)
        tell(cache, change, shape);
}

void sc_state_follow(sc_cache *cache, const sc_scope *cause, const sc_shape *shape)
{
    sc_phase_change change = {
        .from = cache->scopes.phase,
        .reason = cause->gate.reason,
        .set_size = cause->gate.reason == SC_REASON_DECLARED ? cache->rules.declared.shapes
                                                             : cache->shapes.recent,
    };

    if (!sc_scopes_follow(&cache->scopes))
        return;
    change.to = cache->scopes.phase;
    if (change.to != SC_PHASE_FIXED) {
        change.idle_released = sc_mapped_total(sc_mapped_plus(cache->granted, cache->idle)) -
                               sc_mapped_total(cache->granted);
    }
    tell(cache, change, shape);
}

sc_scope_count sc_state_scopes(const sc_cache *cache)
{
    const sc_scopes *scopes = &cache->scopes;

    if (!cache->is_scoped)
        return (sc_scope_count){0};
    return (sc_scope_count){.all = scopes->count - !scopes->is_first_used,
                            .fixed = scopes->in[SC_PHASE_FIXED]};
}

void sc_state_shape_row(const sc_shape *shape, sc_shape_row *row)
{
    *row = (sc_shape_row){
        .id = shape->id,
        .bytes = shape->bytes,
        .site = shape->site,
        .requests = shape->requests,
        .hits = shape->hits,
        .misses = shape->misses,
        .evicted = shape->evicted,
        .live = shape->of[SC_STATE_LIVE] + shape->of[SC_STATE_PARKING],
        .idle = shape->of[SC_STATE_IDLE] + shape->of[SC_STATE_SPOILT],
        .high = shape->high,
        .bytes_high = shape->high * shape->mapped,
        .mapped = shape->mapped,
        .before = shape->high_before,
        .first_step = shape->first_step,
        .last_step = shape->last_step,
        .miss_ns = shape->miss_ns,
        .allocations = shape->allocations,
        .hint = shape->hint,
    };
}

void sc_state_add_tally(sc_tally *sum, const sc_tally *step)
{
    sum->requests += step->requests;
    sum->hits += step->hits;
    sum->misses += step->misses;
    sum->bypassed += step->bypassed;
    sum->driver_allocs += step->driver_allocs;
    sum->driver_frees += step->driver_frees;
    sum->malloc_frees += step->malloc_frees;
    sum->evicted += step->evicted;
    sum->expired += step->expired;
    raise_to(&sum->live_peak, step->live_peak);
    raise_to(&sum->held_peak, step->held_peak);
    sum->driver_ns += step->driver_ns;
    sum->wait_ns += step->wait_ns;
    sum->hit_ns += step->hit_ns;
    sum->sampled += step->sampled;
}
