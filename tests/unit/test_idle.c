/* SPDX-License-Identifier: MIT
 * Idle memory that others need: the driver's reserve and the time limit, on a clock of the test's
 * own (linked in the place of clock_gettime). */
#include "support/room.h"
#include "support/suite.h"
#include <time.h>

/* 22 MiB in the driver's pages */
static const uint64_t sizes[] = {3 * MIB, 3 * MIB, 3 * MIB, 3 * MIB, 4 * MIB, 100 * KIB};
enum { SIZES = 6, SECOND = 1000000000 };

static uint64_t now = (uint64_t)1000 * SECOND;

int __wrap_clock_gettime(clockid_t clock, struct timespec *out);

int __wrap_clock_gettime(clockid_t clock, struct timespec *out)
{
    (void)clock;
    out->tv_sec = (time_t)(now / SECOND);
    out->tv_nsec = (long)(now % SECOND);
    return 0;
}

/* A free that touches no cached shape. */
static void free_something_small(void)
{
    room_free(room_alloc(512));
}

static void expect_nothing_idle(void)
{
    ck_assert_uint_eq(fake_live_blocks(), 0);
}

START_TEST(idle_memory_unused_for_ten_seconds_goes_back_at_the_next_free)
{
    room_fix(sizes, SIZES);
    free_something_small();
    now += (uint64_t)11 * SECOND;
    fake_forget_counts();
    sc_address small = room_alloc(512);

    ck_assert_uint_eq(fake_count(FAKE_MEM_FREE), 0); /* never inside an allocation */
    room_free(small);
    ck_assert_uint_eq(fake_count(FAKE_MEM_FREE), SIZES);
    ck_assert_uint_eq(fake_live_blocks(), 1); /* the one just freed */
    sc_engine_finish();
    lines log = room_log();

    ck_assert_uint_eq(lines_u64(lines_of(&log, "end", 0), "expired"), SIZES);
    ck_assert_uint_eq(lines_u64(lines_of(&log, "end", 0), "evicted"), 0);
    ck_assert_uint_eq(lines_u64(lines_of(&log, "end", 0), "malloc_frees"), 0);
    lines_release(&log);
}
END_TEST

START_TEST(or_when_the_program_waits_for_the_device)
{
    room_fix(sizes, SIZES);
    now += (uint64_t)11 * SECOND;
    sc_engine_waited(999, 0); /* did not wait */
    ck_assert_uint_eq(fake_live_blocks(), SIZES);
    sc_engine_waited(SC_CUDA_SUCCESS, 0);
    expect_nothing_idle();
}
END_TEST

START_TEST(or_for_a_context_that_it_names)
{
    room_fix(sizes, SIZES);
    now += (uint64_t)11 * SECOND;
    fake_set_current(0);
    sc_engine_waited(SC_CUDA_SUCCESS, fake_primary(1)); /* one that never allocated */
    sc_engine_waited(SC_CUDA_SUCCESS, 0);
    ck_assert_uint_eq(fake_live_blocks(), SIZES);
    sc_engine_waited(SC_CUDA_SUCCESS, fake_primary(0));
    expect_nothing_idle();
}
END_TEST

START_TEST(or_at_the_end_of_a_step)
{
    room_fix(sizes, SIZES);
    now += (uint64_t)11 * SECOND;
    ck_assert_int_eq(sc_engine_step(-1), 0);
    expect_nothing_idle();
}
END_TEST

START_TEST(but_not_while_a_capture_is_open)
{
    room_fix(sizes, SIZES);
    now += (uint64_t)11 * SECOND;
    fake_forget_counts();
    sc_engine_capture_begin();
    sc_engine_waited(SC_CUDA_SUCCESS, 0);
    (void)sc_engine_step(-1);
    ck_assert_uint_eq(fake_count(FAKE_MEM_FREE) + fake_count(FAKE_MEM_INFO), 0);
    sc_engine_capture_end();
    sc_engine_waited(SC_CUDA_SUCCESS, 0);
    expect_nothing_idle();
}
END_TEST

