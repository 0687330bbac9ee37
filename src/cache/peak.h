/* SPDX-License-Identifier: MIT
 * peak.h - the most live bytes over the last steps, the running one among them.
 *
 * A monotonic queue: a finished step stays only while no later one was as high, so the oldest is
 * the highest, and both reading and pushing take constant time on average. A window of n steps is
 * the running step, whose figure the caller keeps, and n - 1 finished ones. */
#ifndef SC_CACHE_PEAK_H
#define SC_CACHE_PEAK_H

#include <stdbool.h>
#include <stdint.h>

typedef struct sc_peak_step {
    uint64_t step;
    uint64_t bytes;
} sc_peak_step;

typedef struct sc_peak {
    sc_peak_step *steps; /* a ring: bytes fall, steps rise */
    uint64_t first, count;
    uint64_t window; /* steps */
} sc_peak;

bool sc_peak_init(sc_peak *peak, uint64_t window); /* false: out of memory; window at least 1 */
void sc_peak_release(sc_peak *peak);

/* Step number `step` has ended; its most live bytes were `bytes`. */
void sc_peak_push(sc_peak *peak, uint64_t step, uint64_t bytes);

/* The most of the window; `running` is the running step's so far. */
static inline uint64_t sc_peak_most(const sc_peak *peak, uint64_t running)
{
    uint64_t finished = peak->count ? peak->steps[peak->first].bytes : 0;

    return finished > running ? finished : running;
}

#endif
