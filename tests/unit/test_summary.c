/* SPDX-License-Identifier: MIT
 * The last words of a run on stderr. */
#include "engine/summary.h"
#include "support/room.h"
#include "support/suite.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZES = 4, LINES_MOST = 32 };

/* 22 MiB in the driver's pages; none is larger than the overhead of 25% leaves room for */
static const uint64_t sizes[SIZES] = {4 * MIB, 4 * MIB, 6 * MIB, 8 * MIB};
static const void *const here = (const void *)0x1a2b;

static char *said;
static const char *line[LINES_MOST]; /* without what names the process */
static unsigned count;

/* What was said, line by line. */
static void read_lines(void)
{
    char *save = NULL;

    free(said);
    said = room_stderr();
    count = 0;
    for (char *at = strtok_r(said, "\n", &save); at; at = strtok_r(NULL, "\n", &save)) {
        ck_assert_uint_lt(count, LINES_MOST);
        ck_assert(strncmp(at, "shapecache[", 11) == 0 && strstr(at, "] "));
        line[count++] = strstr(at, "] ") + 2;
    }
}

static void leave(void)
{
    free(said);
    said = NULL;
    room_close();
}

START_TEST(there_are_four_lines_and_the_last_is_the_command_to_type)
{
    room_fix(sizes, SIZES);
    sc_engine_finish();
    read_lines();
    ck_assert_uint_eq(count, 5); /* the first is of the run: that the set is fixed */
    ck_assert_ptr_eq(strstr(line[1], "20 requests, "), line[1]);
    ck_assert_ptr_nonnull(strstr(line[1], "% hits while fixed, fixed in 3 of 5 steps; "));
    ck_assert_ptr_nonnull(strstr(line[1], " s in driver allocations and frees, saved "));
    ck_assert_ptr_eq(
        strstr(line[2], "held at most 22.0 MiB, live and idle, for 22.0 MiB live at most; "),
        line[2]);
    ck_assert_str_eq(line[3], "no fallback, fixed to the end");
    ck_assert_str_eq(line[4], "next: shapecache report log");
}
END_TEST

START_TEST(the_marks_are_those_of_a_moment_that_no_sample_would_have_seen)
{
    room_fix(sizes, SIZES);
    sc_address brief = room_alloc(40 * MIB);

    room_free(brief);
    room_batch(sizes, SIZES);
    sc_engine_finish();
    read_lines();
    lines log = room_log();
    const char *end = lines_of(&log, "end", 0);

    ck_assert_uint_eq(lines_u64(end, "live_peak"), 40 * MIB);
    ck_assert_ptr_nonnull(strstr(line[count - 3], " for 40.0 MiB live at most; "));
    lines_release(&log);
}
END_TEST

START_TEST(what_is_estimated_is_called_an_estimate)
{
    room_fix(sizes, SIZES);
    sc_engine_finish();
    read_lines();
    const char *saved = strstr(line[1], ", saved ");

    ck_assert_ptr_nonnull(saved);
    ck_assert_str_eq(strstr(saved, " s ("), " s (an estimate)");
}
END_TEST

START_TEST(times_are_rounded_and_not_cut)
{
    sc_cache_totals totals = {
        .step = 1,
        .shapes = 1,
        .all = {.requests = 1, .driver_ns = 94999999, .wait_ns = 99994238},
    };

    sc_summary_say(&totals, 1, &(sc_refusals){.count = 0}, &(sc_fallback){.is_there = false});
    read_lines();
    ck_assert_uint_eq(count, 4);
    ck_assert_ptr_nonnull(strstr(line[0], "; 0.09 s in driver allocations"));
    ck_assert_ptr_nonnull(strstr(line[1], "; frees waited 0.10 s"));
}
END_TEST

