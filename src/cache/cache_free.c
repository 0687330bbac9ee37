/* SPDX-License-Identifier: MIT */
#include "cache/state.h"

/* The driver gets it back now. */
static void release(sc_cache *cache, sc_buffer *buffer)
{
    cache->tally.driver_frees++;
    sc_state_note_free(cache, buffer);
    sc_state_drop(cache, buffer);
}

sc_free_answer sc_cache_free(sc_cache *cache, sc_address address, bool is_passing,
                             sc_buffer **buffer)
{
    sc_buffer *found = sc_live_find(&cache->live, address);

    *buffer = NULL;
    if (!found)
        return SC_FREE_UNKNOWN;
    if (found->state != SC_STATE_LIVE)
        return SC_FREE_TWICE;
    if (is_passing || found->is_exported || !sc_state_is_serving(cache, found->shape)) {
        release(cache, found);
        return SC_FREE_RELEASE;
    }
    sc_state_change(cache, found, SC_STATE_LIVE, SC_STATE_PARKING);
    *buffer = found;
    return SC_FREE_PARK;
}

bool sc_cache_park(sc_cache *cache, sc_buffer *buffer, uint64_t now)
{
    if (buffer->state == SC_STATE_GONE) {
        sc_state_drop(cache, buffer);
        return true;
    }
    if (buffer->is_exported || !sc_state_is_serving(cache, buffer->shape)) {
        release(cache, buffer);
        return false;
    }
    sc_state_note_free(cache, buffer);
    if (cache->spare.is_on)
        sc_spare_freed(&cache->spare, buffer->address);
    buffer->idle_since = now;
    sc_state_change(cache, buffer, SC_STATE_PARKING, SC_STATE_IDLE);
    sc_cap_parked(&cache->cap, buffer);
    sc_headroom_park(&cache->headroom, buffer->shape, cache->live_bytes);
    return true;
}

bool sc_cache_unpark(sc_cache *cache, sc_buffer *buffer)
{
    if (buffer->state == SC_STATE_GONE) {
        sc_state_drop(cache, buffer);
        return false;
    }
    release(cache, buffer);
    return true;
}

void sc_cache_export(sc_cache *cache, sc_address address)
{
    sc_buffer *buffer = sc_live_find(&cache->live, address);

    if (!buffer)
        return;
    buffer->is_exported = true;
    if (buffer->state == SC_STATE_IDLE)
        sc_state_spoil(cache, buffer);
}

void sc_cache_forget(sc_cache *cache, sc_address address)
{
    sc_buffer *buffer = sc_live_find(&cache->live, address);

    if (buffer)
        sc_state_lose(cache, buffer, SC_LOST_ELSEWHERE);
}

void sc_cache_forget_context(sc_cache *cache, sc_context context)
{
    if (cache->spare.is_on)
        sc_spare_context_ends(&cache->spare, context);
    for (sc_shape *shape = cache->shapes.newest; shape; shape = shape->older)
        for (uint32_t i = 0; shape->context == context && i < shape->count; i++)
            sc_state_lose(cache, shape->slots[i], SC_LOST_CONTEXT);
}
