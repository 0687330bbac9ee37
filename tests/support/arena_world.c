/* SPDX-License-Identifier: MIT */
#include "support/arena_world.h"
#include <check.h>
#include <stdlib.h>
#include <string.h>

struct world world;

uint64_t below(uint64_t count)
{
    return sc_random_below(&world.random, count);
}

/* Work of the program's. */
typedef struct work {
    block *at;
    uint64_t bytes;
    unsigned pattern;
} work;

static unsigned char byte_of(unsigned pattern, uint64_t i)
{
    return (unsigned char)(pattern * 131 + i * 7 + (i >> 8) * pattern);
}

void write_pattern(void *argument)
{
    work *one = argument;

    for (uint64_t i = 0; i < one->bytes; i++)
        one->at->bytes[i] = byte_of(one->pattern, i);
    free(one);
}

void check_pattern(void *argument)
{
    work *one = argument;

    uint64_t good = 0;

    while (good < one->bytes && one->at->bytes[good] == byte_of(one->pattern, good))
        good++;
    ck_assert_uint_eq(good, one->bytes); /* once: a check of each byte is a system call */
    free(one);
}

void enqueue(void (*run)(void *), block *at, uint64_t bytes, unsigned pattern)
{
    work *one = malloc(sizeof *one);

    ck_assert_ptr_nonnull(one);
    *one = (work){at, bytes, pattern};
    fake_gpu_kernel(world.streams[at->stream], run, one);
}

void scribble(block *at)
{
    enqueue(write_pattern, at, BLOCK_BYTES, ++world.patterns);
}

sc_address address(const block *at)
{
    return (sc_address)(uintptr_t)at->bytes;
}

block *free_block(unsigned stream) /* STREAMS: any */
{
    unsigned first = (unsigned)below(BLOCKS);

    for (unsigned i = 0; i < BLOCKS; i++) {
        block *one = &world.blocks[(first + i) % BLOCKS];

        if (!one->is_taken && (stream == STREAMS || one->stream == stream))
            return one;
    }
    return NULL;
}

uint64_t sum(uint64_t (*of)(const tensor *))
{
    uint64_t all = 0;

    for (uint32_t i = 0; i < world.depth; i++)
        all += of(&world.stack[i]);
    return all;
}

uint64_t room_of(const tensor *one)
{
    return one->ticket.place == SHAPECACHE_ARENA_PINNED ? one->aligned : 0;
}

uint64_t demand_of(const tensor *one)
{
    return one->is_demand ? one->aligned : 0;
}

static uint64_t pageable_of(const tensor *one)
{
    return one->ticket.place == SHAPECACHE_ARENA_PAGEABLE ? one->bytes : 0;
}

void raise_to(uint64_t *mark, uint64_t value)
{
    *mark = *mark < value ? value : *mark;
}

void compare(void)
{
    shapecache_arena_info info;

    raise_to(&world.demand_peak, sum(demand_of));
    raise_to(&world.used_peak, sum(room_of));
    sc_arena_check(&world.arena);
    sc_arena_inform(&world.arena, &info);
    ck_assert_uint_eq(info.depth, world.depth);
    ck_assert_uint_eq(info.used, sum(room_of));
    ck_assert_uint_eq(info.used_peak, world.used_peak);
    ck_assert_uint_eq(info.demand_peak, world.demand_peak);
    ck_assert_uint_eq(info.pageable, sum(pageable_of));
#define SAME(field)                                                                                \
    if (info.field != world.counts.field)                                                          \
    ck_abort_msg(#field " is %llu, not %llu", (unsigned long long)info.field,                      \
                 (unsigned long long)world.counts.field)
    SAME(offloads);
    SAME(onloads);
    SAME(bytes_out);
    SAME(bytes_in);
    SAME(kept_ignored);
    SAME(kept_small);
    SAME(kept_last);
    SAME(kept_full);
    SAME(kept_dry);
    SAME(kept_bytes);
    SAME(went_pageable);
    SAME(prefetched);
    SAME(prefetch_refused);
    SAME(rewound);
    SAME(wrong_order);
    SAME(full);
    SAME(mismatched);
    SAME(driver_errors);
    SAME(passes);
#undef SAME
}

bool has_failed(shapecache_status status)
{
    fake_gpu_fail_at(0, 0);
    if (status != SHAPECACHE_EDRIVER)
        return false;
    ck_assert(world.may_fail);
    ck_assert_ptr_nonnull(strstr(world.arena.error, "the CUDA driver answered 719 to cu"));
    world.counts.driver_errors++;
    compare();
    return true;
}

void may_fail(void)
{
    if (world.may_fail && below(4) == 0)
        fake_gpu_fail_at(1 + (unsigned)below(12), BROKEN);
}
