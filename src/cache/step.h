/* SPDX-License-Identifier: MIT
 * step.h - finds the end of a training step in what arrives.
 *
 * A step is one batch. Nothing at cudaMalloc says where it ends, but live bytes do: within a batch they
 * rise as activations pile up and fall back to the floor (weights, gradients, optimizer state) as the
 * backward pass lets go. A step ended when live bytes had risen by more than half their usual swing and
 * have come back near their floor; its end is put just before the next request that rises again, so that
 * the last frees of a batch belong to it. The floor is learnt again when no end comes for long, because
 * state created late raises it.
 *
 * A wrong answer costs hits, never safety. Pure: no clock, no memory, no lock (the caller's). Bytes are the
 * exact live bytes of one device, not rounded to the driver's pages. */
#ifndef SC_CACHE_STEP_H
#define SC_CACHE_STEP_H

#include <stdbool.h>
#include <stdint.h>

typedef struct sc_step sc_step; /* defined in the second half of this header */

void sc_step_init(sc_step *step);

/* A request of `bytes` arrives while `live` bytes are live. True: a step ended just before it. */
bool sc_step_request(sc_step *step, uint64_t live, uint64_t bytes);

/* A free left `live` bytes live. */
void sc_step_free(sc_step *step, uint64_t live);

#endif
