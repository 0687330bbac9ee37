/* SPDX-License-Identifier: MIT
 * swing.h - finds the ends of cycles of a device's live bytes: one of the two kinds of evidence
 * that a training step has ended (see step.h).
 *
 * Within a batch live bytes rise as activations pile up and fall back to the floor (weights,
 * gradients, optimizer state) as the backward pass lets go:
 *
 *      top          ________                _______
 *                  /        \              /       \
 *                 /          \            /         \   ripple
 *                /            \_/\       /           \_/\
 *      floor ___/                 \_____/ end             \____/ end
 *
 * A cycle ended when live bytes fell by at least half of their usual fall, to the floor where the
 * cycle began; its end is put just before the next request, so that the last frees of a batch
 * belong to it. Where the fall ends at another level (optimizer state created late, gradients kept
 * from micro-batch to micro-batch) the end is only seen once live bytes have risen again by half of
 * the fall.
 *
 * Until the floor has stayed in one place for a while, a fall must also be half of the whole range
 * of live bytes in the past: the ripples of a deep network's first pass would count else. From then
 * on it is the usual fall that counts, so that one long batch or a new floor delays the next end by
 * few cycles only.
 *
 * A recurrent network asks for the same at each time step and keeps some of it: its ripples are as
 * high as a batch and come back to nearly the same floor. So blocks are counted too. A cycle of
 * whose requests more than a quarter are still there at its end, or were given back in it beyond
 * what it asked for, climbs or descends; a second one in a row in the same direction is part of
 * something larger, and no end.
 *
 * Pure: no clock, no memory, no lock (the caller's). Bytes are the exact live bytes of one device,
 * not rounded to the driver's pages. */
#ifndef SC_CACHE_SWING_H
#define SC_CACHE_SWING_H

#include <stdbool.h>
#include <stdint.h>

typedef struct sc_swing sc_swing; /* defined in the second half of this header */

void sc_swing_init(sc_swing *swing);

/* A request of `bytes` arrives while `live` bytes are live. True: a cycle ended just before it, at
 * level swing->low. The request is taken to succeed; one that fails is to be freed. */
bool sc_swing_request(sc_swing *swing, uint64_t live, uint64_t bytes);

/* A free left `live` bytes live. */
void sc_swing_free(sc_swing *swing, uint64_t live);

/* Where live bytes were, and how many blocks those were. */
typedef struct sc_swing_level {
    uint64_t bytes, blocks;
} sc_swing_level;

/* Live bytes during a stretch of requests. */
typedef struct sc_swing_span {
    uint64_t top;             /* most */
    sc_swing_level after_top; /* least since then */
    sc_swing_level floor;     /* least */
} sc_swing_span;

struct sc_swing {
    sc_swing_level low;  /* where the last cycle ended */
    uint64_t low_before; /* least bytes live in that cycle and at its begin */
    uint64_t blocks;     /* live now */
    sc_swing_span before,
        now; /* this cycle, that is since the last end; its oldest part may be forgotten */
    sc_swing_span past, recent; /* whatever ends there were */
    uint64_t now_end;           /* `requests` at which `now` becomes `before` */
    uint64_t recent_end;        /* `total` at which `recent` becomes `past` */
    uint64_t requests;          /* in this cycle */
    uint64_t total;             /* requests in all */
    uint64_t usual;             /* requests of a cycle; 0: none has ended yet */
    uint64_t fall;              /* usual one at the end of a cycle */
    uint64_t floor;             /* where the last ends were found, ... */
    uint64_t floor_since;       /* ... from this `total` on */
    uint64_t hill;              /* most live bytes since the last return to the floor */
    uint64_t highest_hill;      /* in this cycle, above the floor */
    uint32_t ends_here;         /* in a row at `floor` */
    uint32_t returns;           /* to the floor in this cycle, from a hill too low for an end */
    int climb;                  /* of the last cycle: 1 up, -1 down, 0 neither */
    bool is_settled;            /* the floor has stayed in one place for long enough, once */
};

#endif
