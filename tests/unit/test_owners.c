/* SPDX-License-Identifier: MIT
 * The engine between contexts, devices, captures and doors: whose a block is, and whom its free
 * waits for. */
#include "engine/device.h"
#include "shapecache/shapecache.h"
#include "support/room.h"
#include "support/suite.h"
#include <pthread.h>
#include <stdlib.h>

/* 22 MiB in the driver's pages; none is larger than the overhead of 25% leaves room for */
static const uint64_t sizes[] = {3 * MIB, 3 * MIB, 3 * MIB, 3 * MIB, 4 * MIB, 100 * KIB};
enum { SIZES = 6 };

START_TEST(a_thread_that_changes_devices_at_every_call_is_served_as_cheaply)
{
    for (int device = 1; device >= 0; device--) {
        fake_set_current(fake_primary(device));
        room_fix(sizes, SIZES);
    }
    fake_forget_counts();
    for (int i = 0; i < SIZES; i++) {
        fake_set_current(fake_primary(i % 2));
        (void)room_alloc(sizes[i]);
    }
    ck_assert_uint_eq(fake_count(FAKE_CONTEXT_CURRENT), SIZES);
    ck_assert_uint_eq(fake_calls(), SIZES);
}
END_TEST

START_TEST(a_parked_free_waits_on_the_blocks_context_whichever_is_current)
{
    const sc_context elsewhere[] = {0, fake_primary(1)};

    room_fix(sizes, SIZES);
    for (int i = 0; i < 2; i++) {
        sc_address block = room_alloc(sizes[0]);

        fake_set_current(elsewhere[i]);
        fake_forget_counts();
        room_free(block);
        ck_assert_uint_eq(fake_count(FAKE_CONTEXT_WAIT), 1);
        ck_assert_uint_eq(fake_last_waited(), fake_primary(0));
        ck_assert_uint_eq(fake_get_current(), elsewhere[i]);
        ck_assert_uint_eq(fake_count(FAKE_MEM_FREE), 0);
        fake_set_current(fake_primary(0));
    }
}
END_TEST

START_TEST(with_peer_access_a_parked_free_waits_for_every_context_that_allocated)
{
    room_fix(sizes, SIZES);
    fake_set_current(fake_primary(1));
    (void)room_alloc(MIB);
    fake_set_current(fake_primary(0));
    sc_address block = room_alloc(sizes[0]);

    sc_engine_peer_enabled();
    fake_forget_counts();
    room_free(block);
    ck_assert_uint_eq(fake_count(FAKE_CONTEXT_WAIT), 2);
    ck_assert_uint_eq(fake_last_waited(), fake_primary(1));
    ck_assert_uint_eq(fake_get_current(), fake_primary(0));
}
END_TEST

START_TEST(without_a_context_the_driver_answers_and_nothing_starts)
{
    sc_address block = 77;

    fake_set_current(0);
    ck_assert_int_eq(sc_engine_alloc(&block, MIB, NULL), 201);
    ck_assert_uint_eq(block, 77);
    ck_assert(!room_has_file("log"));
}
END_TEST

static void *end_context(void *unused)
{
    sc_engine_context_ends(fake_primary(0));
    fake_end_context(fake_primary(0));
    return unused;
}

