/* SPDX-License-Identifier: MIT
 * What a run leaves behind: its log, line by line, and its words on stderr. */
#include "support/room.h"
#include "support/suite.h"
#include <string.h>
#include <unistd.h>

/* 22 MiB in the driver's pages; none is larger than the overhead of 25% leaves room for */
static const uint64_t sizes[] = {3 * MIB, 3 * MIB, 3 * MIB, 3 * MIB, 4 * MIB, 100 * KIB};
enum { SIZES = 6 };

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

    lines_expect(run, "ev", "\"run\"");
    lines_expect(run, "v", "1");
    ck_assert_uint_eq(lines_u64(run, "pid"), (uint64_t)getpid());
    ck_assert_uint_gt(lines_u64(run, "t0_unix_ns"), UINT64_C(1600000000000000000));
    lines_expect(run, "devices", "[{\"dev\":0,\"total\":1073741824}]");
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
    lines_expect(lines_of(&log, "step", 0), "phase", "\"warmup\"");
    lines_expect(lines_of(&log, "step", 9), "phase", "\"fixed\"");
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
    lines_expect(fixed, "from", "\"warmup\"");
    lines_expect(fixed, "to", "\"fixed\"");
    lines_expect(fixed, "reason", "\"set-fixed\"");
    lines_expect(fixed, "step_source", "\"api\"");
    lines_expect_absent(fixed, "shape");
    lines_expect(fallback, "from", "\"fixed\"");
    lines_expect(fallback, "to", "\"fallback\"");
    lines_expect(fallback, "reason", "\"new-shape\"");
    lines_expect(fallback, "site", "\"train+0x1a2b\"");
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

    lines_expect(end, "ev", "\"end\"");
    ck_assert_uint_eq(lines_count(&log, "end"), 1);
    lines_expect(end, "doors", "[\"elf\",\"resolver\"]");
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
    (void)setenv("SHAPECACHE_SUMMARY", "line", 1);
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

START_TEST(a_summary_tells_no_share_of_hits_before_a_fixed_step_has_ended)
{
    (void)setenv("SHAPECACHE_SUMMARY", "line", 1);
    for (int i = 0; i < 2; i++)
        room_batch(sizes, SIZES);
    for (int i = 0; i < 3; i++) /* hits, in a step that has no end */
        room_free(room_alloc(sizes[0]));
    ck_assert_int_eq(sc_engine_phase(0), SC_PHASE_FIXED);
    sc_engine_finish();
    char *said = room_stderr();

    ck_assert_msg(strstr(said, "] 15 requests, fixed since step 2, which has not ended, "
                               "0 fallbacks; held at most ") != NULL,
                  "%s", said);
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

START_TEST(the_summary_counts_the_out_of_memory_answers_that_reached_the_program)
{
    sc_address block;

    (void)setenv("SHAPECACHE_SUMMARY", "line", 1);
    room_fix(sizes, SIZES);
    fake_fail_kind(FAKE_MEM_ALLOC, 1, SC_CUDA_OUT_OF_MEMORY); /* the retry recovers */
    room_free(room_alloc(2 * MIB));
    for (uint64_t i = 0; i < 2; i++) {
        fake_fail_kind(FAKE_MEM_ALLOC, 2, SC_CUDA_OUT_OF_MEMORY);
        ck_assert_int_eq(sc_engine_alloc(&block, (5 + i) * MIB, (const void *)0x1a2b),
                         SC_CUDA_OUT_OF_MEMORY);
    }
    sc_engine_finish();
    char *said = room_stderr();

    ck_assert_msg(strstr(said, "; 2 out-of-memory answers, the last for 6.00 MiB from "
                               "train+0x1a2b; see shapecache report log\n") != NULL,
                  "%s", said);
    free(said);
}
END_TEST

START_TEST(an_out_of_memory_that_the_retry_recovered_is_no_answer)
{
    room_fix(sizes, SIZES);
    fake_fail_kind(FAKE_MEM_ALLOC, 1, SC_CUDA_OUT_OF_MEMORY);
    room_free(room_alloc(2 * MIB));
    sc_engine_finish();
    lines log = room_log();
    char *said = room_stderr();

    ck_assert_uint_eq(lines_count(&log, "oom"), 1);
    ck_assert_ptr_null(strstr(said, "out-of-memory"));
    free(said);
    lines_release(&log);
}
END_TEST

START_TEST(the_summary_tells_an_out_of_memory_of_another_allocator)
{
    (void)setenv("SHAPECACHE_SUMMARY", "line", 1);
    room_free(room_alloc(MIB));
    ck_assert(!sc_engine_make_room()); /* nothing is idle: there is no retry */
    sc_engine_finish();
    char *said = room_stderr();

    ck_assert_msg(strstr(said, "; 1 out-of-memory answer, for an allocation of another kind; ") !=
                      NULL,
                  "%s", said);
    free(said);
}
END_TEST

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
    (void)setenv("SHAPECACHE_SUMMARY", "line", 1);
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
            lines_expect(phase, "to", "\"fixed\"");
            ck_assert_uint_eq(i, 2); /* after its sites */
        }
        fallback = strstr(phase, "\"fallback\"") ? phase : fallback;
    }
    lines_expect(fallback, "scope", "\"train+0x20\"");
    lines_expect(fallback, "site", "\"train+0x20\"");
    lines_expect(fallback, "reason", "\"new-shape\"");
    lines_expect(last, "phase", "\"fixed\"");
    lines_expect(last, "scopes", "2");
    lines_expect(last, "scopes_fixed", "1");
    lines_expect(lines_of(&log, "end", 0), "scopes_fixed", "1");
    lines_expect(lines_of(&log, "end", 0), "fallbacks", "1");
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

SC_SUITE_WITH("journal", room_enter, room_close, a_process_that_never_allocates_leaves_nothing,
              the_first_line_says_what_runs_with_which_settings,
              step_rows_add_up_and_tell_the_phase,
              every_step_is_in_the_file_before_the_next_free_returns,
              a_change_of_phase_names_reason_shape_and_site,
              the_first_change_into_a_phase_is_a_line_on_stderr,
              a_site_is_introduced_once_and_before_it_is_named,
              shapes_are_told_at_first_sight_and_in_full_at_the_end,
              the_last_line_holds_the_totals_and_the_doors,
              the_summary_is_one_line_that_says_where_to_read_on,
              a_summary_tells_no_share_of_hits_before_a_fixed_step_has_ended,
              a_pipe_that_nobody_reads_does_not_kill_the_program,
              an_out_of_memory_is_in_the_file_before_the_call_returns,
              the_summary_counts_the_out_of_memory_answers_that_reached_the_program,
              an_out_of_memory_that_the_retry_recovered_is_no_answer,
              the_summary_tells_an_out_of_memory_of_another_allocator,
              with_a_gate_per_site_the_log_names_the_site_that_changed,
              without_one_nothing_is_said_of_scopes)
