/* SPDX-License-Identifier: MIT
 * arena_room.h - a room with an arena whose copies are only counted. */
#ifndef SC_TESTS_ARENA_ROOM_H
#define SC_TESTS_ARENA_ROOM_H

#include "arena/arena.h"
#include "engine/engine.h"
#include "shapecache/shapecache.h"
#include "support/fake_gpu.h"
#include "support/room.h"
#include <check.h>

static const uint64_t sizes[] = {4 * MIB, 6 * MIB};
enum { SIZES = 2 };

static sc_random generator;
static sc_stream stream;
static shapecache_arena *arena;

/* Copies of the fake driver's memory, which is none, are only counted. */
static inline int no_copy_out(void *host, sc_address device, size_t bytes, sc_stream on)
{
    static char nothing[8];

    (void)device, (void)bytes;
    return fake_gpu_copies.copy_out(host, (sc_address)(uintptr_t)nothing, 1, on);
}

static inline int no_copy_in(sc_address device, const void *host, size_t bytes, sc_stream on)
{
    static char nothing[8];

    (void)device, (void)bytes;
    return fake_gpu_copies.copy_in((sc_address)(uintptr_t)nothing, host, 1, on);
}

static inline int no_copy_within(sc_address to, sc_address from, size_t bytes, sc_stream on)
{
    (void)to, (void)from, (void)bytes, (void)on;
    return SC_CUDA_SUCCESS;
}

static sc_copy_driver copies;
static sc_engine_host host = {.driver = &fake_driver, .copies = &copies};

static inline void arena_room_enter(void)
{
    generator = sc_random_new("arena in the engine");
    fake_gpu_init(&generator);
    stream = fake_gpu_stream();
    copies = fake_gpu_copies;
    copies.copy_out = no_copy_out;
    copies.copy_in = no_copy_in;
    copies.copy_within = no_copy_within;
    sc_engine_attach(&host);
    room_enter();
}

static inline void open_arena(uint64_t capacity)
{
    shapecache_arena_config config;

    shapecache_arena_defaults(&config);
    config.capacity = capacity;
    ck_assert_int_eq(shapecache_arena_create(&arena, &config), SHAPECACHE_OK);
}

static inline void close_arena(void)
{
    ck_assert_int_eq(shapecache_arena_destroy(arena), SHAPECACHE_OK);
    ck_assert_uint_eq(fake_registered(), 0);
    ck_assert_uint_eq(fake_gpu_events(), 0);
}

static inline shapecache_ticket give(sc_address data, uint64_t bytes)
{
    shapecache_ticket ticket;

    ck_assert_int_eq(shapecache_arena_offload_free(arena, (void *)(uintptr_t)data, bytes, 0,
                                                   (void *)stream, &ticket),
                     SHAPECACHE_OK);
    return ticket;
}

static inline shapecache_memory_info memory_now(void)
{
    shapecache_memory_info info;

    ck_assert_int_eq(shapecache_memory(-1, &info), SHAPECACHE_OK);
    return info;
}

#endif
