/* SPDX-License-Identifier: MIT
 * What a program gets from the engine, call by call, and what the driver sees of it. */
#include "engine/device.h"
#include "shapecache/shapecache.h"
#include "support/room.h"
#include "support/suite.h"
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

/* 22 MiB in the driver's pages; none is larger than the overhead of 25% leaves room for */
static const uint64_t sizes[] = {3 * MIB, 3 * MIB, 3 * MIB, 3 * MIB, 4 * MIB, 100 * KIB};
enum { SIZES = 6 };

START_TEST(a_served_allocation_asks_the_driver_only_which_context_is_current)
{
    room_fix(sizes, SIZES);
    fake_forget_counts();
    for (int i = 0; i < SIZES; i++)
        (void)room_alloc(sizes[i]);
    ck_assert_uint_eq(fake_count(FAKE_CONTEXT_CURRENT), SIZES);
    ck_assert_uint_eq(fake_calls(), SIZES);
}
END_TEST

START_TEST(a_step_gets_the_addresses_of_the_step_before)
{
    sc_address before[SIZES], after[SIZES];

    room_fix(sizes, SIZES);
    for (int i = 0; i < SIZES; i++)
        before[i] = room_alloc(sizes[i]);
    for (int i = 0; i < SIZES; i++)
        room_free(before[i]);
    for (int i = 0; i < SIZES; i++) {
        after[i] = room_alloc(sizes[i]);
        ck_assert_uint_eq(after[i], before[i]);
    }
}
END_TEST

START_TEST(a_parked_free_waits_once_and_frees_nothing)
{
    room_fix(sizes, SIZES);
    sc_address block = room_alloc(sizes[0]);

    fake_forget_counts();
    room_free(block);
    ck_assert_uint_eq(fake_count(FAKE_CONTEXT_WAIT), 1);
    ck_assert_uint_eq(fake_count(FAKE_MEM_FREE), 0);
    ck_assert_uint_eq(fake_count(FAKE_CONTEXT_PUSH), 0);
    ck_assert_uint_eq(fake_last_waited(), fake_primary(0));
    ck_assert(fake_is_live(block));
}
END_TEST

START_TEST(a_second_free_of_a_parked_block_is_an_error_and_changes_nothing)
{
    room_fix(sizes, SIZES);
    sc_address block = room_alloc(sizes[2]);

    room_free(block);
    fake_forget_counts();
    ck_assert_int_eq(sc_engine_free(block), SC_CUDA_INVALID_VALUE);
    ck_assert_uint_eq(fake_count(FAKE_MEM_FREE), 0);
    ck_assert_uint_eq(room_alloc(sizes[2]), block);
}
END_TEST

START_TEST(a_second_free_of_a_released_block_is_the_drivers_error)
{
    sc_address block = room_alloc(MIB);

    room_free(block);
    ck_assert_int_eq(sc_engine_free(block), SC_CUDA_INVALID_VALUE);
    ck_assert_uint_eq(fake_count(FAKE_MEM_FREE), 2);
}
END_TEST

START_TEST(null_and_inner_addresses_are_the_drivers_business)
{
    sc_address block = room_alloc(MIB);

    ck_assert_int_eq(sc_engine_free(0), SC_CUDA_SUCCESS);
    ck_assert_int_eq(sc_engine_free(block + 512), SC_CUDA_INVALID_VALUE);
    ck_assert_uint_eq(fake_count(FAKE_MEM_FREE), 2);
    ck_assert(fake_is_live(block));
}
END_TEST

START_TEST(no_bytes_and_no_place_for_the_answer_get_the_drivers_answer)
{
    sc_address block = 77;

    ck_assert_int_eq(sc_engine_alloc(&block, 0, NULL), SC_CUDA_INVALID_VALUE);
    ck_assert_int_eq(sc_engine_alloc(NULL, MIB, NULL), SC_CUDA_INVALID_VALUE);
    ck_assert_uint_eq(block, 77);
    ck_assert(!room_has_file("log"));
}
END_TEST

START_TEST(a_new_shape_sends_everything_idle_back_at_the_next_free)
{
    room_fix(sizes, SIZES);
    unsigned idle = fake_live_blocks();

    ck_assert_uint_eq(idle, SIZES);
    fake_forget_counts();
    sc_address block = room_alloc(2 * MIB); /* the cap has room for it */

    ck_assert_uint_eq(fake_count(FAKE_MEM_FREE), 0); /* inside an allocation nothing is freed */
    room_free(block);
    ck_assert_uint_eq(fake_live_blocks(), 0);
    room_batch(sizes, SIZES);
    ck_assert_uint_eq(fake_live_blocks(), 0);
}
END_TEST

static unsigned allocated_before_free;

static void note_allocations(void)
{
    allocated_before_free = fake_count(FAKE_MEM_ALLOC);
}

