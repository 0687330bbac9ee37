/* SPDX-License-Identifier: MIT
 * headroom.h - how much room to keep free at frees, so that the next miss need not make it.
 *
 * A real free inside cudaMalloc is a wait the program would not have had, so room is made at the
 * frees before: as much as the largest recent miss wanted. That must not feed itself: a buffer
 * given back for headroom alone is missed in the next step, and that miss would ask for the same
 * headroom for ever, in a program whose whole set fits. So such buffers are remembered until the
 * step after: a miss asks for headroom only when it would not have fitted had none of them been
 * given back.
 *
 * A heuristic over sums: it costs hits when wrong, never safety. The caller locks. */
#ifndef SC_CACHE_HEADROOM_H
#define SC_CACHE_HEADROOM_H

#include "cache/mapped.h"
#include "cache/shape.h"
#include <stdint.h>

typedef struct sc_headroom {
    uint64_t wanted[2]; /* mapped size of the largest such miss, this step and the one before */
    sc_mapped ceded[2]; /* given back for headroom alone, not asked for since */
} sc_headroom;

/* A buffer of `shape` is given back though the cap does not ask for it yet. */
void sc_headroom_cede(sc_headroom *headroom, sc_shape *shape, uint64_t step);

/* A request of `shape` was missed. `held`: with it. `ceiling`: mapped bytes that may be held then.
 */
void sc_headroom_miss(sc_headroom *headroom, sc_shape *shape, uint64_t step, sc_mapped held,
                      uint64_t ceiling);

void sc_headroom_step_end(sc_headroom *headroom);

static inline uint64_t sc_headroom_bytes(const sc_headroom *headroom)
{
    return headroom->wanted[0] > headroom->wanted[1] ? headroom->wanted[0] : headroom->wanted[1];
}

#endif
