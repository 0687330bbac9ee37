/* SPDX-License-Identifier: MIT
 * What a run leaves behind: its log, line by line, and its words on stderr. */
#include "support/room.h"
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* 22 MiB in the driver's pages; none is larger than the overhead of 25% leaves room for */
static const uint64_t sizes[] = {3 * MIB, 3 * MIB, 3 * MIB, 3 * MIB, 4 * MIB, 100 * KIB};
enum { SIZES = 6 };

static void open_room(void)
{
    room_open(1024 * MIB);
}

static void assert_field(const char *line, const char *name, const char *json)
{
    char value[512];

    ck_assert_ptr_nonnull(line);
    ck_assert_msg(lines_field(line, name, value, sizeof value), "no %s in %s", name, line);
    ck_assert_str_eq(value, json);
}

static void assert_absent(const char *line, const char *name)
{
    char value[512];

    ck_assert_msg(!lines_field(line, name, value, sizeof value), "%s in %s", name, line);
}

START_TEST(a_process_that_never_allocates_leaves_nothing)
{
    ck_assert_int_eq(sc_engine_free(0), SC_CUDA_SUCCESS);
    sc_engine_door(SC_DOOR_DLSYM);
    sc_engine_finish();
    char *said = room_stderr();

    ck_assert_str_eq(said, "");
    free(said);
    ck_assert(!room_has_file("log"));
}
END_TEST

START_TEST(the_first_line_says_what_runs_with_which_settings)
{
    char value[4096];

    (void)room_alloc(MIB);
    sc_engine_finish();
    lines log = room_log();
    const char *run = log.line[0];

    assert_field(run, "ev", "\"run\"");
    assert_field(run, "v", "1");
    ck_assert_uint_eq(lines_u64(run, "pid"), (uint64_t)getpid());
    ck_assert_uint_gt(lines_u64(run, "t0_unix_ns"), UINT64_C(1600000000000000000));
    assert_field(run, "devices", "[{\"dev\":0,\"total\":1073741824}]");
    ck_assert(lines_field(run, "argv", value, sizeof value));
    ck_assert_ptr_nonnull(strstr(value, "test_journal\""));
    ck_assert(lines_field(run, "config", value, sizeof value));
    ck_assert_ptr_nonnull(
        strstr(value, "\"SHAPECACHE_WARMUP\":{\"value\":\"1\",\"from\":\"env\"}"));
    ck_assert_ptr_nonnull(
        strstr(value, "\"SHAPECACHE_MAX_AGE\":{\"value\":\"64\",\"from\":\"default\"}"));
    ck_assert_uint_eq(lines_count(&log, "run"), 1);
    lines_release(&log);
}
END_TEST

START_TEST(step_rows_add_up_and_tell_the_phase)
{
    for (int i = 0; i < 10; i++)
        room_batch(sizes, SIZES);
    sc_engine_finish();
    lines log = room_log();

    ck_assert_uint_eq(lines_count(&log, "step"), 10);
    for (size_t i = 0; i < 10; i++) {
        const char *row = lines_of(&log, "step", i);

        ck_assert_uint_eq(lines_u64(row, "step"), i);
        ck_assert_uint_eq(lines_u64(row, "requests"), SIZES);
        ck_assert_uint_eq(lines_u64(row, "requests"), lines_u64(row, "hits") +
                                                          lines_u64(row, "misses") +
                                                          lines_u64(row, "bypassed"));
        ck_assert_uint_eq(lines_u64(row, "live"), 0);
        ck_assert_uint_ge(lines_u64(row, "held_peak"), lines_u64(row, "live_peak"));
    }
    assert_field(lines_of(&log, "step", 0), "phase", "\"warmup\"");
    assert_field(lines_of(&log, "step", 9), "phase", "\"fixed\"");
    ck_assert_uint_eq(lines_u64(lines_of(&log, "step", 9), "hits"), SIZES);
    ck_assert_uint_eq(lines_u64(lines_of(&log, "step", 9), "driver_allocs"), 0);
    ck_assert_uint_gt(lines_u64(lines_of(&log, "step", 9), "idle"), 0);
    lines_release(&log);
}
END_TEST

