/* SPDX-License-Identifier: MIT */
#include "cache/state.h"

/* Whether the cap forbids what is held, were `extra` live too. `held`: with what is live. */
static bool is_over(const sc_cache *cache, sc_mapped live, sc_mapped held, sc_mapped extra)
{
    return sc_mapped_total(sc_mapped_plus(held, extra)) >
           sc_state_ceiling(cache, sc_mapped_plus(live, extra));
}

static const sc_mapped none;

/* Room for the next miss. Under a tight cap that would leave nothing to serve from, so it is no
 * more than four times what the overhead allows: with 25% the whole peak, with 0% nothing. */
static sc_mapped headroom(const sc_cache *cache, sc_mapped live)
{
    uint64_t wanted = sc_headroom_bytes(&cache->headroom);

    if (wanted == 0)
        return none;
    uint64_t total = sc_mapped_total(live);
    uint64_t peak = sc_peak_most(&cache->peak, cache->tally.live_peak);
    uint64_t most = 4 * sc_cap_overhead(&cache->cap, peak > total ? peak : total);
    uint64_t bytes = wanted < most ? wanted : most;

    return wanted < SC_MAPPED_PAGE ? (sc_mapped){.packed = bytes} : (sc_mapped){.own = bytes};
}

/* Whether what goes next goes for headroom alone. */
static bool is_ceding(const sc_cache *cache, sc_take why)
{
    sc_mapped live = sc_mapped_plus(cache->granted, cache->reserved);

    return why == SC_TAKE_DUE && !is_over(cache, live, sc_mapped_plus(live, cache->idle), none);
}

/* What is on its way back counts where more room is needed now: it is there until the driver has
 * it. Where there is time it does not, else two threads would give back the same excess twice. */
bool sc_cache_wants(const sc_cache *cache, sc_take why)
{
    sc_mapped live = sc_mapped_plus(cache->granted, cache->reserved);
    sc_mapped held = sc_mapped_plus(live, cache->idle);

    if (cache->idle_count == 0)
        return false;
    switch (why) {
    case SC_TAKE_ROOM:
        return cache->gate.rules.is_gated &&
               is_over(cache, live, sc_mapped_plus(held, cache->going), none);
    case SC_TAKE_DUE:
        return cache->gate.phase != SC_PHASE_FIXED || cache->spoilt_count > 0 ||
               (cache->gate.rules.is_gated && is_over(cache, live, held, headroom(cache, live)));
    default:
        return true;
    }
}

static sc_buffer *pick(sc_cache *cache, sc_take why)
{
    if (why != SC_TAKE_ROOM && cache->spoilt_count > 0)
        return sc_cap_spoilt(&cache->cap);
    return sc_cap_least(&cache->cap, cache->step);
}

static bool is_eviction(const sc_cache *cache, sc_take why, const sc_buffer *buffer)
{
    return why == SC_TAKE_ROOM || (why == SC_TAKE_DUE && cache->gate.phase == SC_PHASE_FIXED &&
                                   buffer->state != SC_STATE_SPOILT);
}

void sc_cache_take(sc_cache *cache, sc_take why, sc_victims *victims)
{
    const unsigned most = sizeof(victims->address) / sizeof(victims->address[0]);
    sc_mapped going =
        cache->going; /* those of this call join them at its end: they make the room */

    victims->count = 0;
    victims->bytes = 0;
    while (victims->count < most && sc_cache_wants(cache, why)) {
        sc_buffer *buffer = pick(cache, why);
        uint64_t bytes = buffer->shape->bytes;

        if (is_eviction(cache, why, buffer)) {
            buffer->shape->evicted++;
            cache->tally.evicted++;
            if (is_ceding(cache, why))
                sc_headroom_cede(&cache->headroom, buffer->shape, cache->step);
        }
        victims->address[victims->count] = buffer->address;
        victims->size[victims->count++] = bytes;
        victims->bytes += bytes;
        sc_mapped_add(&going, bytes);
        sc_state_drop(cache, buffer);
    }
    cache->going = going;
}

void sc_cache_gone(sc_cache *cache, const sc_victims *victims)
{
    cache->tally.driver_frees += victims->count;
    for (unsigned i = 0; i < victims->count; i++)
        sc_mapped_subtract(&cache->going, victims->size[i]);
}

bool sc_cache_out_of_memory(sc_cache *cache)
{
    sc_phase from = cache->gate.phase;

    cache->ooms++;
    if (cache->idle_count == 0 || !cache->gate.rules.is_gated)
        return false;
    if (sc_gate_out_of_memory(&cache->gate))
        sc_state_changed(cache, from, NULL);
    return true;
}

void sc_cache_close(sc_cache *cache, sc_reason reason)
{
    sc_phase from = cache->gate.phase;

    if (sc_gate_close_for_good(&cache->gate, reason))
        sc_state_changed(cache, from, NULL);
}