START_TEST(room_for_a_miss_is_made_before_the_driver_is_asked)
{
    room_fix(sizes, SIZES);
    fake_forget_counts();
    fake_on_free(note_allocations);
    for (int i = 0; i < 3; i++) /* of two misses the second would hold 30 MiB for a peak of 22 */
        (void)room_alloc(4 * MIB);
    fake_on_free(NULL);
    ck_assert_uint_eq(fake_count(FAKE_MEM_ALLOC), 2);
    ck_assert_uint_eq(fake_count(FAKE_MEM_FREE), 1);
    ck_assert_uint_eq(allocated_before_free, 1);
}
END_TEST

START_TEST(an_out_of_memory_gives_back_what_is_idle_and_asks_once_more)
{
    room_fix(sizes, SIZES);
    fake_forget_counts();
    fake_fail_kind(FAKE_MEM_ALLOC, 1, SC_CUDA_OUT_OF_MEMORY);
    sc_address kept = room_alloc(sizes[0]), block = room_alloc(2 * MIB);

    ck_assert_uint_eq(fake_count(FAKE_MEM_ALLOC), 2);
    ck_assert_uint_eq(fake_live_blocks(), 2);
    ck_assert(fake_is_live(kept) && fake_is_live(block));
}
END_TEST

START_TEST(an_out_of_memory_that_stays_is_the_drivers_answer)
{
    sc_address block = 77;

    room_fix(sizes, SIZES);
    fake_forget_counts();
    fake_fail_kind(FAKE_MEM_ALLOC, 2, SC_CUDA_OUT_OF_MEMORY);
    ck_assert_int_eq(sc_engine_alloc(&block, 2 * MIB, NULL), SC_CUDA_OUT_OF_MEMORY);
    ck_assert_uint_eq(block, 77);
    ck_assert_uint_eq(fake_count(FAKE_MEM_ALLOC), 2);
    ck_assert_uint_eq(fake_live_blocks(), 0);
    fake_forget_counts();
    fake_fail_kind(FAKE_MEM_ALLOC, 2, SC_CUDA_OUT_OF_MEMORY);
    ck_assert_int_eq(sc_engine_alloc(&block, 2 * MIB, NULL), SC_CUDA_OUT_OF_MEMORY);
    ck_assert_uint_eq(fake_count(FAKE_MEM_ALLOC), 1); /* nothing idle: nothing to try again for */
}
END_TEST

START_TEST(a_program_that_asks_for_more_than_there_is_and_survives_keeps_its_cache)
{
    static const size_t much[] = {SIZE_MAX, 2048 * MIB, (size_t)1 << 52};
    sc_address block = 77;

    room_fix(sizes, SIZES);
    fake_forget_counts();
    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq(sc_engine_alloc(&block, much[i], NULL), SC_CUDA_OUT_OF_MEMORY);
    ck_assert_uint_eq(fake_count(FAKE_MEM_ALLOC), 3);
    ck_assert_uint_eq(fake_count(FAKE_MEM_FREE), 0);
    room_batch(sizes, SIZES);
    ck_assert_uint_eq(fake_count(FAKE_MEM_ALLOC), 3);
}
END_TEST

START_TEST(another_allocators_out_of_memory_gets_what_is_idle)
{
    ck_assert(!sc_engine_make_room());
    room_fix(sizes, SIZES);
    ck_assert(sc_engine_make_room());
    ck_assert_uint_eq(fake_live_blocks(), 0);
    ck_assert(!sc_engine_make_room());
}
END_TEST

START_TEST(a_wait_that_fails_makes_the_real_free_and_answers_as_it_does)
{
    room_fix(sizes, SIZES);
    sc_address block = room_alloc(sizes[0]);

    fake_forget_counts();
    fake_fail_kind(FAKE_CONTEXT_WAIT, 1, 999);
    room_free(block);
    ck_assert_uint_eq(fake_count(FAKE_MEM_FREE), 1);
    ck_assert(!fake_is_live(block));
    ck_assert_uint_ne(room_alloc(sizes[0]), 0);
}
END_TEST

static void *ask_for_a_new_shape(void *unused)
{
    fake_set_current(fake_primary(0));
    (void)room_alloc(13 * MIB);
    return unused;
}

