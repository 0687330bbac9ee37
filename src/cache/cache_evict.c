/* SPDX-License-Identifier: MIT */
#include "cache/state.h"

/* Whether the cap forbids what is held, were `extra` live too. `held`: with what is live. */
static bool is_over(const sc_cache *cache, sc_mapped live, sc_mapped held, sc_mapped extra)
{
    return sc_mapped_total(sc_mapped_plus(held, extra)) >
           sc_state_ceiling(cache, sc_mapped_plus(live, extra));
}

static const sc_mapped none;

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Room for the next misses. Under a tight cap that would leave nothing to serve from, so it is no
 * more than four times what the overhead allows: with 25% the whole peak, with 0% nothing. */
static sc_mapped headroom(const sc_cache *cache, sc_mapped live)
{
    sc_mapped wanted = sc_headroom_wanted(&cache->headroom);

    if (wanted.packed + wanted.own == 0)
        return none;
    uint64_t total = sc_mapped_total(live);
    uint64_t peak = sc_peak_most(&cache->peak, cache->tally.live_peak);
    uint64_t most = 4 * sc_cap_overhead(&cache->cap, peak > total ? peak : total);

    return (sc_mapped){.packed = least(wanted.packed, most), .own = least(wanted.own, most)};
}

/* Whether the driver would have less than its reserve, judging from what it last said. Live memory
 * alone may bring that about: it is not ours to give back. */
static bool is_short(const sc_cache *cache, sc_mapped live, sc_mapped held)
{
    uint64_t bytes = sc_mapped_total(held);

    return bytes > cache->room && bytes > sc_mapped_total(live);
}

/* Whether what goes next goes for headroom alone. */
static bool is_ceding(const sc_cache *cache, sc_take why)
{
    sc_mapped live = sc_mapped_plus(cache->granted, cache->reserved);
    sc_mapped held = sc_mapped_plus(live, cache->idle);

    return why == SC_TAKE_DUE && !is_over(cache, live, held, none) && !is_short(cache, live, held);
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
        return cache->rules.gate.is_gated &&
               is_over(cache, live, sc_mapped_plus(held, cache->going), none);
    case SC_TAKE_DUE:
        return cache->spoilt_count > 0 ||
               (cache->rules.gate.is_gated &&
                (is_over(cache, live, held, headroom(cache, live)) || is_short(cache, live, held)));
    default:
        return true;
    }
}

static sc_buffer *pick(sc_cache *cache)
{
    if (cache->spoilt_count > 0)
        return sc_cap_spoilt(&cache->cap);
    return sc_cap_least(&cache->cap, cache->step);
}

/* It could have been served, and goes to make room. */
static bool is_eviction(sc_take why, const sc_buffer *buffer)
{
    return why != SC_TAKE_ALL && buffer->state != SC_STATE_SPOILT;
}

void sc_cache_take(sc_cache *cache, sc_take why, sc_victims *victims)
{
    const unsigned most = sizeof(victims->address) / sizeof(victims->address[0]);
    sc_mapped going =
        cache->going; /* those of this call join them at its end: they make the room */

    victims->count = 0;
    victims->bytes = 0;
    while (victims->count < most && sc_cache_wants(cache, why)) {
        sc_buffer *buffer = pick(cache);
        uint64_t bytes = buffer->shape->bytes;

        if (is_eviction(why, buffer)) {
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

/* Looks at every slot, so not at each tick: what is idle now cannot expire before the one of it
 * that has been idle longest does, and then a sixteenth of the time is waited for others to join
 * it. */
void sc_cache_tick(sc_cache *cache, uint64_t now)
{
    const uint64_t most = cache->rules.max_idle;
    uint64_t oldest = now;

    if (now < cache->look_at || most == 0 || !cache->rules.gate.is_gated)
        return;
    for (uint32_t i = 0; i < cache->cap.count; i++) {
        sc_buffer *buffer = cache->cap.order[i];

        if (!buffer || buffer->state != SC_STATE_IDLE)
            continue;
        if (buffer->idle_since <= now && now - buffer->idle_since >= most) {
            cache->tally.expired++;
            sc_state_spoil(cache, buffer);
        } else if (buffer->idle_since < oldest) {
            oldest = buffer->idle_since;
        }
    }
    cache->look_at = oldest + most > now + most / 16 ? oldest + most : now + most / 16;
}

void sc_cache_driver_free(sc_cache *cache, uint64_t bytes)
{
    uint64_t held = sc_state_mapped(cache), reserve = cache->rules.reserve;

    if (bytes < reserve)
        cache->room = held > reserve - bytes ? held - (reserve - bytes) : 0;
    else
        cache->room = bytes - reserve < SC_MAPPED_MOST ? held + (bytes - reserve) : UINT64_MAX;
}

bool sc_cache_minds_driver_free(const sc_cache *cache)
{
    return cache->idle_count > 0 && cache->rules.reserve > 0 && cache->rules.gate.is_gated;
}

/* Every gate, in one word to the observer. True: at least one moved. */
static bool move_all(sc_cache *cache, bool (*move)(sc_gate *gate, sc_reason reason),
                     sc_reason reason)
{
    const sc_scope *moved = NULL;

    for (sc_scope *scope = &cache->scopes.first; scope; scope = scope->next) {
        sc_phase from = scope->gate.phase;

        if (move(&scope->gate, reason)) {
            (void)sc_state_obey(cache, scope, from);
            moved = scope;
        }
    }
    if (moved)
        sc_state_follow(cache, moved, NULL);
    return moved != NULL;
}

static bool run_out(sc_gate *gate, sc_reason reason)
{
    (void)reason;
    return sc_gate_out_of_memory(gate);
}

bool sc_cache_out_of_memory(sc_cache *cache, uint64_t bytes)
{
    cache->ooms++;
    if (sc_state_is_beyond(cache, bytes) || cache->idle_count == 0 || !cache->rules.gate.is_gated)
        return false;
    if (move_all(cache, run_out, SC_REASON_OOM))
        cache->fallbacks++;
    return true;
}

void sc_cache_close(sc_cache *cache, sc_reason reason)
{
    (void)move_all(cache, sc_gate_close_for_good, reason);
}