static void lose_context(void)
{
    pthread_t thread;

    fake_on_wait(NULL);
    ck_assert_int_eq(pthread_create(&thread, NULL, end_context, NULL), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

START_TEST(a_context_that_ends_during_a_wait_leaves_nothing_to_free)
{
    room_fix(sizes, SIZES);
    sc_address block = room_alloc(sizes[0]);

    fake_on_wait(lose_context);
    fake_forget_counts();
    (void)sc_engine_free(block);
    ck_assert_uint_eq(fake_count(FAKE_MEM_FREE), 0);
}
END_TEST

START_TEST(during_a_capture_everything_goes_to_the_driver_and_nothing_waits)
{
    room_fix(sizes, SIZES);
    sc_address block = room_alloc(sizes[0]);

    sc_engine_capture_begin();
    fake_forget_counts();
    sc_address other = room_alloc(sizes[1]);

    ck_assert_uint_eq(fake_count(FAKE_MEM_ALLOC), 1);
    room_free(block);
    room_free(other);
    ck_assert_int_eq(sc_engine_step(0), 0);
    ck_assert(!sc_engine_make_room());
    ck_assert_uint_eq(fake_count(FAKE_MEM_FREE), 2);
    ck_assert_uint_eq(fake_count(FAKE_CONTEXT_WAIT), 0);
    ck_assert_uint_eq(fake_live_blocks(), SIZES - 1);
    sc_engine_capture_end();
    sc_engine_capture_end(); /* one whose beginning nobody saw */
    fake_forget_counts();
    (void)room_alloc(sizes[1]);
    ck_assert_uint_eq(fake_count(FAKE_MEM_ALLOC), 0);
}
END_TEST

START_TEST(an_out_of_memory_during_a_capture_frees_nothing)
{
    sc_address block;

    room_fix(sizes, SIZES);
    sc_engine_capture_begin();
    fake_forget_counts();
    fake_fail_kind(FAKE_MEM_ALLOC, 1, SC_CUDA_OUT_OF_MEMORY);
    ck_assert_int_eq(sc_engine_alloc(&block, 2 * MIB, NULL), SC_CUDA_OUT_OF_MEMORY);
    ck_assert_uint_eq(fake_count(FAKE_MEM_ALLOC), 1);
    ck_assert_uint_eq(fake_count(FAKE_MEM_FREE), 0);
}
END_TEST

START_TEST(what_dies_with_its_context_is_never_handed_out_again)
{
    sc_address block;

    room_fix(sizes, SIZES);
    sc_engine_context_ends(fake_primary(0));
    fake_end_context(fake_primary(0));
    fake_set_current(fake_new_context(0));
    fake_forget_counts();
    block = room_alloc(sizes[0]);
    ck_assert_uint_eq(fake_count(FAKE_MEM_ALLOC), 1);
    room_free(block);
    ck_assert_int_eq(sc_engine_step(-1), 0);
}
END_TEST

START_TEST(a_handle_that_comes_back_is_a_context_of_the_device_it_is_on_now)
{
    room_fix(sizes, SIZES);
    sc_engine_context_ends(fake_primary(0));
    fake_end_context(fake_primary(0));
    fake_revive_context(fake_primary(0), 1);
    fake_set_current(fake_primary(0));
    ck_assert_int_eq(sc_engine_step(1), SHAPECACHE_EOFF);
    room_free(room_alloc(sizes[0]));
    ck_assert_int_eq(sc_engine_step(1), SHAPECACHE_OK);
}
END_TEST

START_TEST(a_context_more_than_can_be_told_apart_is_not_cached)
{
    enum { TIMES = 6 };

    for (int i = 0; i < SC_CONTEXT_MOST; i++) {
        fake_set_current(fake_new_context(0));
        room_free(room_alloc(MIB));
    }
    fake_set_current(fake_new_context(0));
    fake_forget_counts();
    for (int i = 0; i < TIMES; i++) {
        room_free(room_alloc(MIB));
        ck_assert_int_eq(sc_engine_step(0), SHAPECACHE_OK);
    }
    ck_assert_uint_eq(fake_count(FAKE_MEM_ALLOC), TIMES);
    ck_assert_uint_eq(fake_count(FAKE_MEM_FREE), TIMES);
}
END_TEST

START_TEST(exported_memory_is_really_freed)
{
    room_fix(sizes, SIZES);
    sc_address block = room_alloc(sizes[0]);

    sc_engine_exported(block + 4096);
    room_free(block);
    ck_assert(!fake_is_live(block));
}
END_TEST

START_TEST(memory_freed_by_another_door_is_forgotten)
{
    room_fix(sizes, SIZES);
    sc_address block = room_alloc(sizes[0]);

    ck_assert_int_eq(fake_driver.mem_free(block), SC_CUDA_SUCCESS);
    sc_engine_frees_elsewhere(block);
    ck_assert_int_eq(sc_engine_free(block), SC_CUDA_INVALID_VALUE);
}
END_TEST

START_TEST(a_block_is_found_from_a_thread_on_another_device)
{
    room_fix(sizes, SIZES);
    sc_address block = room_alloc(sizes[0]);

    fake_set_current(fake_primary(1));
    room_free(room_alloc(MIB));
    fake_forget_counts();
    room_free(block);
    ck_assert_uint_eq(fake_last_waited(), fake_primary(0));
    ck_assert_uint_eq(fake_count(FAKE_MEM_FREE), 0);
}
END_TEST

START_TEST(devices_have_caches_of_their_own)
{
    room_fix(sizes, SIZES);
    fake_set_current(fake_primary(1));
    fake_forget_counts();
    room_free(room_alloc(sizes[0])); /* new here, known there */
    ck_assert_uint_eq(fake_count(FAKE_MEM_ALLOC), 1);
    ck_assert_uint_eq(fake_count(FAKE_MEM_FREE), 1);
    fake_set_current(fake_primary(0));
    fake_forget_counts();
    (void)room_alloc(sizes[0]);
    ck_assert_uint_eq(fake_count(FAKE_MEM_ALLOC), 0);
}
END_TEST

SC_SUITE_WITH("owners", room_enter, room_close,
              a_thread_that_changes_devices_at_every_call_is_served_as_cheaply,
              a_parked_free_waits_on_the_blocks_context_whichever_is_current,
              with_peer_access_a_parked_free_waits_for_every_context_that_allocated,
              without_a_context_the_driver_answers_and_nothing_starts,
              a_context_that_ends_during_a_wait_leaves_nothing_to_free,
              during_a_capture_everything_goes_to_the_driver_and_nothing_waits,
              an_out_of_memory_during_a_capture_frees_nothing,
              what_dies_with_its_context_is_never_handed_out_again,
              a_handle_that_comes_back_is_a_context_of_the_device_it_is_on_now,
              a_context_more_than_can_be_told_apart_is_not_cached, exported_memory_is_really_freed,
              memory_freed_by_another_door_is_forgotten,
              a_block_is_found_from_a_thread_on_another_device, devices_have_caches_of_their_own)
