/* SPDX-License-Identifier: MIT
 * held.cu - what the program has taken from the device, by the device's own count of free memory.
 *
 * More shapes than the cap has room for, all seen in the first steps; then one shape more, and one
 * free. `live` are the bytes the program holds, in pages by the cache's rule; `held` is what is
 * missing on the device since the first allocation:
 *     live_peak, held_peak   the most of each, looked at after every allocation
 *     live_after, held_after after that last shape and free, where the cache must have let go */
#include "rule.h"
#include "say.cuh"

enum { SHAPES = 48, EACH = 16, STEPS = 80 };

static size_t first_free, live, live_peak, held_peak;

static size_t bytes_of(unsigned shape)
{
    return (2 + shape % SHAPES / 8) * MIB + shape % SHAPES % 8 * 4096;
}

static size_t held(void)
{
    return first_free - std::min(first_free, free_bytes());
}

static void *allocate(size_t bytes)
{
    void *given = NULL;

    MUST(cudaMalloc(&given, bytes));
    live += rule_mapped(bytes, 1);
    live_peak = std::max(live_peak, live);
    held_peak = std::max(held_peak, held());
    return given;
}

static void release(void *block, size_t bytes)
{
    MUST(cudaFree(block));
    live -= rule_mapped(bytes, 1);
}

static void step(unsigned number)
{
    void *blocks[EACH];
    const unsigned first = number * 7;

    for (unsigned i = 0; i < EACH; i++)
        blocks[i] = allocate(bytes_of(first + i));
    for (unsigned i = 0; i < EACH; i++)
        release(blocks[i], bytes_of(first + i));
    end_step();
}

int main(void)
{
    const size_t new_bytes = 33 * MIB;
    void *kept, *freed;

    MUST(cudaFree(NULL));
    first_free = free_bytes();
    for (unsigned number = 0; number < STEPS; number++)
        step(number);
    say("live_peak", live_peak, "bytes");
    say("held_peak", held_peak, "bytes");
    kept = allocate(new_bytes);
    freed = allocate(bytes_of(0));
    release(freed, bytes_of(0));
    say("live_after", live, "bytes");
    say("held_after", held(), "bytes");
    release(kept, new_bytes);
    return 0;
}