START_TEST(what_parked_frees_waited_is_not_saved)
{
    sc_cache_totals totals = {
        .step = 1,
        .shapes = 1,
        .all = {.requests = 20, .hits = 10, .driver_allocs = 10, .driver_ns = 1000000000},
    };
    static const struct {
        uint64_t wait_ns;
        const char *saved;
    } rows[] = {
        {0, ", saved 1.00 s (an estimate)"},
        {400000000, ", saved 0.60 s (an estimate)"},
        {1500000000, ", saved 0.00 s (an estimate)"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        totals.all.wait_ns = rows[i].wait_ns;
        sc_summary_say(&totals, 1, &(sc_refusals){.count = 0}, &(sc_fallback){.step = 0});
        read_lines();
        ck_assert_ptr_nonnull(strstr(line[count - 4], rows[i].saved));
    }
}
END_TEST

START_TEST(the_last_fallback_is_told_with_its_cause)
{
    room_fix(sizes, SIZES);
    room_free(room_alloc_from(2 * MIB, here));
    sc_engine_finish();
    read_lines();
    ck_assert_str_eq(line[count - 2],
                     "1 fallback, at step 5: new shape 2.00 MiB from train+0x1a2b");
}
END_TEST

START_TEST(of_several_devices_the_last_fallback_in_time_is_told)
{
    room_fix(sizes, SIZES);
    fake_set_current(fake_primary(1));
    room_fix(sizes, SIZES);
    room_free(room_alloc_from(3 * MIB, here));
    fake_set_current(fake_primary(0));
    room_free(room_alloc_from(2 * MIB, here));
    sc_engine_finish();
    read_lines();
    ck_assert_str_eq(line[count - 2],
                     "2 fallbacks, the last at step 5: new shape 2.00 MiB from train+0x1a2b");
}
END_TEST

START_TEST(a_set_that_never_was_one_is_told)
{
    for (uint64_t i = 1; i < 4; i++)
        room_batch(&(uint64_t){i * MIB}, 1);
    sc_engine_finish();
    read_lines();
    ck_assert_uint_eq(count, 4);
    ck_assert_str_eq(line[2], "no fallback; never fixed: 3 shapes in 3 steps");
}
END_TEST

START_TEST(other_ranks_than_the_first_say_one_line)
{
    (void)setenv("RANK", "3", 1);
    room_fix(sizes, SIZES);
    sc_engine_finish();
    read_lines();
    ck_assert_uint_eq(count, 2);
    ck_assert_ptr_nonnull(strstr(line[1], "; see shapecache report log"));
}
END_TEST

START_TEST(what_the_user_chose_holds_on_every_rank)
{
    (void)setenv("RANK", "3", 1);
    (void)setenv("SHAPECACHE_SUMMARY", "full", 1);
    room_fix(sizes, SIZES);
    sc_engine_finish();
    read_lines();
    ck_assert_uint_eq(count, 5);
}
END_TEST

START_TEST(off_says_nothing)
{
    (void)setenv("SHAPECACHE_SUMMARY", "off", 1);
    room_fix(sizes, SIZES);
    sc_engine_finish();
    read_lines();
    ck_assert_uint_eq(count, 0);
}
END_TEST

START_TEST(without_a_log_no_command_is_named_that_would_need_one)
{
    (void)setenv("SHAPECACHE_LOG", "off", 1);
    room_fix(sizes, SIZES);
    sc_engine_finish();
    read_lines();
    ck_assert_uint_eq(count, 5);
    ck_assert_ptr_null(strstr(line[4], "report"));
    ck_assert_ptr_nonnull(strstr(line[4], "SHAPECACHE_LOG"));
}
END_TEST

SC_SUITE_WITH("summary", room_enter, leave,
              there_are_four_lines_and_the_last_is_the_command_to_type,
              the_marks_are_those_of_a_moment_that_no_sample_would_have_seen,
              what_is_estimated_is_called_an_estimate, times_are_rounded_and_not_cut,
              what_parked_frees_waited_is_not_saved, the_last_fallback_is_told_with_its_cause,
              of_several_devices_the_last_fallback_in_time_is_told,
              a_set_that_never_was_one_is_told, other_ranks_than_the_first_say_one_line,
              what_the_user_chose_holds_on_every_rank, off_says_nothing,
              without_a_log_no_command_is_named_that_would_need_one)
