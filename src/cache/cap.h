/* SPDX-License-Identifier: MIT
 * cap.h - how much may be held, and what goes back first.
 *
 * Ceiling: live + idle may reach (1 + overhead) x the most live bytes of late, and `limit`,
 * whichever is less; live alone may exceed both, for the program is never denied what the driver
 * would grant. All in mapped bytes.
 *
 * Order: buffers go back by value, the fewest requests per byte per step first (by the root of the
 * requests, see cap.c); of equal value the larger one, then the higher slot. The value belongs to
 * the slot, because the slots of one shape are asked for at different rates: slot 0 at each
 * request, slot 9 only when nine others are live. The order is made when something must go, at most
 * once a step, and serves the rest of that step:
 *
 *     order[] |- least value ------------------------------- most value -|- slots filled since -|
 *                               ^ cursor: nothing before it is idle
 *
 * A served request need not touch it; a parked buffer moves the cursor back when it stands before
 * it, and a second cursor finds what may only be given back in the same way. Invariant
 * (sc_cap_check() asserts it): each slot that is not empty stands in it once, no idle one before
 * the cursor, no spoilt one before the second. The caller locks. */
#ifndef SC_CACHE_CAP_H
#define SC_CACHE_CAP_H

#include "cache/shape.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct sc_cap {
    uint64_t overhead_percent;
    uint64_t limit;
    sc_buffer **order;
    uint32_t count, size; /* places used, NULL ones among them, and there are */
    uint32_t cursor;
    uint32_t spoilt; /* no spoilt one stands before it */
    uint64_t made;   /* 1 + the step in which the order was made; 0: never */
} sc_cap;

void sc_cap_release(sc_cap *cap);

/* What may come on top of `bytes`: whole hundreds first, so that no product wraps and nothing is
 * lost. */
static inline uint64_t sc_cap_overhead(const sc_cap *cap, uint64_t bytes)
{
    return bytes / 100 * cap->overhead_percent + bytes % 100 * cap->overhead_percent / 100;
}

/* Most bytes that may be held while `live` are live; `peak` is the most of late. */
static inline uint64_t sc_cap_ceiling(const sc_cap *cap, uint64_t live, uint64_t peak)
{
    uint64_t most = live > peak ? live : peak;
    uint64_t allowed = most + sc_cap_overhead(cap, most);

    allowed = allowed < cap->limit ? allowed : cap->limit;
    return allowed > live ? allowed : live;
}

/* Make room for `slots` places. False: out of memory. */
bool sc_cap_reserve(sc_cap *cap, uint32_t slots);
/* The slot is about to be filled: give it a place, the last, unless it has one. There is room. */
void sc_cap_enter(sc_cap *cap, sc_buffer *buffer);
/* The slot's record goes. */
void sc_cap_leave(sc_cap *cap, sc_buffer *buffer);

static inline void sc_cap_parked(sc_cap *cap, const sc_buffer *buffer)
{
    if (buffer->rank < cap->cursor)
        cap->cursor = buffer->rank;
}

/* The idle buffer of least value in `step`; there is one. */
sc_buffer *sc_cap_least(sc_cap *cap, uint64_t step);

/* The buffer is spoilt from now on. */
static inline void sc_cap_spoil(sc_cap *cap, const sc_buffer *buffer)
{
    if (buffer->rank < cap->spoilt)
        cap->spoilt = buffer->rank;
}

/* A spoilt one; there is one. */
sc_buffer *sc_cap_spoilt(sc_cap *cap);

void sc_cap_check(const sc_cap *cap, const sc_shapes *shapes);

#endif