START_TEST(every_step_is_in_the_file_before_the_next_free_returns)
{
    for (uint64_t i = 0; i < 5; i++) {
        room_batch(sizes, SIZES);
        lines log = room_log();

        ck_assert_uint_eq(lines_count(&log, "step"), i + 1);
        lines_release(&log);
    }
}
END_TEST

START_TEST(a_change_of_phase_names_reason_shape_and_site)
{
    room_fix(sizes, SIZES);
    room_free(room_alloc_from(2 * MIB, (const void *)0x1a2b));
    sc_engine_finish();
    lines log = room_log();
    const char *fixed = lines_of(&log, "phase", 0), *fallback = lines_of(&log, "phase", 1);

    ck_assert_uint_eq(lines_count(&log, "phase"), 2);
    assert_field(fixed, "from", "\"warmup\"");
    assert_field(fixed, "to", "\"fixed\"");
    assert_field(fixed, "reason", "\"set-fixed\"");
    assert_field(fixed, "step_source", "\"api\"");
    assert_absent(fixed, "shape");
    assert_field(fallback, "from", "\"fixed\"");
    assert_field(fallback, "to", "\"fallback\"");
    assert_field(fallback, "reason", "\"new-shape\"");
    assert_field(fallback, "site", "\"train+0x1a2b\"");
    ck_assert_uint_eq(lines_u64(fallback, "bytes"), 2 * MIB);
    ck_assert_uint_eq(lines_u64(fallback, "step"), 5);
    ck_assert_uint_eq(lines_u64(fallback, "idle_released"), 22 * MIB);
    lines_release(&log);
}
END_TEST

START_TEST(the_first_change_into_a_phase_is_a_line_on_stderr)
{
    room_fix(sizes, SIZES);
    room_free(room_alloc_from(2 * MIB, (const void *)0x1a2b));
    char *said = room_stderr();
    const char *fallback = strstr(said, "] fallback at step 5: new shape 2.00 MiB from "
                                        "train+0x1a2b; 22.0 MiB idle goes back (log log)\n");

    ck_assert_ptr_nonnull(strstr(said, "] fixed at step 2: "));
    ck_assert_msg(fallback != NULL, "%s", said);
    free(said);
    for (int i = 0; i < 10; i++)
        room_batch(sizes, SIZES);
    room_free(room_alloc(7 * MIB)); /* the second fallback is in the log alone */
    said = room_stderr();
    ck_assert_ptr_nonnull(strstr(said, "fallback"));
    ck_assert_ptr_null(strstr(strstr(said, "fallback") + 1, "fallback"));
    free(said);
}
END_TEST

START_TEST(a_site_is_introduced_once_and_before_it_is_named)
{
    size_t introduced = 0;

    for (int i = 0; i < 3; i++) {
        room_free(room_alloc_from(MIB, (const void *)0x10));
        room_free(room_alloc_from(2 * MIB, (const void *)0x20));
        ck_assert_int_eq(sc_engine_step(0), 0);
    }
    sc_engine_finish();
    lines log = room_log();

    for (size_t i = 0; i < log.count; i++) {
        char value[64];

        introduced += strstr(log.line[i], "{\"ev\":\"site\"") == log.line[i];
        if (lines_field(log.line[i], "site", value, sizeof value))
            ck_assert_uint_ge(introduced, strcmp(value, "\"train+0x10\"") == 0 ? 1 : 2);
    }
    ck_assert_uint_eq(introduced, 2);
    lines_release(&log);
}
END_TEST

START_TEST(without_stacks_no_site_is_named)
{
    room_batch(sizes, SIZES);
    sc_engine_finish();
    lines log = room_log();

    ck_assert_uint_eq(lines_count(&log, "site"), 0);
    for (size_t i = 0; i < log.count; i++)
        assert_absent(log.line[i], "site");
    lines_release(&log);
}
END_TEST

