/* SPDX-License-Identifier: MIT
 * A program that asks about its own memory: test_scope STEPS. Steps of fixed shapes, among them
 * nested memory scopes; for each scope one line with the allocation calls made before it began and
 * before it ended, and what it saw. The functions are weak: it runs without the library, too. */
#define SHAPECACHE_WEAK
#include "shapecache/shapecache.h"
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MIB = 1 << 20, MOST = 16, DEPTH = 8 };

static unsigned calls; /* of cudaMalloc and cudaFree that succeeded */
static unsigned began[DEPTH];
static unsigned depth;

static void must(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) {
        fprintf(stderr, "test_scope: %s: %s\n", what, cudaGetErrorName(error));
        exit(EXIT_FAILURE);
    }
    calls++;
}

static void *take(size_t bytes)
{
    void *block = NULL;

    must(cudaMalloc(&block, bytes), "cudaMalloc");
    return block;
}

static void give(void *block)
{
    must(cudaFree(block), "cudaFree");
}

static void begin(const char *name, unsigned flags)
{
    began[depth++] = calls;
    if (shapecache_scope_begin && shapecache_scope_begin(name, flags) != SHAPECACHE_OK)
        exit(EXIT_FAILURE);
}

static void end(const char *name)
{
    shapecache_scope_info info = {0};
    unsigned first = began[--depth];

    if (!shapecache_scope_end)
        return;
    if (shapecache_scope_end(&info) != SHAPECACHE_OK)
        exit(EXIT_FAILURE);
    printf("%s %u %u %u %llu %llu %llu %llu %llu %llu %llu\n", name, info.depth, first, calls,
           (unsigned long long)info.live_before, (unsigned long long)info.idle_before,
           (unsigned long long)info.live_peak, (unsigned long long)info.held_peak,
           (unsigned long long)info.live, (unsigned long long)info.idle,
           (unsigned long long)info.trimmed);
}

/* The same blocks each step, but for `extra`: a scope around each half. */
static void run_step(size_t extra)
{
    static const size_t sizes[] = {6 * MIB, 3 * MIB, 100000, 8 * MIB, 2 * MIB, 700000};
    void *blocks[MOST];
    size_t count = sizeof sizes / sizeof *sizes;

    begin("step", SHAPECACHE_SCOPE_LOG);
    begin("forward", 0);
    for (size_t i = 0; i < count; i++)
        blocks[i] = take(sizes[i]);
    if (extra)
        give(take(extra));
    end("forward");
    begin("backward", SHAPECACHE_SCOPE_LOG);
    while (count-- > 0)
        give(blocks[count]);
    end("backward");
    end("step");
    if (shapecache_step)
        (void)shapecache_step(-1);
}

int main(int argc, char **argv)
{
    int steps = argc > 1 ? atoi(argv[1]) : 0;
    void *weights;

    begin("load", SHAPECACHE_SCOPE_LOG); /* before anything is allocated */
    weights = take((size_t)20 * MIB);
    give(take((size_t)5 * MIB));
    end("load");
    for (int step = 0; step < steps; step++)
        run_step(step == 20 ? (size_t)30 * MIB : 0);
    begin("validation", SHAPECACHE_SCOPE_TRIM_BEFORE | SHAPECACHE_SCOPE_LOG);
    give(take((size_t)8 * MIB));
    end("validation");
    give(weights);
    if (shapecache_trim)
        printf("trim %d\n", (int)shapecache_trim(0));
    give(take(MIB));
    puts("done");
    return EXIT_SUCCESS;
}
