/* SPDX-License-Identifier: MIT */
#include "cache/away.h"
#include "cache/state.h"

static uint64_t live_peak(const sc_cache *cache)
{
    uint64_t finished = cache->finished.live_peak, running = cache->tally.live_peak;

    return finished > running ? finished : running;
}

/* NULL: no block of the program's, or one that it gave away just now, starts there. */
static const sc_buffer *find(const sc_cache *cache, sc_address address)
{
    const sc_buffer *found = sc_live_find(&cache->live, address);
    bool is_live = found && (found->state == SC_STATE_LIVE || found->state == SC_STATE_PARKING);

    return is_live ? found : NULL;
}

sc_spare_block *sc_cache_leave(sc_cache *cache, sc_address address)
{
    const sc_buffer *found = find(cache, address);

    if (!found)
        return NULL;
    sc_spare_start(&cache->spare, live_peak(cache));
    return sc_spare_leave(&cache->spare, address, found->shape->bytes, found->shape->context);
}

bool sc_cache_return(sc_cache *cache, sc_spare_block *block, sc_address address, bool is_in_place)
{
    const sc_buffer *found = find(cache, address);

    if (!found)
        return false;
    if (!is_in_place && block->is_live && block->address == address)
        sc_spare_doubt_it(&cache->spare, SC_SPARE_WITHIN);
    sc_spare_return(&cache->spare, block, address, found->shape->bytes);
    return true;
}

void sc_cache_drop(sc_cache *cache, sc_spare_block *block)
{
    sc_spare_drop(&cache->spare, block);
}

void sc_cache_doubt(sc_cache *cache, sc_spare_doubt doubt)
{
    sc_spare_doubt_it(&cache->spare, doubt);
}

void sc_cache_read_spared(const sc_cache *cache, sc_spared *out)
{
    uint64_t most = live_peak(cache), without = sc_spare_most(&cache->spare);

    *out = (sc_spared){.doubt = sc_spare_why_not(&cache->spare)};
    if (out->doubt)
        return;
    out->without = without;
    out->bytes = without > most ? without - most : 0;
}
