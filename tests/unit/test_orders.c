/* SPDX-License-Identifier: MIT
 * Things in one given order: what a thread does in the middle of another's driver call, what comes
 * before anything else, what comes during a capture. */
#include "engine/device.h"
#include "engine/thread.h"
#include "support/room.h"
#include "support/suite.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

/* 13 MiB, 16 in the driver's pages; with a batch idle there is no room for a large block */
static const uint64_t sizes[] = {3 * MIB, 3 * MIB, 3 * MIB, 4 * MIB};
enum { SIZES = 4, MEMORY = 24 };

static void open_room(void)
{
    room_open(MEMORY * MIB);
}

static pthread_t other;
static atomic_uint frees, start_at;
static sc_address large;
static int result;
static bool has_room;

static void *allocate_large(void *unused)
{
    fake_set_current(fake_primary(0));
    result = sc_engine_alloc(&large, 20 * MIB, NULL);
    return unused;
}

/* As another allocator's hook does. */
static void *ask_for_room(void *unused)
{
    fake_set_current(fake_primary(0));
    has_room = sc_engine_make_room();
    return unused;
}

static void *(*work)(void *);

static uint64_t count_ooms(void)
{
    sc_device *device = sc_device_by_ordinal(0);
    sc_cache_totals totals;

    sc_lock(&device->lock);
    sc_cache_read_totals(device->cache, &totals);
    sc_unlock(&device->lock);
    return totals.ooms;
}

/* In the middle of a give-back: everything idle is on its way, nothing is back yet. */
static void let_another_run_out(void)
{
    if (atomic_fetch_add(&frees, 1) + 1 != atomic_load(&start_at))
        return;
    ck_assert_int_eq(pthread_create(&other, NULL, work, NULL), 0);
    while (count_ooms() == 0)
        (void)sched_yield();
}

/* A new shape: its free gives everything back. */
static void give_back_while(void *(*other_work)(void *))
{
    room_fix(sizes, SIZES);
    sc_address block = room_alloc(MIB);

    work = other_work;
    atomic_store(&start_at, 2); /* the first is the program's own */
    fake_on_free(let_another_run_out);
    room_free(block);
    fake_on_free(NULL);
    ck_assert_uint_ge(atomic_load(&frees), SIZES);
    ck_assert_int_eq(pthread_join(other, NULL), 0);
}

START_TEST(what_another_thread_gives_back_is_waited_for)
{
    give_back_while(allocate_large);
    ck_assert_int_eq(result, SC_CUDA_SUCCESS);
    room_free(large);
    sc_engine_finish();
    lines log = room_log();

    ck_assert_uint_eq(lines_sum(&log, "oom", "retried"), 1);
    ck_assert_uint_eq(lines_sum(&log, "oom", "result"), SC_CUDA_SUCCESS);
    lines_release(&log);
}
END_TEST

START_TEST(so_it_is_for_other_allocators)
{
    give_back_while(ask_for_room);
    ck_assert(has_room);
    ck_assert_uint_eq(fake_live_blocks(), 0);
}
END_TEST

/* Peer access comes first in a program, and what reaches others' memory may never allocate. */
START_TEST(a_parked_free_waits_for_a_context_that_only_reaches_it)
{
    sc_context reader = fake_primary(1);

    fake_set_current(reader);
    sc_engine_peer_enabled();
    fake_set_current(fake_primary(0));
    room_fix(sizes, SIZES);
    sc_address block = room_alloc(sizes[0]);

    fake_forget_counts();
    room_free(block);
    ck_assert_uint_eq(fake_count(FAKE_CONTEXT_WAIT), 2);
    ck_assert_uint_eq(fake_last_waited(), reader);
    ck_assert_uint_eq(fake_get_current(), fake_primary(0));
    sc_engine_context_ends(reader);
    fake_end_context(reader);
    fake_forget_counts();
    room_free(room_alloc(sizes[0]));
    ck_assert_uint_eq(fake_count(FAKE_CONTEXT_WAIT), 1);
    ck_assert_uint_eq(fake_count(FAKE_MEM_FREE), 0);
}
END_TEST

START_TEST(a_peer_that_allocates_later_is_cached_too)
{
    fake_set_current(fake_primary(1));
    sc_engine_peer_enabled();
    room_fix(sizes, SIZES);
    ck_assert_ptr_nonnull(sc_device_by_ordinal(1));
}
END_TEST

START_TEST(what_another_thread_gets_of_a_block_freed_elsewhere_is_no_other_door)
{
    sc_address block = room_alloc(MIB);

    sc_engine_frees_elsewhere(block);
    ck_assert_int_eq(fake_driver.mem_free(block), SC_CUDA_SUCCESS);
    ck_assert_uint_eq(room_alloc(MIB), block);
    char *said = room_stderr();

    ck_assert_str_eq(said, "");
    free(said);
}
END_TEST

START_TEST(a_free_elsewhere_that_fails_leaves_the_block_to_the_driver)
{
    room_fix(sizes, SIZES);
    sc_address block = room_alloc(sizes[0]);

    sc_engine_frees_elsewhere(block);
    room_free(block);
    ck_assert(!fake_is_live(block));
}
END_TEST

/* Nothing is asked of the driver and no file is opened while a capture may forbid it. */
START_TEST(nothing_starts_during_a_capture)
{
    sc_engine_capture_begin();
    fake_forget_counts();
    sc_address block = room_alloc(MIB);

    ck_assert_uint_eq(fake_calls(), 1);
    ck_assert(!room_has_file("log"));
    sc_engine_capture_end();
    room_free(block);
    room_free(room_alloc(MIB));
    ck_assert(room_has_file("log"));
    sc_engine_capture_begin();
    fake_set_current(fake_primary(1));
    fake_forget_counts();
    block = room_alloc(MIB);
    ck_assert_uint_eq(fake_calls(), 2); /* which context it is, and the allocation */
    sc_engine_capture_end();
    room_free(block);
}
END_TEST

/* Another thread's, which allows a free, and would be spoilt by a wait. */
START_TEST(a_capture_that_begins_during_a_free_is_not_waited_in)
{
    fake_set_current(fake_primary(1));
    sc_engine_peer_enabled();
    fake_set_current(fake_primary(0));
    room_fix(sizes, SIZES);
    sc_address block = room_alloc(sizes[0]);

    fake_forget_counts();
    fake_on_wait(sc_engine_capture_begin);
    room_free(block);
    fake_on_wait(NULL);
    ck_assert_uint_eq(fake_count(FAKE_CONTEXT_WAIT), 1); /* of two contexts */
    ck_assert_uint_eq(fake_get_current(), fake_primary(0));
    ck_assert(!fake_is_live(block));
    sc_engine_capture_end();
}
END_TEST

SC_SUITE_WITH("orders", open_room, room_close, what_another_thread_gives_back_is_waited_for,
              so_it_is_for_other_allocators, a_parked_free_waits_for_a_context_that_only_reaches_it,
              a_peer_that_allocates_later_is_cached_too,
              what_another_thread_gets_of_a_block_freed_elsewhere_is_no_other_door,
              a_free_elsewhere_that_fails_leaves_the_block_to_the_driver,
              nothing_starts_during_a_capture, a_capture_that_begins_during_a_free_is_not_waited_in)
