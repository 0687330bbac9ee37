/* SPDX-License-Identifier: MIT
 * random.h - the random numbers of a ring: one 64-bit state, the same sequence for the same seed on
 * every machine, small enough to be saved with the ring.
 *
 * splitmix64. Good for choosing entries; no secret may hang on it. Not thread-safe: the ring's lock
 * guards it. */
#ifndef SC_RING_RANDOM_H
#define SC_RING_RANDOM_H

#include <stdint.h>

typedef struct sc_ring_random {
    uint64_t state;
} sc_ring_random;

static inline uint64_t sc_ring_random_next(sc_ring_random *random)
{
    uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

__extension__ typedef unsigned __int128 sc_ring_wide;

/* One of 0 .. count - 1, each with exactly the same chance; count must not be 0. The product's
 * upper half is the answer; the few lower halves that would give some answers more often are drawn
 * again (Lemire 2019), and a division is seldom needed to see that. */
static inline uint64_t sc_ring_random_below(sc_ring_random *random, uint64_t count)
{
    sc_ring_wide product = (sc_ring_wide)sc_ring_random_next(random) * count;

    if ((uint64_t)product < count) {
        uint64_t beyond = (0 - count) % count; /* 2^64 mod count */

        while ((uint64_t)product < beyond)
            product = (sc_ring_wide)sc_ring_random_next(random) * count;
    }
    return (uint64_t)(product >> 64);
}

/* One of the 2^53 multiples of 2^-53 in [0, 1). */
static inline double sc_ring_random_unit(sc_ring_random *random)
{
    return (double)(sc_ring_random_next(random) >> 11) * 0x1p-53;
}

#endif
