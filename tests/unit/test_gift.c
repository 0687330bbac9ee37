/* SPDX-License-Identifier: MIT
 * What was given away between threads and contexts, where the cache knows it and where it is off.
 */
#include "support/arena_room.h"
#include "support/suite.h"
#include <pthread.h>
#include <stdlib.h>

enum { INVALID_CONTEXT = 201 };

/* As the driver does in a thread without a context. */
static int query_in_context(sc_gpu_event event)
{
    return fake_get_current() ? fake_gpu_copies.event_query(event) : INVALID_CONTEXT;
}

static int destroy_in_context(sc_gpu_event event)
{
    return fake_get_current() ? fake_gpu_copies.event_destroy(event) : INVALID_CONTEXT;
}

static void open_strict_arena(void)
{
    copies.event_query = query_in_context;
    copies.event_destroy = destroy_in_context;
    open_arena(64 * MIB);
}

START_TEST(a_free_without_a_context_leaves_what_is_being_copied)
{
    room_fix(sizes, SIZES);
    open_strict_arena();
    sc_address block = room_alloc(4 * MIB), other = room_alloc(6 * MIB);

    (void)give(block, 4 * MIB);
    fake_set_current(0);
    room_free(other);
    ck_assert(fake_is_live(block));
    fake_set_current(fake_primary(0));
    ck_assert_uint_eq(memory_now().live, 4 * MIB);
    close_arena();
    sc_engine_finish();
    room_close();
}
END_TEST

START_TEST(a_free_without_a_context_parks_what_has_been_copied)
{
    room_fix(sizes, SIZES);
    open_strict_arena();
    sc_address block = room_alloc(4 * MIB), other = room_alloc(6 * MIB);

    (void)give(block, 4 * MIB);
    fake_gpu_finish();
    fake_set_current(0);
    room_free(other);
    ck_assert_uint_eq(fake_get_current(), 0);
    fake_set_current(fake_primary(0));
    ck_assert_uint_eq(memory_now().idle, 10 * MIB);
    close_arena();
    sc_engine_finish();
    room_close();
}
END_TEST

START_TEST(with_the_cache_off_too_what_was_given_ends_with_its_context)
{
    sc_address block = 0, next = 0;
    sc_context context = fake_new_context(0);

    (void)setenv("SHAPECACHE", "off", 1);
    fake_set_current(context);
    open_arena(64 * MIB);
    ck_assert_int_eq(sc_engine_alloc(&block, 4 * MIB, NULL), SC_CUDA_SUCCESS);
    (void)give(block, 4 * MIB);
    fake_gpu_finish();
    sc_engine_context_ends(context);
    fake_end_context(context);
    fake_revive_context(context, 0); /* the next one has its handle */
    fake_set_current(context);
    ck_assert_int_eq(sc_engine_alloc(&next, 4 * MIB, NULL), SC_CUDA_SUCCESS);
    ck_assert_uint_eq(next, block); /* somebody else's now */
    ck_assert_int_eq(shapecache_arena_destroy(arena), SHAPECACHE_OK);
    ck_assert(fake_is_live(next));
    room_close();
}
END_TEST

START_TEST(with_the_cache_off_too_nothing_can_be_given_twice)
{
    shapecache_ticket ticket;
    sc_address block = 0;

    (void)setenv("SHAPECACHE", "off", 1);
    open_arena(64 * MIB);
    ck_assert_int_eq(sc_engine_alloc(&block, 4 * MIB, NULL), SC_CUDA_SUCCESS);
    (void)give(block, 4 * MIB);
    ck_assert_int_eq(shapecache_arena_offload_free(arena, (void *)(uintptr_t)block, 4 * MIB, 0,
                                                   (void *)stream, &ticket),
                     SHAPECACHE_EPOINTER);
    close_arena();
    ck_assert_uint_eq(fake_live_blocks(), 0);
    room_close();
}
END_TEST

static pthread_t aside;
static sc_address large;

static void *allocate_aside(void *unused)
{
    fake_set_current(fake_primary(0));
    large = room_alloc(700 * MIB);
    return unused;
}

static pthread_mutex_t door = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opens = PTHREAD_COND_INITIALIZER;
static bool is_refused;

/* The driver has no room for the other thread. */
static int refuse_and_tell(sc_address *address, size_t bytes)
{
    int result = fake_driver.mem_alloc(address, bytes);

    if (result == SC_CUDA_OUT_OF_MEMORY) {
        ck_assert_int_eq(pthread_mutex_lock(&door), 0);
        is_refused = true;
        ck_assert_int_eq(pthread_cond_signal(&opens), 0);
        ck_assert_int_eq(pthread_mutex_unlock(&door), 0);
    }
    return result;
}

static int finish_while_another_is_out_of_memory(sc_gpu_event event)
{
    copies.event_finish = fake_gpu_copies.event_finish;
    ck_assert_int_eq(pthread_create(&aside, NULL, allocate_aside, NULL), 0);
    ck_assert_int_eq(pthread_mutex_lock(&door), 0);
    while (!is_refused)
        ck_assert_int_eq(pthread_cond_wait(&opens, &door), 0);
    ck_assert_int_eq(pthread_mutex_unlock(&door), 0);
    return fake_gpu_copies.event_finish(event);
}

/* The one that is waited for is in nobody's list meanwhile. */
START_TEST(out_of_memory_waits_for_what_another_thread_is_waiting_for)
{
    shapecache_arena_config config;
    sc_driver driver = fake_driver;

    driver.mem_alloc = refuse_and_tell;
    host.driver = &driver;
    shapecache_arena_defaults(&config);
    config.capacity = 64 * MIB;
    config.given_most = 0;
    ck_assert_int_eq(shapecache_arena_create(&arena, &config), SHAPECACHE_OK);
    sc_address block = room_alloc(600 * MIB), small = room_alloc(4 * MIB);

    (void)give(block, 4 * MIB);
    copies.event_finish = finish_while_another_is_out_of_memory;
    (void)give(small, 4 * MIB);
    ck_assert_int_eq(pthread_join(aside, NULL), 0);
    ck_assert_uint_ne(large, 0);
    room_free(large);
    close_arena();
    sc_engine_finish();
    room_close();
}
END_TEST

SC_SUITE_WITH("gift", arena_room_enter, NULL, a_free_without_a_context_leaves_what_is_being_copied,
              a_free_without_a_context_parks_what_has_been_copied,
              with_the_cache_off_too_what_was_given_ends_with_its_context,
              with_the_cache_off_too_nothing_can_be_given_twice,
              out_of_memory_waits_for_what_another_thread_is_waiting_for)
