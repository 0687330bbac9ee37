/* SPDX-License-Identifier: MIT
 * rings: adding and drawing, by a ring and by the way it replaces, side by side.
 *
 * That way is a list of copies for each bucket, as an error buffer in Python has it: each entry is
 * allocated for itself; the oldest goes by moving all others; the nearest is found by stacking the
 * whole bucket; all entries are listed before one of them is drawn; each sample is a new tensor.
 * Here without Python, so what is measured is the way and not the language; rings.py measures both.
 *
 * Both do the same operations in turn, a few at a time, so that what else the machine does falls on
 * both; a figure is the median of many such turns. */
#include "shapecache/shapecache.h"
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BUCKETS = 10, TURNS = 31, DIMS = 1 };

typedef struct lists {
    float **entries[BUCKETS];
    size_t count[BUCKETS];
    size_t capacity, elements;
} lists;

static size_t elements, capacity;
static float *item;
static uint64_t state = 1;

static uint64_t next(void)
{
    uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "rings: %s\n", what);
    exit(EXIT_FAILURE);
}

static void *must(void *memory)
{
    if (!memory)
        die("out of memory");
    return memory;
}

static float *copy_of(const float *from)
{
    return memcpy(must(malloc(elements * sizeof *from)), from, elements * sizeof *from);
}

/* The way of lists. */

static size_t nearest(const lists *all, size_t bucket)
{
    size_t found = 0, count = all->count[bucket];
    float *stack = must(malloc(count * elements * sizeof *stack));
    double least = (double)INFINITY;

    for (size_t i = 0; i < count; i++)
        memcpy(stack + i * elements, all->entries[bucket][i], elements * sizeof *stack);
    for (size_t i = 0; i < count; i++) {
        double sum = 0;

        for (size_t k = 0; k < elements; k++)
            sum +=
                (double)((stack[i * elements + k] - item[k]) * (stack[i * elements + k] - item[k]));
        if (sum < least) {
            least = sum;
            found = i;
        }
    }
    free(stack);
    return found;
}

static void lists_add(lists *all, size_t bucket, shapecache_replacement replacement)
{
    float **entries = all->entries[bucket];
    size_t at;

    if (all->count[bucket] < all->capacity) {
        entries[all->count[bucket]++] = copy_of(item);
        return;
    }
    if (replacement == SHAPECACHE_REPLACE_FIFO) {
        free(entries[0]);
        memmove(entries, entries + 1, (all->capacity - 1) * sizeof *entries);
        entries[all->capacity - 1] = copy_of(item);
        return;
    }
    at = replacement == SHAPECACHE_REPLACE_NEAREST ? nearest(all, bucket) : next() % all->capacity;
    free(entries[at]);
    entries[at] = copy_of(item);
}

static float *scaled(const float *from)
{
    float *out = must(malloc(elements * sizeof *out));
    float factor = (float)(0.7 + 0.6 * (double)(next() >> 11) * 0x1p-53);

    for (size_t i = 0; i < elements; i++)
        out[i] = from[i] * factor;
    return out;
}

static void lists_sample(const lists *all, size_t bucket)
{
    free(scaled(all->entries[bucket][next() % all->count[bucket]]));
}

static void lists_sample_any(const lists *all)
{
    float **every = must(malloc(BUCKETS * all->capacity * sizeof *every));
    size_t count = 0;

    for (size_t bucket = 0; bucket < BUCKETS; bucket++) {
        memcpy(every + count, all->entries[bucket], all->count[bucket] * sizeof *every);
        count += all->count[bucket];
    }
    free(scaled(every[next() % count]));
    free(every);
}

static void lists_release(lists *all)
{
    for (size_t bucket = 0; bucket < BUCKETS; bucket++) {
        for (size_t i = 0; i < all->count[bucket]; i++)
            free(all->entries[bucket][i]);
        free(all->entries[bucket]);
    }
}

/* Both, in turn. */

typedef enum operation { ADD, SAMPLE, SAMPLE_ANY } operation;

typedef struct pair {
    lists lists;
    shapecache_ring *ring;
    float *out;
    shapecache_replacement replacement;
} pair;

static void do_ring(const pair *both, operation what, size_t bucket)
{
    shapecache_ring_item add = {item, SHAPECACHE_F32, &elements, DIMS, (double)bucket, 0};
    size_t bytes = elements * sizeof *both->out;
    shapecache_status status = SHAPECACHE_OK;

    switch (what) {
    case ADD:
        status = shapecache_ring_add(both->ring, &add, NULL);
        break;
    case SAMPLE:
        status = shapecache_ring_sample(both->ring, (double)bucket, 0, both->out, bytes, NULL);
        break;
    case SAMPLE_ANY:
        status = shapecache_ring_sample_any(both->ring, both->out, bytes, NULL);
        break;
    }
    if (status)
        die(shapecache_status_text(status));
}