START_TEST(what_each_step_uses_stays_however_long_the_run)
{
    room_fix(sizes, SIZES);
    fake_forget_counts();
    for (int i = 0; i < 100; i++) {
        now += SECOND;
        room_batch(sizes, SIZES);
    }
    ck_assert_uint_eq(fake_count(FAKE_MEM_ALLOC) + fake_count(FAKE_MEM_FREE), 0);
}
END_TEST

START_TEST(max_idle_of_zero_keeps_it)
{
    (void)setenv("SHAPECACHE_MAX_IDLE", "0", 1);
    room_fix(sizes, SIZES);
    now += (uint64_t)86400 * SECOND;
    sc_engine_waited(SC_CUDA_SUCCESS, 0);
    ck_assert_uint_eq(fake_live_blocks(), SIZES);
}
END_TEST

START_TEST(while_another_process_needs_memory_idle_memory_goes_back)
{
    room_fix(sizes, SIZES);
    fake_take_memory((1024 - 32 - 20) * MIB); /* the reserve is 1/32: about 5 short */
    now += SECOND;
    ck_assert_int_eq(sc_engine_step(-1), 0);
    uint64_t kept = fake_live_bytes();

    ck_assert_uint_le(kept, 20 * MIB);
    ck_assert_uint_ge(kept, 10 * MIB);
    fake_take_memory(1000 * MIB);
    ck_assert_int_eq(sc_engine_step(-1), 0);
    ck_assert_uint_eq(fake_live_bytes(), kept); /* not asked yet */
    now += SECOND;
    ck_assert_int_eq(sc_engine_step(-1), 0);
    expect_nothing_idle();
    fake_take_memory(0);
    now += SECOND;
    for (int i = 0; i < 6; i++) /* giving all of it back every step was thrash */
        room_batch(sizes, SIZES);
    ck_assert_uint_eq(fake_live_blocks(), SIZES);
}
END_TEST

START_TEST(the_driver_is_asked_at_most_once_a_second)
{
    room_fix(sizes, SIZES);
    fake_forget_counts();
    for (int i = 0; i < 100; i++) {
        now += SECOND / 10;
        room_batch(sizes, SIZES);
        sc_engine_waited(SC_CUDA_SUCCESS, 0);
    }
    ck_assert_uint_le(fake_count(FAKE_MEM_INFO), 11);
    ck_assert_uint_ge(fake_count(FAKE_MEM_INFO), 9);
}
END_TEST

START_TEST(a_reserve_that_was_set_is_taken_as_it_is)
{
    (void)setenv("SHAPECACHE_RESERVE", "2GiB", 1);
    for (int i = 0; i < 8; i++)
        room_batch(sizes, SIZES);
    expect_nothing_idle();
}
END_TEST

START_TEST(a_driver_that_does_not_say_what_is_free_changes_nothing)
{
    room_fix(sizes, SIZES);
    fake_take_memory(1000 * MIB);
    fake_fail_kind(FAKE_MEM_INFO, 1, 999);
    now += SECOND;
    ck_assert_int_eq(sc_engine_step(-1), 0);
    ck_assert_uint_eq(fake_live_blocks(), SIZES);
}
END_TEST

SC_SUITE_WITH("idle", room_enter, room_close,
              idle_memory_unused_for_ten_seconds_goes_back_at_the_next_free,
              or_when_the_program_waits_for_the_device, or_for_a_context_that_it_names,
              or_at_the_end_of_a_step, but_not_while_a_capture_is_open,
              what_each_step_uses_stays_however_long_the_run, max_idle_of_zero_keeps_it,
              while_another_process_needs_memory_idle_memory_goes_back,
              the_driver_is_asked_at_most_once_a_second, a_reserve_that_was_set_is_taken_as_it_is,
              a_driver_that_does_not_say_what_is_free_changes_nothing)
