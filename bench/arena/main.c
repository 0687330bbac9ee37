/* SPDX-License-Identifier: MIT
 * arena - what the pinned arena costs, beside the calls it stands for: arena [--pin MIB] [--rounds
 * N]
 *
 * Copies: K tensors to page-locked memory and back, by cudaMemcpyAsync on one stream and by offload
 * and onload, in turns in one run; medians of the rounds. "enqueue" is the host's time for a call,
 * "whole" the time until all copies are done. Page-locking: memory a little above a power of two,
 * as an arena and as cudaMallocHost of the next power of two, which is what frameworks ask for. */
#include "base/clock.h"
#include "shapecache/shapecache.h"
#include <cuda_runtime_api.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { TENSORS = 32, ROUNDS_MOST = 1001 };

static const size_t MIB = (size_t)1 << 20;

#define CHECK(call)                                                                                \
    do {                                                                                           \
        if ((call) != 0) {                                                                         \
            (void)fprintf(stderr, "arena: failed: %s\n", #call);                                   \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

typedef struct times {
    uint64_t enqueue[ROUNDS_MOST], whole[ROUNDS_MOST]; /* ns of a round */
} times;

typedef struct bench {
    shapecache_arena *arena;
    cudaStream_t stream;
    char *device[TENSORS], *host;
    size_t bytes;
    unsigned rounds;
} bench;

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static uint64_t median(uint64_t *values, unsigned count)
{
    qsort(values, count, sizeof *values, compare);
    return values[count / 2];
}

static void plain_round(const bench *one, uint64_t *enqueue, uint64_t *whole)
{
    uint64_t began = sc_clock_ns();

    for (int i = 0; i < TENSORS; i++)
        CHECK(cudaMemcpyAsync(one->host + (size_t)i * one->bytes, one->device[i], one->bytes,
                              cudaMemcpyDeviceToHost, one->stream));
    for (int i = TENSORS; i-- > 0;)
        CHECK(cudaMemcpyAsync(one->device[i], one->host + (size_t)i * one->bytes, one->bytes,
                              cudaMemcpyHostToDevice, one->stream));
    *enqueue = sc_clock_ns() - began;
    CHECK(cudaStreamSynchronize(one->stream));
    *whole = sc_clock_ns() - began;
}

static void arena_round(const bench *one, uint64_t *enqueue, uint64_t *whole)
{
    shapecache_ticket tickets[TENSORS];
    uint64_t began = sc_clock_ns();

    for (int i = 0; i < TENSORS; i++)
        CHECK(shapecache_arena_offload(one->arena, one->device[i], one->bytes, 0, one->stream,
                                       &tickets[i]));
    for (int i = TENSORS; i-- > 0;)
        CHECK(shapecache_arena_onload(one->arena, tickets[i], one->device[i], one->bytes, 0,
                                      one->stream));
    *enqueue = sc_clock_ns() - began;
    CHECK(cudaStreamSynchronize(one->stream));
    *whole = sc_clock_ns() - began;
}

static void print_row(const bench *one, const char *what, times *seen, const times *plain)
{
    double calls = 2.0 * TENSORS, moved = calls * (double)one->bytes;
    uint64_t enqueue = median(seen->enqueue, one->rounds);
    uint64_t whole = median(seen->whole, one->rounds);

    printf("%-16s %9.0f KiB %10.2f us %10.2f us %8.2f GB/s", what, (double)one->bytes / 1024,
           (double)enqueue / calls / 1000, (double)whole / calls / 1000, moved / (double)whole);
    if (plain) {
        uint64_t middle = one->rounds / 2, before = plain->enqueue[middle];

        printf(" %8.2f us more, %.2f x whole", ((double)enqueue - (double)before) / calls / 1000,
               (double)whole / (double)plain->whole[middle]);
    }
    puts("");
}

static void measure(bench *one, size_t bytes)
{
    static times plain, arena;
    shapecache_arena_config config;

    one->bytes = bytes;
    shapecache_arena_defaults(&config);
    config.capacity = TENSORS * bytes;
    config.flags = SHAPECACHE_ARENA_QUIET;
    CHECK(shapecache_arena_create(&one->arena, &config));
    CHECK(cudaMallocHost((void **)&one->host, TENSORS * bytes));
    for (int i = 0; i < TENSORS; i++)
        CHECK(cudaMalloc((void **)&one->device[i], bytes));
    for (unsigned i = 0; i < one->rounds; i++) {
        plain_round(one, &plain.enqueue[i], &plain.whole[i]);
        arena_round(one, &arena.enqueue[i], &arena.whole[i]);
    }
    print_row(one, "cudaMemcpyAsync", &plain, NULL);
    print_row(one, "arena", &arena, &plain);
    for (int i = 0; i < TENSORS; i++)
        CHECK(cudaFree(one->device[i]));
    CHECK(cudaFreeHost(one->host));
    CHECK(shapecache_arena_destroy(one->arena));
}

/* Bytes of this process that are in memory. */
static uint64_t resident(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    unsigned long all = 0, here = 0;

    if (file) {
        if (fscanf(file, "%lu %lu", &all, &here) != 2)
            here = 0;
        (void)fclose(file);
    }
    return (uint64_t)here * (uint64_t)sysconf(_SC_PAGESIZE);
}

static size_t power_of_two(size_t bytes)
{
    size_t power = 1;

    while (power < bytes)
        power *= 2;
    return power;
}

static void lock_by_kernel(const char *what, size_t bytes)
{
    uint64_t before = resident(), began = sc_clock_ns();
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (at == MAP_FAILED || mlock(at, bytes) != 0) {
        printf("%-16s could not be locked: see ulimit -l\n", what);
    } else {
        uint64_t ns = sc_clock_ns() - began;

        printf("%-16s %9.0f MiB mapped %9.0f MiB resident %10.1f ms\n", what,
               (double)bytes / (double)MIB, (double)(resident() - before) / (double)MIB,
               (double)ns / 1e6);
    }
    if (at != MAP_FAILED)
        (void)munmap(at, bytes);
}

static void pin(size_t bytes)
{
    shapecache_arena_config config;
    shapecache_arena_info info;
    shapecache_arena *arena;
    size_t rounded = power_of_two(bytes);
    uint64_t before = resident(), began = sc_clock_ns();
    void *host;

    shapecache_arena_defaults(&config);
    config.capacity = bytes;
    CHECK(shapecache_arena_create(&arena, &config));
    uint64_t exact_ns = sc_clock_ns() - began, exact = resident() - before;

    CHECK(shapecache_arena_stats(arena, &info));
    CHECK(shapecache_arena_destroy(arena));
    before = resident();
    began = sc_clock_ns();
    CHECK(cudaMallocHost(&host, rounded));
    uint64_t rounded_ns = sc_clock_ns() - began, taken = resident() - before;

    CHECK(cudaFreeHost(host));
    printf("%-16s %9.0f MiB mapped %9.0f MiB resident %10.1f ms\n", "arena, exact",
           (double)info.mapped / (double)MIB, (double)exact / (double)MIB, (double)exact_ns / 1e6);
    printf("%-16s %9.0f MiB mapped %9.0f MiB resident %10.1f ms, %.2f x the bytes\n",
           "power of two", (double)rounded / (double)MIB, (double)taken / (double)MIB,
           (double)rounded_ns / 1e6, (double)rounded / (double)info.mapped);
}

int main(int argc, char **argv)
{
    static bench one = {.rounds = 51};
    size_t pin_bytes = 1025 * MIB;

    for (int i = 1; i + 1 < argc; i += 2)
        if (strcmp(argv[i], "--rounds") == 0)
            one.rounds = (unsigned)atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--pin") == 0)
            pin_bytes = (size_t)atoi(argv[i + 1]) * MIB;
    if (one.rounds < 1 || one.rounds > ROUNDS_MOST)
        one.rounds = ROUNDS_MOST;
    struct cudaDeviceProp device;

    CHECK(cudaGetDeviceProperties(&device, 0));
    CHECK(cudaFree(NULL));
    CHECK(cudaStreamCreateWithFlags(&one.stream, cudaStreamNonBlocking));
    printf("device: %s\n%-16s %13s %13s %13s %13s\n", device.name, "", "tensor", "enqueue", "whole",
           "");
    static const size_t sizes[] = {64 << 10, 1 << 20, 8 << 20};

    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
        measure(&one, sizes[i]);
    pin(pin_bytes);
    lock_by_kernel("mlock, exact", pin_bytes);
    lock_by_kernel("mlock, rounded", power_of_two(pin_bytes));
    return 0;
}
