/* SPDX-License-Identifier: MIT */
#include "cache/check.h"
#include "cache/state.h"
#include <string.h>

sc_tally *sc_cache_tally(sc_cache *cache)
{
    return &cache->tally;
}

bool sc_cache_knows(const sc_cache *cache, const sc_request *request)
{
    return sc_shapes_find(&cache->shapes, request->context, request->bytes, request->site) != NULL;
}

sc_hint_answer sc_cache_hint(sc_cache *cache, sc_address address, const sc_hint *hint)
{
    const sc_buffer *buffer = sc_live_find(&cache->live, address);

    if (!buffer || buffer->state != SC_STATE_LIVE)
        return SC_HINT_UNKNOWN;
    return sc_shape_hint(buffer->shape, hint) ? SC_HINT_TAKEN : SC_HINT_NO_MEMORY;
}

void sc_cache_read_totals(const sc_cache *cache, sc_cache_totals *totals)
{
    uint64_t live = sc_mapped_total(cache->granted);

    *totals = (sc_cache_totals){
        .phase = cache->scopes.phase,
        .scopes = sc_state_scopes(cache),
        .step = cache->step,
        .all = cache->finished,
        .live = live,
        .idle = sc_state_mapped(cache) - live,
        .live_bytes = cache->live_bytes,
        .shapes = cache->shapes.known,
        .shapes_forgotten = cache->shapes.forgotten,
        .fallbacks = cache->fallbacks,
        .ooms = cache->ooms,
    };
    memcpy(totals->steps_in, cache->steps_in, sizeof(totals->steps_in));
    sc_state_add_tally(&totals->all, &cache->tally);
}

sc_marks sc_cache_lap(sc_cache *cache)
{
    const sc_marks lap = cache->lap;

    cache->lap = sc_state_marks(cache);
    return lap;
}

void sc_cache_each_shape(sc_cache *cache, bool only_changed,
                         void (*visit)(void *self, const sc_shape_row *row), void *self)
{
    for (sc_shape *shape = cache->shapes.oldest; shape; shape = shape->newer) {
        sc_shape_row row;

        if (!shape->is_granted || (only_changed && !shape->is_changed))
            continue;
        shape->is_changed = false;
        sc_state_shape_row(shape, &row);
        visit(self, &row);
    }
}

void sc_cache_look_at_shapes(const sc_cache *cache,
                             void (*visit)(void *self, const sc_shape_row *row), void *self)
{
    for (const sc_shape *shape = cache->shapes.newest; shape; shape = shape->older) {
        sc_shape_row row;

        if (!shape->is_granted)
            continue;
        sc_state_shape_row(shape, &row);
        visit(self, &row);
    }
}

typedef struct recount {
    sc_mapped sums[SC_STATE_COUNT];
    uint64_t live_bytes;
    uint32_t idle, spoilt, addresses;
} recount;

static void count_buffer(const sc_cache *cache, const sc_buffer *buffer, recount *count)
{
    bool has_memory = false;

    sc_mapped_add(&count->sums[buffer->state], buffer->shape->bytes);
    switch (buffer->state) {
    case SC_STATE_LIVE:
    case SC_STATE_PARKING:
        has_memory = true;
        count->live_bytes += buffer->shape->bytes;
        break;
    case SC_STATE_RESERVED:
        count->live_bytes += buffer->shape->bytes;
        break;
    case SC_STATE_IDLE:
        has_memory = true;
        count->idle++;
        SC_CHECK(!buffer->is_exported);
        SC_CHECK(buffer->shape->scope->gate.phase == SC_PHASE_FIXED);
        break;
    case SC_STATE_SPOILT:
        has_memory = true;
        count->idle++;
        count->spoilt++;
        break;
    default:
        break;
    }
    SC_CHECK(has_memory == (buffer->address != 0));
    if (has_memory) {
        SC_CHECK(sc_live_find(&cache->live, buffer->address) == buffer);
        count->addresses++;
    }
}

static void check_sum(sc_mapped kept, sc_mapped counted)
{
    SC_CHECK(kept.packed == counted.packed);
    SC_CHECK(kept.own == counted.own);
}

static void check_tally(const sc_cache *cache)
{
    const sc_tally *tally = &cache->tally;

    SC_CHECK(tally->requests == tally->hits + tally->misses + tally->bypassed);
    SC_CHECK(tally->live_peak >= sc_mapped_total(cache->granted));
    SC_CHECK(tally->held_peak >= sc_state_mapped(cache));
}

static void check_scopes(const sc_cache *cache)
{
    uint32_t in[SC_PHASE_COUNT] = {0}, count = 0;
    uint64_t recent = 0, requests = 0;

    for (const sc_scope *scope = &cache->scopes.first; scope; scope = scope->next) {
        SC_CHECK(scope == &cache->scopes.first ||
                 sc_scopes_find(&cache->scopes, scope->site) == scope);
        in[scope->gate.phase]++;
        count++;
        recent += scope->recent;
        requests += scope->requests;
    }
    SC_CHECK(count == cache->scopes.count && count == cache->scopes.by_site.used + 1);
    SC_CHECK(cache->is_scoped || count == 1);
    for (int phase = 0; phase < SC_PHASE_COUNT; phase++)
        SC_CHECK(in[phase] == cache->scopes.in[phase]);
    SC_CHECK(recent == cache->shapes.recent);
    SC_CHECK(requests <= cache->tally.requests); /* all for whose shape there was memory */
}

void sc_cache_check(const sc_cache *cache)
{
    recount count = {0};

    sc_shapes_check(&cache->shapes, cache->step);
    sc_cap_check(&cache->cap, &cache->shapes);
    for (const sc_shape *shape = cache->shapes.newest; shape; shape = shape->older)
        for (uint32_t i = 0; i < shape->count; i++)
            count_buffer(cache, shape->slots[i], &count);
    check_sum(cache->reserved, count.sums[SC_STATE_RESERVED]);
    check_sum(cache->granted,
              sc_mapped_plus(count.sums[SC_STATE_LIVE], count.sums[SC_STATE_PARKING]));
    check_sum(cache->idle, sc_mapped_plus(count.sums[SC_STATE_IDLE], count.sums[SC_STATE_SPOILT]));
    SC_CHECK(cache->live_bytes == count.live_bytes);
    SC_CHECK(cache->idle_count == count.idle);
    SC_CHECK(cache->spoilt_count == count.spoilt);
    SC_CHECK(cache->live.buffers.used == count.addresses); /* so the table names nothing else */
    SC_CHECK(!cache->rules.is_observing || count.idle == 0);
    sc_spare_check(&cache->spare);
    check_scopes(cache);
    check_tally(cache);
}