START_TEST(shapes_are_told_at_first_sight_and_in_full_at_the_end)
{
    room_fix(sizes, SIZES);
    room_batch(sizes, SIZES);
    sc_engine_finish();
    lines log = room_log();
    const char *first = lines_of(&log, "shape", 0);
    const char *last = NULL;

    ck_assert_uint_eq(lines_u64(first, "bytes"), 3 * MIB);
    ck_assert_uint_eq(lines_u64(first, "requests"), 1);
    for (size_t i = 0; lines_of(&log, "shape", i); i++)
        if (lines_u64(lines_of(&log, "shape", i), "bytes") == 3 * MIB)
            last = lines_of(&log, "shape", i);
    ck_assert_uint_eq(lines_u64(last, "requests"), 24);
    ck_assert_uint_eq(lines_u64(last, "hits"), 12);
    ck_assert_uint_eq(lines_u64(last, "idle"), 4);
    ck_assert_uint_eq(lines_u64(last, "high"), 4);
    lines_release(&log);
}
END_TEST

START_TEST(the_last_line_holds_the_totals_and_the_doors)
{
    sc_engine_door(SC_DOOR_RESOLVER);
    sc_engine_door(SC_DOOR_ELF);
    room_fix(sizes, SIZES);
    sc_engine_finish();
    sc_engine_finish();
    lines log = room_log();
    const char *end = log.line[log.count - 1];

    assert_field(end, "ev", "\"end\"");
    ck_assert_uint_eq(lines_count(&log, "end"), 1);
    assert_field(end, "doors", "[\"elf\",\"resolver\"]");
    ck_assert_uint_eq(lines_u64(end, "steps"), 5);
    ck_assert_uint_eq(lines_u64(end, "steps_fixed"), 3);
    ck_assert_uint_eq(lines_u64(end, "shapes"), 3);
    ck_assert_uint_eq(lines_u64(end, "requests"), 5 * SIZES);
    ck_assert_uint_eq(lines_u64(end, "requests"), lines_sum(&log, "step", "requests"));
    ck_assert_uint_eq(lines_u64(end, "hits"), lines_sum(&log, "step", "hits"));
    ck_assert_uint_eq(lines_u64(end, "driver_allocs"), fake_count(FAKE_MEM_ALLOC));
    ck_assert_uint_eq(lines_u64(end, "driver_frees"), fake_count(FAKE_MEM_FREE));
    lines_release(&log);
}
END_TEST

START_TEST(the_summary_is_one_line_that_says_where_to_read_on)
{
    room_fix(sizes, SIZES);
    sc_engine_finish();
    char *said = room_stderr();
    const char *line = strstr(said, "] 30 requests, 66.6% hits while fixed, fixed in 3 of 5 steps, "
                                    "0 fallbacks; held at most 22.0 MiB for 22.0 MiB live; ");

    ck_assert_msg(line != NULL, "%s", said);
    ck_assert_ptr_nonnull(strstr(line, "see shapecache report log\n"));
    free(said);
}
END_TEST

