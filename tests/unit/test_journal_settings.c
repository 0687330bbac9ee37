/* SPDX-License-Identifier: MIT
 * What a run leaves behind when a setting changes it, each in a room that opens with that setting.
 */
#include "engine/logbook.h"
#include "support/room.h"
#include "support/suite.h"
#include <string.h>

/* 22 MiB in the driver's pages; none is larger than the overhead of 25% leaves room for */
static const uint64_t sizes[] = {3 * MIB, 3 * MIB, 3 * MIB, 3 * MIB, 4 * MIB, 100 * KIB};
enum { SIZES = 6 };

START_TEST(without_stacks_no_site_is_named)
{
    room_batch(sizes, SIZES);
    sc_engine_finish();
    lines log = room_log();

    ck_assert_uint_eq(lines_count(&log, "site"), 0);
    for (size_t i = 0; i < log.count; i++)
        lines_expect_absent(log.line[i], "site");
    lines_release(&log);
}
END_TEST

START_TEST(a_summary_that_is_not_wanted_is_not_written)
{
    room_fix(sizes, SIZES);
    room_free(room_alloc(2 * MIB));
    sc_engine_finish();
    char *said = room_stderr();
    lines log = room_log();

    ck_assert_str_eq(said, "");
    ck_assert_uint_eq(lines_count(&log, "phase"), 2);
    lines_release(&log);
    free(said);
}
END_TEST

START_TEST(and_without_a_log_either_a_run_is_silent_but_for_warnings)
{
    room_fix(sizes, SIZES);
    sc_logbook_warn("something is wrong");
    sc_engine_finish();
    char *said = room_stderr();

    ck_assert_ptr_nonnull(strstr(said, "] warn: something is wrong\n"));
    ck_assert_ptr_eq(strchr(said, '\n'), said + strlen(said) - 1); /* one line */
    ck_assert(!room_has_file("log"));
    free(said);
}
END_TEST

START_TEST(steps_that_the_program_was_to_name_and_never_did_are_warned_of)
{
    for (int i = 0; i < 100; i++)
        room_free(room_alloc(MIB));
    sc_engine_finish();
    char *said = room_stderr();
    lines log = room_log();

    ck_assert_ptr_nonnull(strstr(said, "] warn: SHAPECACHE_STEP=api, but the program never"));
    ck_assert_uint_eq(lines_count(&log, "warn"), 1);
    free(said);
    lines_release(&log);
}
END_TEST

START_TEST(once_it_has_named_one_nothing_is_said_of_that)
{
    room_batch(sizes, SIZES);
    for (int i = 0; i < 100; i++)
        room_free(room_alloc(MIB));
    sc_engine_finish();
    lines log = room_log();

    ck_assert_uint_eq(lines_count(&log, "warn"), 0);
    lines_release(&log);
}
END_TEST

START_TEST(at_level_event_every_allocation_and_free_is_a_row)
{
    room_fix(sizes, SIZES);
    sc_engine_finish();
    lines log = room_log();

    ck_assert_uint_eq(lines_count(&log, "alloc"), 5 * SIZES);
    ck_assert_uint_eq(lines_count(&log, "free"), 5 * SIZES);
    ck_assert_uint_eq(lines_sum(&log, "alloc", "hit"), 2 * SIZES);
    ck_assert_uint_eq(lines_sum(&log, "free", "hit"), 3 * SIZES);
    ck_assert_uint_eq(lines_u64(lines_of(&log, "alloc", 0), "bytes"), 3 * MIB);
    lines_expect(lines_of(&log, "alloc", 0), "address", "\"0x7f0000000000\"");
    lines_release(&log);
}
END_TEST

START_TEST(at_level_summary_there_are_no_step_rows)
{
    room_fix(sizes, SIZES);
    sc_engine_finish();
    lines log = room_log();

    ck_assert_uint_eq(lines_count(&log, "step"), 0);
    ck_assert_uint_eq(lines_count(&log, "phase"), 1);
    ck_assert_uint_eq(lines_count(&log, "end"), 1);
    lines_release(&log);
}
END_TEST

START_TEST(log_every_writes_every_nth_step)
{
    for (int i = 0; i < 10; i++)
        room_batch(sizes, SIZES);
    sc_engine_finish();
    lines log = room_log();

    ck_assert_uint_eq(lines_count(&log, "step"), 4);
    ck_assert_uint_eq(lines_u64(lines_of(&log, "step", 3), "step"), 9);
    lines_release(&log);
}
END_TEST

START_TEST(without_a_log_the_cache_works_and_speaks_on_stderr)
{
    room_fix(sizes, SIZES);
    sc_engine_finish();
    char *said = room_stderr();

    ck_assert_ptr_nonnull(strstr(said, "] fixed at step 2: "));
    ck_assert_ptr_null(strstr(said, "(log"));
    free(said);
    ck_assert(!room_has_file("log") && !room_has_file("off"));
}
END_TEST

START_TEST(a_log_that_cannot_be_created_is_said_once_and_costs_nothing_else)
{
    room_fix(sizes, SIZES);
    sc_engine_finish();
    char *said = room_stderr();

    ck_assert_ptr_nonnull(strstr(said, "] warn: cannot create the log /proc/nowhere/r0.log: "));
    ck_assert_ptr_nonnull(strstr(said, "] fixed at step 2: "));
    free(said);
}
END_TEST

