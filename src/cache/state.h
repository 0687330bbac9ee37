/* SPDX-License-Identifier: MIT
 * state.h - what the cache*.c files share: the cache itself, and how a buffer changes state.
 *
 * The bytes of a buffer that has any are in one of the sums reserved, granted and idle, by its
 * state; `going` holds those of buffers whose record is empty again but whose memory the driver has
 * not taken back yet. States change only here, so that bitmaps, counts and sums cannot disagree.
 * The caller locks. */
#ifndef SC_CACHE_STATE_H
#define SC_CACHE_STATE_H

#include "cache/cache.h"
#include "cache/cap.h"
#include "cache/headroom.h"
#include "cache/live.h"
#include "cache/mapped.h"
#include "cache/peak.h"
#include "cache/scope.h"
#include "cache/shape.h"
#include "cache/spare.h"
#include "cache/step.h"

struct sc_cache {
    sc_cache_rules rules;
    sc_scopes scopes;
    bool is_scoped; /* a gate per call site */
    sc_step_source step_source;
    sc_step inference;
    sc_shapes shapes;
    sc_live live;
    sc_cap cap;
    sc_peak peak;
    sc_mapped reserved, granted, idle, going; /* granted: live and being parked; idle: spoilt too */
    uint64_t live_bytes;                      /* exact, reserved ones among them */
    uint32_t idle_count, spoilt_count;        /* buffers; those spoilt are in both */
    uint64_t room; /* most that may be held for the driver's reserve; UINT64_MAX: not asked yet */
    uint64_t look_at; /* nothing expires before */
    uint64_t step;    /* boundaries so far */
    sc_headroom headroom;
    sc_tally tally, finished; /* of the running step; sum of those before */
    sc_marks lap;
    uint64_t steps_in[SC_PHASE_COUNT];
    uint64_t fallbacks, ooms;
    sc_spare spare;
    sc_cache_observer observer;
};

static inline bool sc_state_has_bytes(sc_state state)
{
    return state != SC_STATE_EMPTY && state != SC_STATE_GONE;
}

/* Sum that a buffer in `state`, one that has bytes, belongs to. */
static inline __attribute__((always_inline)) sc_mapped *sc_state_sum(sc_cache *cache,
                                                                     sc_state state)
{
    if (state == SC_STATE_RESERVED)
        return &cache->reserved;
    return sc_state_is_idle(state) ? &cache->idle : &cache->granted;
}

/* From a state that the caller names, for then the path of a served request needs no test. */
static inline __attribute__((always_inline)) void
sc_state_change(sc_cache *cache, sc_buffer *buffer, sc_state from, sc_state to)
{
    const sc_shape *shape = buffer->shape;
    sc_mapped *source = sc_state_sum(cache, from), *target = sc_state_sum(cache, to);

    if (sc_state_has_bytes(from))
        *(shape->is_packed ? &source->packed : &source->own) -= shape->mapped;
    if (sc_state_has_bytes(to))
        *(shape->is_packed ? &target->packed : &target->own) += shape->mapped;
    cache->idle_count += (uint32_t)sc_state_is_idle(to) - (uint32_t)sc_state_is_idle(from);
    cache->spoilt_count += (uint32_t)(to == SC_STATE_SPOILT) - (uint32_t)(from == SC_STATE_SPOILT);
    sc_shape_change_state(&cache->shapes, buffer, from, to);
}

void sc_state_move(sc_cache *cache, sc_buffer *buffer, sc_state to);

/* What the driver has really mapped now: without what it was only asked for. */
static inline uint64_t sc_state_mapped(const sc_cache *cache)
{
    sc_mapped idle = sc_mapped_plus(cache->idle, cache->going);

    return sc_mapped_total(sc_mapped_plus(cache->granted, idle));
}

static inline sc_marks sc_state_marks(const sc_cache *cache)
{
    return (sc_marks){.live = sc_mapped_total(cache->granted), .held = sc_state_mapped(cache)};
}

/* The most mapped bytes that may be held with `live` live. */
static inline uint64_t sc_state_ceiling(const sc_cache *cache, sc_mapped live)
{
    uint64_t peak = sc_peak_most(&cache->peak, cache->tally.live_peak);

    return sc_cap_ceiling(&cache->cap, sc_mapped_total(live), peak);
}

static inline bool sc_state_is_serving(const sc_cache *cache, const sc_shape *shape)
{
    return shape->scope->gate.phase == SC_PHASE_FIXED && !cache->rules.is_observing;
}

/* Whatever is given back, there is no room for as much. */
static inline bool sc_state_is_beyond(const sc_cache *cache, uint64_t bytes)
{
    return cache->rules.total > 0 && bytes > cache->rules.total;
}

/* The buffer has just become live. */
void sc_state_note_peaks(sc_cache *cache, const sc_buffer *buffer);

/* The idle buffer may only be given back from now on. */
void sc_state_spoil(sc_cache *cache, sc_buffer *buffer);
/* The buffer is nobody's any more: out of the table, its slot empty. */
void sc_state_drop(sc_cache *cache, sc_buffer *buffer);
/* The same from outside a call that refers to it: one being parked or reserved stays until that
 * call ends. */
void sc_state_forget(sc_cache *cache, sc_buffer *buffer);
/* The same, and the observer hears of a live one. */
void sc_state_lose(sc_cache *cache, sc_buffer *buffer, sc_loss loss);

/* What the program gave back, or what was never granted, is not live any more. */
void sc_state_note_free(sc_cache *cache, const sc_buffer *buffer);

/* The gate of `scope` has just moved from `from`: outside FIXED what is idle there may only be
 * given back from now on. Its mapped bytes. */
uint64_t sc_state_obey(sc_cache *cache, sc_scope *scope, sc_phase from);
/* The same, for `shape` or NULL, counted, and with a gate per site the observer is told.
 * sc_state_follow() has to come next, once for all of several moves. */
void sc_state_moved(sc_cache *cache, sc_scope *scope, sc_phase from, const sc_shape *shape);
/* The device's phase follows its scopes; the observer is told. `cause`: the scope that moved last.
 */
void sc_state_follow(sc_cache *cache, const sc_scope *cause, const sc_shape *shape);

/* For the log. */
sc_scope_count sc_state_scopes(const sc_cache *cache);
void sc_state_shape_row(const sc_shape *shape, sc_shape_row *row);
void sc_state_add_tally(sc_tally *sum, const sc_tally *step);

#endif