static void do_lists(pair *both, operation what, size_t bucket)
{
    switch (what) {
    case ADD:
        lists_add(&both->lists, bucket, both->replacement);
        break;
    case SAMPLE:
        lists_sample(&both->lists, bucket);
        break;
    case SAMPLE_ANY:
        lists_sample_any(&both->lists);
        break;
    }
}

static double now(void)
{
    struct timespec at;

    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec * 1e9 + (double)at.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double values[TURNS])
{
    qsort(values, TURNS, sizeof *values, compare);
    return values[TURNS / 2];
}

static void measure(pair *both, const char *name, operation what, unsigned each)
{
    static double lists_ns[TURNS], ring_ns[TURNS];

    for (unsigned turn = 0; turn < TURNS; turn++) {
        double began = now(), between;

        for (unsigned i = 0; i < each; i++)
            do_lists(both, what, (turn + i) % BUCKETS);
        between = now();
        for (unsigned i = 0; i < each; i++)
            do_ring(both, what, (turn + i) % BUCKETS);
        lists_ns[turn] = (between - began) / each;
        ring_ns[turn] = (now() - between) / each;
    }
    double old = median(lists_ns), ours = median(ring_ns);

    printf("%-16s %10zu %12.0f %12.0f %7.2f x\n", name, elements * sizeof(float), old, ours,
           old / ours);
}

static void open_pair(pair *both, shapecache_replacement replacement)
{
    shapecache_ring_config config;

    shapecache_ring_defaults(&config);
    config.buckets = config.timesteps = BUCKETS;
    config.capacity = (uint32_t)capacity;
    config.replacement = replacement;
    config.dims[0] = elements;
    config.dim_count = DIMS;
    config.flags = SHAPECACHE_RING_QUIET;
    *both =
        (pair){.lists = {.capacity = capacity, .elements = elements}, .replacement = replacement};
    both->out = must(malloc(elements * sizeof *both->out));
    for (size_t bucket = 0; bucket < BUCKETS; bucket++)
        both->lists.entries[bucket] = must(calloc(capacity, sizeof(float *)));
    if (shapecache_ring_create(&both->ring, &config))
        die("no ring");
    for (size_t i = 0; i < BUCKETS * capacity; i++) { /* full: from now on every add replaces */
        item[0] = (float)i;
        do_lists(both, ADD, i % BUCKETS);
        do_ring(both, ADD, i % BUCKETS);
    }
}

static void run(size_t with_elements, size_t with_capacity, unsigned each)
{
    static const char *const adds[] = {"add random", "add fifo", "add nearest"};

    elements = with_elements;
    capacity = with_capacity;
    item = must(malloc(elements * sizeof *item));
    for (size_t i = 0; i < elements; i++)
        item[i] = (float)(next() % 1000);
    for (int replacement = 0; replacement < 3; replacement++) {
        bool is_slow = replacement == SHAPECACHE_REPLACE_NEAREST;
        pair both;

        open_pair(&both, (shapecache_replacement)replacement);
        measure(&both, adds[replacement], ADD, is_slow ? 1 + each / 20 : each);
        if (replacement == SHAPECACHE_REPLACE_RANDOM) {
            measure(&both, "sample bucket", SAMPLE, each);
            measure(&both, "sample any", SAMPLE_ANY, each);
        }
        lists_release(&both.lists);
        free(both.out);
        shapecache_ring_destroy(both.ring);
    }
    free(item);
}

int main(int argc, char **argv)
{
    bool is_quick = argc == 2 && strcmp(argv[1], "--quick") == 0;

    if (argc > 2 || (argc == 2 && !is_quick)) {
        fprintf(stderr, "usage: rings [--quick]\n");
        return 2;
    }
    printf("%-16s %10s %12s %12s %9s\n", "operation", "bytes", "lists ns", "ring ns", "ratio");
    run(64, 50, is_quick ? 1 : 1000);
    if (is_quick)
        return EXIT_SUCCESS;
    run(16384, 50, 50);
    run(675840, 50, 2); /* 8 frames of 48 x 44 x 40: as many bytes as 80 channels of bf16 */
    return EXIT_SUCCESS;
}