static void change_phase(void)
{
    pthread_t thread;

    fake_on_wait(NULL);
    ck_assert_int_eq(pthread_create(&thread, NULL, ask_for_a_new_shape, NULL), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

START_TEST(a_free_that_was_waiting_when_the_phase_changed_frees_for_real)
{
    room_fix(sizes, SIZES);
    sc_address block = room_alloc(sizes[0]);

    fake_on_wait(change_phase);
    room_free(block);
    ck_assert(!fake_is_live(block));
    ck_assert_uint_eq(fake_live_blocks(), 1);
}
END_TEST

static sc_address twice;

static void *free_again(void *unused)
{
    ck_assert_int_eq(sc_engine_free(twice), SC_CUDA_INVALID_VALUE);
    return unused;
}

static void free_from_elsewhere(void)
{
    pthread_t thread;

    fake_on_wait(NULL);
    ck_assert_int_eq(pthread_create(&thread, NULL, free_again, NULL), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

START_TEST(a_second_free_while_the_first_waits_is_an_error)
{
    room_fix(sizes, SIZES);
    twice = room_alloc(sizes[0]);
    fake_on_wait(free_from_elsewhere);
    room_free(twice);
    ck_assert_uint_eq(room_alloc(sizes[0]), twice);
}
END_TEST

START_TEST(steps_answer_with_what_is_wrong)
{
    ck_assert_int_eq(sc_engine_step(0), 1); /* nothing has started */
    (void)room_alloc(MIB);
    ck_assert_int_eq(sc_engine_step(0), 0);
    ck_assert_int_eq(sc_engine_step(-1), 0);
    ck_assert_int_eq(sc_engine_step(1), 1); /* has not allocated */
    ck_assert_int_eq(sc_engine_step(-2), 2);
    ck_assert_int_eq(sc_engine_step(1000), 2);
    fake_set_current(fake_primary(1));
    ck_assert_int_eq(sc_engine_step(-1), 1);
    fake_set_current(0);
    ck_assert_int_eq(sc_engine_step(-1), 2);
}
END_TEST

START_TEST(a_note_is_consumed_by_the_next_allocation_alone)
{
    sc_engine_note((const void *)0x10);
    ck_assert(!sc_engine_note_end());
    sc_engine_note((const void *)0x10);
    (void)room_alloc(MIB);
    ck_assert(sc_engine_note_end());
    ck_assert(!sc_engine_note_end());
    (void)room_alloc(MIB);
    ck_assert(!sc_engine_note_end());
}
END_TEST

static void spoil_errno(void)
{
    errno = EBADF;
}

START_TEST(the_place_that_asks_can_be_part_of_the_key_even_when_the_log_does_not_name_it)
{
    const void *here = (const void *)0x10, *there = (const void *)0x20;

    (void)setenv("SHAPECACHE_KEY", "bytes+site", 1);
    (void)setenv("SHAPECACHE_STACKS", "off", 1);
    for (int i = 0; i < 4; i++) {
        sc_address one = room_alloc_from(3 * MIB, here), other = room_alloc_from(3 * MIB, there);

        room_free(one);
        room_free(other);
        ck_assert_int_eq(sc_engine_step(-1), 0);
    }
    sc_address here_first = room_alloc_from(3 * MIB, here);
    sc_address there_first = room_alloc_from(3 * MIB, there);

    room_free(here_first);
    room_free(there_first);
    fake_forget_counts();
    ck_assert_uint_eq(room_alloc_from(3 * MIB, there), there_first);
    ck_assert_uint_eq(room_alloc_from(3 * MIB, here), here_first);
    ck_assert_uint_eq(fake_count(FAKE_MEM_ALLOC), 0);
    (void)room_alloc_from(3 * MIB, there);
    ck_assert_uint_eq(fake_count(FAKE_MEM_ALLOC), 1);
}
END_TEST

START_TEST(errno_is_left_alone)
{
    fake_on_wait(spoil_errno);
    errno = 12345;
    room_fix(sizes, SIZES);
    room_free(room_alloc(7 * MIB));
    ck_assert_int_eq(errno, 12345);
}
END_TEST

SC_SUITE_WITH("serve", room_enter, room_close,
              a_served_allocation_asks_the_driver_only_which_context_is_current,
              a_step_gets_the_addresses_of_the_step_before,
              a_parked_free_waits_once_and_frees_nothing,
              a_second_free_of_a_parked_block_is_an_error_and_changes_nothing,
              a_second_free_of_a_released_block_is_the_drivers_error,
              null_and_inner_addresses_are_the_drivers_business,
              no_bytes_and_no_place_for_the_answer_get_the_drivers_answer,
              a_new_shape_sends_everything_idle_back_at_the_next_free,
              room_for_a_miss_is_made_before_the_driver_is_asked,
              an_out_of_memory_gives_back_what_is_idle_and_asks_once_more,
              an_out_of_memory_that_stays_is_the_drivers_answer,
              a_program_that_asks_for_more_than_there_is_and_survives_keeps_its_cache,
              another_allocators_out_of_memory_gets_what_is_idle,
              a_wait_that_fails_makes_the_real_free_and_answers_as_it_does,
              a_free_that_was_waiting_when_the_phase_changed_frees_for_real,
              a_second_free_while_the_first_waits_is_an_error, steps_answer_with_what_is_wrong,
              a_note_is_consumed_by_the_next_allocation_alone,
              the_place_that_asks_can_be_part_of_the_key_even_when_the_log_does_not_name_it,
              errno_is_left_alone)