START_TEST(a_pipe_that_nobody_reads_does_not_kill_the_program)
{
    int ends[2];

    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(close(ends[0]), 0);
    ck_assert_int_eq(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    ck_assert_int_eq(close(ends[1]), 0);
    room_fix(sizes, SIZES); /* says that it is fixed */
    sc_engine_finish();
    lines log = room_log();

    ck_assert_uint_eq(lines_count(&log, "end"), 1);
    lines_release(&log);
}
END_TEST

START_TEST(a_summary_that_is_not_wanted_is_not_written)
{
    room_free(room_alloc(MIB));
    sc_engine_finish();
    char *said = room_stderr();

    ck_assert_str_eq(said, "");
    free(said);
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
    assert_field(lines_of(&log, "alloc", 0), "address", "\"0x7f0000000000\"");
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
    ck_assert_ptr_null(strstr(said, "log"));
    free(said);
    ck_assert(!room_has_file("log") && !room_has_file("off"));
}
END_TEST

START_TEST(a_log_that_cannot_be_created_is_said_once_and_costs_nothing_else)
{
    room_fix(sizes, SIZES);
    sc_engine_finish();
    char *said = room_stderr();

    ck_assert_ptr_nonnull(strstr(said, "] warn: cannot create the log /proc/nowhere/log: "));
    ck_assert_ptr_nonnull(strstr(said, "] fixed at step 2: "));
    free(said);
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

START_TEST(an_out_of_memory_is_in_the_file_before_the_call_returns)
{
    sc_address block;

    room_fix(sizes, SIZES);
    fake_fail_kind(FAKE_MEM_ALLOC, 2, SC_CUDA_OUT_OF_MEMORY);
    ck_assert_int_eq(sc_engine_alloc(&block, 2 * MIB, NULL), SC_CUDA_OUT_OF_MEMORY);
    lines log = room_log();
    const char *oom = lines_of(&log, "oom", 0);

    ck_assert_uint_eq(lines_count(&log, "oom"), 1);
    ck_assert_uint_eq(lines_u64(oom, "bytes"), 2 * MIB);
    ck_assert_uint_eq(lines_u64(oom, "retried"), 1);
    ck_assert_uint_eq(lines_u64(oom, "result"), SC_CUDA_OUT_OF_MEMORY);
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
    assert_field(log.line[log.count - 1], "ev", "\"end\"");
    ck_assert_uint_eq(lines_u64(log.line[log.count - 1], "requests"), 3000 * SIZES + 1);
    lines_release(&log);
}
END_TEST

static void open_with(const char *name, const char *value)
{
    ck_assert_int_eq(setenv(name, value, 1), 0);
    open_room();
}

static void open_siteless(void)
{
    open_with("SHAPECACHE_STACKS", "off");
}

static void open_silent(void)
{
    open_with("SHAPECACHE_SUMMARY", "off");
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
    open_with("SHAPECACHE_LOG", "/proc/nowhere/log");
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

static void add_case(Suite *suite, const char *name, void (*open)(void), const TTest *test)
{
    TCase *tcase = tcase_create(name);

    tcase_add_checked_fixture(tcase, open, room_close);
    tcase_add_test(tcase, test);
    suite_add_tcase(suite, tcase);
}

/* Batches in which one place asks for the same, and another for `moody` bytes. */
static void scoped_batches(unsigned count, uint64_t moody)
{
    for (unsigned i = 0; i < count; i++) {
        sc_address one = room_alloc_from(4 * MIB, (const void *)0x10);
        sc_address other = room_alloc_from(moody, (const void *)0x20);

        room_free(other);
        room_free(one);
        ck_assert_int_eq(sc_engine_step(0), 0);
    }
}

START_TEST(with_a_gate_per_site_the_log_names_the_site_that_changed)
{
    (void)setenv("SHAPECACHE_SCOPE", "site", 1);
    (void)setenv("SHAPECACHE_OVERHEAD", "100%", 1);
    scoped_batches(4, 6 * MIB);
    scoped_batches(1, 7 * MIB);
    sc_engine_finish();
    lines log = room_log();
    const char *fallback = NULL, *last = lines_of(&log, "step", 4);
    char scope[64];

    ck_assert_uint_eq(lines_count(&log, "phase"), 4); /* two sites, the device, and the fall */
    for (size_t i = 0; i < 4; i++) {
        const char *phase = lines_of(&log, "phase", i);

        if (!lines_field(phase, "scope", scope, sizeof scope)) {
            assert_field(phase, "to", "\"fixed\"");
            ck_assert_uint_eq(i, 2); /* after its sites */
        }
        fallback = strstr(phase, "\"fallback\"") ? phase : fallback;
    }
    assert_field(fallback, "scope", "\"train+0x20\"");
    assert_field(fallback, "site", "\"train+0x20\"");
    assert_field(fallback, "reason", "\"new-shape\"");
    assert_field(last, "phase", "\"fixed\"");
    assert_field(last, "scopes", "2");
    assert_field(last, "scopes_fixed", "1");
    assert_field(lines_of(&log, "end", 0), "scopes_fixed", "1");
    assert_field(lines_of(&log, "end", 0), "fallbacks", "1");
    char *said = room_stderr();

    ck_assert_ptr_nonnull(strstr(said, "fixed at step 2: no new shape for 1 step, set of 2"));
    ck_assert_ptr_nonnull(strstr(said, "fallback at step 4: new shape 7.00 MiB from train+0x20; "
                                       "6.00 MiB idle goes back; other call sites stay cached"));
    ck_assert_ptr_nonnull(strstr(said, "1 fallback, 1 of 2 call sites fixed; held"));
    free(said);
    lines_release(&log);
}
END_TEST

START_TEST(without_one_nothing_is_said_of_scopes)
{
    char value[64];

    scoped_batches(4, 6 * MIB);
    sc_engine_finish();
    lines log = room_log();

    ck_assert_uint_eq(lines_count(&log, "phase"), 1);
    ck_assert(!lines_field(lines_of(&log, "phase", 0), "scope", value, sizeof value));
    ck_assert(!lines_field(lines_of(&log, "end", 0), "scopes", value, sizeof value));
    ck_assert(!lines_field(lines_of(&log, "step", 3), "scopes", value, sizeof value));
    lines_release(&log);
}
END_TEST

static void add_plain(TCase *tcase)
{
    tcase_add_test(tcase, with_a_gate_per_site_the_log_names_the_site_that_changed);
    tcase_add_test(tcase, without_one_nothing_is_said_of_scopes);
    tcase_add_test(tcase, a_process_that_never_allocates_leaves_nothing);
    tcase_add_test(tcase, the_first_line_says_what_runs_with_which_settings);
    tcase_add_test(tcase, step_rows_add_up_and_tell_the_phase);
    tcase_add_test(tcase, every_step_is_in_the_file_before_the_next_free_returns);
    tcase_add_test(tcase, a_change_of_phase_names_reason_shape_and_site);
    tcase_add_test(tcase, the_first_change_into_a_phase_is_a_line_on_stderr);
    tcase_add_test(tcase, a_site_is_introduced_once_and_before_it_is_named);
    tcase_add_test(tcase, shapes_are_told_at_first_sight_and_in_full_at_the_end);
    tcase_add_test(tcase, the_last_line_holds_the_totals_and_the_doors);
    tcase_add_test(tcase, the_summary_is_one_line_that_says_where_to_read_on);
    tcase_add_test(tcase, a_pipe_that_nobody_reads_does_not_kill_the_program);
    tcase_add_test(tcase, an_out_of_memory_is_in_the_file_before_the_call_returns);
}

int main(void)
{
    Suite *suite = suite_create("journal");
    TCase *tcase = tcase_create("plain");
    SRunner *runner = srunner_create(suite);

    tcase_add_checked_fixture(tcase, open_room, room_close);
    add_plain(tcase);
    suite_add_tcase(suite, tcase);
    add_case(suite, "siteless", open_siteless, without_stacks_no_site_is_named);
    add_case(suite, "silent", open_silent, a_summary_that_is_not_wanted_is_not_written);
    add_case(suite, "event", open_event, at_level_event_every_allocation_and_free_is_a_row);
    add_case(suite, "terse", open_terse, at_level_summary_there_are_no_step_rows);
    add_case(suite, "every", open_every_third, log_every_writes_every_nth_step);
    add_case(suite, "logless", open_logless, without_a_log_the_cache_works_and_speaks_on_stderr);
    add_case(suite, "unwritable", open_unwritable,
             a_log_that_cannot_be_created_is_said_once_and_costs_nothing_else);
    add_case(suite, "mistaken", open_mistaken,
             a_setting_that_cannot_be_used_warns_in_the_log_and_on_stderr);
    add_case(suite, "small", open_small, a_log_that_fills_up_keeps_phases_and_the_end);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
