/* SPDX-License-Identifier: MIT
 * headroom.h - how much room to keep free at frees, so that the next misses need not make it.
 *
 * A real free inside cudaMalloc is a wait the program would not have had, so room is made at the
 * frees before. Room that is always kept is memory that is never used, and under a cap of 1.25 x it
 * costs more hits than the cap itself. So it is made where it will be needed. A stretch is the
 * requests between two frees; the free before it is its place, known again by the exact live bytes
 * and the shapes of that free and of the one before. What the misses of a stretch wanted is kept
 * with its place, and when the program comes by again that much is made free there:
 *
 *          F     F a a a a F     F          step n+1:      F     F a a a a F     F
 *                ^   | |                                         ^
 *                place, 2 misses                                 room for 2
 *
 * Where a program's steps do not repeat, no place is passed twice. So misses that were not foreseen
 * are counted, and those that were are counted off. Once there are 64 more of the former, and until
 * there are not, the largest of them in this step and in the one before is kept free at each free.
 *
 * None of this must feed itself: a buffer given back for headroom alone is missed later, and that
 * miss would ask for the same headroom for ever, in a program whose whole set fits. So such buffers
 * are remembered until the step after: a miss asks for headroom only when it would not have fitted
 * had none of them been given back, and not at all when its own buffer went in the same stretch.
 *
 * A heuristic over sums: it costs hits when wrong, never safety. No memory but its own, nothing on
 * a hit, constant time on a free and on a miss. The caller locks. */
#ifndef SC_CACHE_HEADROOM_H
#define SC_CACHE_HEADROOM_H

#include "cache/mapped.h"
#include "cache/shape.h"
#include <stdint.h>

enum { SC_HEADROOM_PLACES = 512 };

/* What the last stretch that began here missed; nothing: the place is forgotten. */
typedef struct sc_headroom_place {
    uint64_t key; /* 0: none */
    sc_mapped missed;
} sc_headroom_place;

typedef struct sc_headroom {
    uint64_t stretch; /* number of the running one */
    uint64_t key;     /* of its place; 0: there was no free yet */
    uint32_t before;  /* id of the shape freed there */
    sc_mapped foreseen, missed;
    uint32_t surprises;   /* misses that were not foreseen, less those that were; 0 to 128 */
    uint64_t surprise[2]; /* mapped size of the largest, this step and the one before */
    sc_mapped ceded[2];   /* given back for headroom alone, not asked for since */
    sc_headroom_place places[SC_HEADROOM_PLACES]; /* each where its key says; a new one replaces */
} sc_headroom;

/* Of the place where a buffer of shape `shape` was freed after one of `before`, and left exactly
 * `live` bytes live. Not 0. */
uint64_t sc_headroom_key(uint64_t live, uint32_t shape, uint32_t before);

/* A buffer of `shape` was parked, which leaves exactly `live` bytes live: a stretch begins. */
void sc_headroom_park(sc_headroom *headroom, const sc_shape *shape, uint64_t live);

/* A buffer of `shape` is given back though the cap does not ask for it yet. */
void sc_headroom_cede(sc_headroom *headroom, sc_shape *shape, uint64_t step);

/* A request of `shape` was missed. `held`: with it. `ceiling`: mapped bytes that may be held then.
 */
void sc_headroom_miss(sc_headroom *headroom, sc_shape *shape, uint64_t step, sc_mapped held,
                      uint64_t ceiling);

void sc_headroom_step_end(sc_headroom *headroom);

/* What the rest of this stretch is expected to ask of the driver. */
sc_mapped sc_headroom_wanted(const sc_headroom *headroom);

#endif
