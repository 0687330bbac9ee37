/* SPDX-License-Identifier: MIT
 * seed.h - random numbers for tests that can be run again: the seed is printed, and SC_SEED sets
 * it. */
#ifndef SC_TESTS_SEED_H
#define SC_TESTS_SEED_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct sc_random {
    uint64_t state;
} sc_random;

static inline sc_random sc_random_new(const char *what)
{
    const char *given = getenv("SC_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);

    printf("%s: SC_SEED=%llu\n", what, (unsigned long long)seed);
    (void)fflush(stdout);
    return (sc_random){seed};
}

/* splitmix64 */
static inline uint64_t sc_random_next(sc_random *random)
{
    uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* One of 0 .. count - 1. */
static inline uint64_t sc_random_below(sc_random *random, uint64_t count)
{
    return sc_random_next(random) % count;
}

#endif