/* How often, by a run that the lack of a log costs nothing else. */
static unsigned times_said(const char *sentence)
{
    room_fix(sizes, SIZES);
    sc_engine_finish();
    char *said = room_stderr();
    unsigned times = 0;

    ck_assert_ptr_nonnull(strstr(said, "] fixed at step 2: "));
    for (const char *at = said; (at = strstr(at, sentence)); at++)
        times++;
    free(said);
    return times;
}

START_TEST(a_log_that_is_to_be_a_folder_is_refused_and_told_what_to_name)
{
    ck_assert_uint_eq(
        times_said("] warn: SHAPECACHE_LOG names a folder, .: name a file in it, such "
                   "as ./r%r.jsonl; no log is written\n"),
        1);
    ck_assert(!room_has_file("..1"));
}
END_TEST

START_TEST(a_placeholder_of_the_log_that_stands_for_nothing_is_named)
{
    ck_assert_uint_eq(times_said("] warn: SHAPECACHE_LOG has %q, which stands for nothing: "), 1);
}
END_TEST

START_TEST(a_setting_that_cannot_be_used_warns_in_the_log_and_on_stderr)
{
    (void)room_alloc(MIB);
    sc_engine_finish();
    lines log = room_log();
    char *said = room_stderr();

    ck_assert_uint_eq(lines_count(&log, "warn"), 1);
    ck_assert_ptr_nonnull(strstr(lines_of(&log, "warn", 0), "SHAPECACHE_REARM"));
    ck_assert_ptr_nonnull(strstr(said, "] warn: "));
    free(said);
    lines_release(&log);
}
END_TEST

START_TEST(a_log_that_fills_up_keeps_phases_and_the_end)
{
    /* 2 MiB: the event rows of so many batches alone are more */
    for (int i = 0; i < 3000; i++)
        room_batch(sizes, SIZES);
    room_free(room_alloc(7 * MIB));
    sc_engine_finish();
    lines log = room_log();

    ck_assert_uint_eq(lines_count(&log, "phase"), 2);
    lines_expect(log.line[log.count - 1], "ev", "\"end\"");
    ck_assert_uint_eq(lines_u64(log.line[log.count - 1], "requests"), 3000 * SIZES + 1);
    lines_release(&log);
}
END_TEST

static void open_with(const char *name, const char *value)
{
    ck_assert_int_eq(setenv(name, value, 1), 0);
    room_enter();
}

static void open_siteless(void)
{
    open_with("SHAPECACHE_STACKS", "off");
}

static void open_silent(void)
{
    open_with("SHAPECACHE_SUMMARY", "off");
}

static void open_mute(void)
{
    ck_assert_int_eq(setenv("SHAPECACHE_LOG", "off", 1), 0);
    open_silent();
}

static void open_event(void)
{
    open_with("SHAPECACHE_LOG_LEVEL", "event");
}

static void open_terse(void)
{
    open_with("SHAPECACHE_LOG_LEVEL", "summary");
}

static void open_every_third(void)
{
    open_with("SHAPECACHE_LOG_EVERY", "3");
}

static void open_logless(void)
{
    open_with("SHAPECACHE_LOG", "off");
}

static void open_unwritable(void)
{
    open_with("SHAPECACHE_LOG", "/proc/nowhere/r%r.log");
}

static void open_folder(void)
{
    open_with("SHAPECACHE_LOG", ".");
}

static void open_unknown(void)
{
    open_with("SHAPECACHE_LOG", "run.%q.%r");
}

static void open_mistaken(void)
{
    open_with("SHAPECACHE_REARM", "often");
}

static void open_small(void)
{
    ck_assert_int_eq(setenv("SHAPECACHE_LOG_MAX", "2MiB", 1), 0);
    open_event();
}

static void add(Suite *suite, const char *name, void (*open)(void), const TTest *test)
{
    sc_suite_add(suite, name, open, room_close, &test, 1);
}

int main(void)
{
    Suite *suite = suite_create("journal_settings");

    add(suite, "siteless", open_siteless, without_stacks_no_site_is_named);
    add(suite, "silent", open_silent, a_summary_that_is_not_wanted_is_not_written);
    add(suite, "mute", open_mute, and_without_a_log_either_a_run_is_silent_but_for_warnings);
    add(suite, "never", room_enter, steps_that_the_program_was_to_name_and_never_did_are_warned_of);
    add(suite, "once", room_enter, once_it_has_named_one_nothing_is_said_of_that);
    add(suite, "event", open_event, at_level_event_every_allocation_and_free_is_a_row);
    add(suite, "terse", open_terse, at_level_summary_there_are_no_step_rows);
    add(suite, "every", open_every_third, log_every_writes_every_nth_step);
    add(suite, "logless", open_logless, without_a_log_the_cache_works_and_speaks_on_stderr);
    add(suite, "unwritable", open_unwritable,
        a_log_that_cannot_be_created_is_said_once_and_costs_nothing_else);
    add(suite, "folder", open_folder,
        a_log_that_is_to_be_a_folder_is_refused_and_told_what_to_name);
    add(suite, "unknown", open_unknown, a_placeholder_of_the_log_that_stands_for_nothing_is_named);
    add(suite, "mistaken", open_mistaken,
        a_setting_that_cannot_be_used_warns_in_the_log_and_on_stderr);
    add(suite, "small", open_small, a_log_that_fills_up_keeps_phases_and_the_end);
    return sc_suite_run(suite);
}
