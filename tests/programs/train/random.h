/* SPDX-License-Identifier: MIT
 * random.h - a small deterministic generator (splitmix64).
 *
 * Each use starts a stream of its own from (seed, purpose, index), so that batch 7 is the same
 * whatever was drawn before it. */
#ifndef TRAIN_RANDOM_H
#define TRAIN_RANDOM_H

#include <stdint.h>

enum random_purpose {
    RANDOM_LENGTHS = 1,
    RANDOM_TEACHER,
    RANDOM_BATCHES,
    RANDOM_EVALUATION,
    RANDOM_WEIGHTS
};

static inline uint64_t random_next(uint64_t *state)
{
    uint64_t bits = *state += 0x9e3779b97f4a7c15u;

    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
    return bits ^ (bits >> 31);
}

static inline uint64_t random_seed(uint64_t seed, enum random_purpose purpose, uint64_t index)
{
    uint64_t state = seed;

    state = random_next(&state) ^ (uint64_t)purpose;
    state = random_next(&state) ^ index;
    return random_next(&state);
}

/* From -1 up to, not including, 1: exact in a float. */
static inline float random_float(uint64_t *state)
{
    return (float)(random_next(state) >> 40) * (1.0f / (1 << 23)) - 1.0f;
}

#endif
