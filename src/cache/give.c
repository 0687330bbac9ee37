/* SPDX-License-Identifier: MIT */
#include "cache/give.h"
#include "cache/state.h"

sc_held sc_cache_holds(const sc_cache *cache, sc_address address)
{
    const sc_buffer *found = sc_live_find(&cache->live, address);

    if (!found)
        return SC_HELD_NOT;
    return found->state == SC_STATE_LIVE ? SC_HELD_LIVE : SC_HELD_OTHER;
}

sc_buffer *sc_cache_give(sc_cache *cache, sc_address address)
{
    sc_buffer *found = sc_live_find(&cache->live, address);

    if (!found || found->state != SC_STATE_LIVE)
        return NULL;
    sc_state_change(cache, found, SC_STATE_LIVE, SC_STATE_PARKING);
    return found;
}

bool sc_cache_would_keep(const sc_cache *cache, const sc_buffer *buffer)
{
    return buffer->state == SC_STATE_GONE ||
           (!buffer->is_exported && sc_state_is_serving(cache, buffer->shape));
}
