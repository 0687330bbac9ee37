/* SPDX-License-Identifier: MIT
 * Arenas between threads, forks and contexts; the one of the process, and what the log tells of
 * all. */
#include "engine/thread.h"
#include "support/arena_room.h"
#include "support/lines.h"
#include "support/suite.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *call_from_aside(void *status)
{
    shapecache_arena_moment moment;

    *(shapecache_status *)status = shapecache_arena_mark(arena, &moment);
    return NULL;
}

static shapecache_status aside;

static void call_from_another_thread(void)
{
    pthread_t other;

    ck_assert_int_eq(pthread_create(&other, NULL, call_from_aside, &aside), 0);
    ck_assert_int_eq(pthread_join(other, NULL), 0);
}

static int finish_meanwhile(sc_stream on)
{
    call_from_another_thread();
    return fake_gpu_copies.stream_finish(on);
}

static int record_meanwhile(sc_gpu_event event, sc_stream on)
{
    call_from_another_thread();
    return fake_gpu_copies.event_record(event, on);
}

START_TEST(a_call_that_comes_while_another_runs_is_refused_and_changes_nothing)
{
    shapecache_ticket ticket;
    char text[200];

    open_arena(64 * MIB);
    sc_address block = room_alloc(4 * MIB);

    copies.event_record = record_meanwhile;
    ck_assert_int_eq(shapecache_arena_offload(arena, (void *)(uintptr_t)block, 4 * MIB, 0,
                                              (void *)stream, &ticket),
                     SHAPECACHE_OK);
    copies.event_record = fake_gpu_copies.event_record;
    ck_assert_int_eq(aside, SHAPECACHE_EBUSY);
    shapecache_arena_error(arena, text, sizeof text);
    ck_assert_str_eq(text, "arena: a call came while another thread's was running; nothing "
                           "was changed");
    aside = SHAPECACHE_OK;
    copies.stream_finish = finish_meanwhile;
    close_arena();
    ck_assert_int_eq(aside, SHAPECACHE_EBUSY);
    room_free(block);
    sc_engine_finish();
    room_close();
}
END_TEST

START_TEST(a_forked_child_leaves_the_arena_alone)
{
    shapecache_ticket ticket;
    int status;

    open_arena(64 * MIB);
    sc_address block = room_alloc(4 * MIB);
    pid_t child = fork();

    if (child == 0)
        _exit(shapecache_arena_offload(arena, (void *)(uintptr_t)block, 4 * MIB, 0, (void *)stream,
                                       &ticket) == SHAPECACHE_EOFF
                  ? 0
                  : 1);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    room_free(block);
    close_arena();
    sc_engine_finish();
    room_close();
}
END_TEST

START_TEST(a_signal_handler_that_interrupts_a_question_for_the_error_does_not_wait_for_it)
{
    shapecache_arena *none = NULL;
    shapecache_ticket ticket;
    char text[200];

    open_arena(64 * MIB);
    ck_assert_int_eq(shapecache_arena_offload(arena, NULL, 1, 0, (void *)stream, &ticket),
                     SHAPECACHE_EVALUE);
    sc_thread_self.locks++; /* what it interrupted holds one */
    shapecache_arena_error(arena, text, sizeof text);
    ck_assert_str_eq(text, "");
    ck_assert_int_eq(shapecache_arena_create(&none, NULL), SHAPECACHE_EVALUE);
    sc_thread_self.locks--;
    shapecache_arena_error(NULL, text, sizeof text);
    ck_assert_str_eq(text, ""); /* nothing was written */
    shapecache_arena_error(arena, text, sizeof text);
    ck_assert_str_ne(text, "");
    close_arena();
    sc_engine_finish();
    room_close();
}
END_TEST

START_TEST(an_arena_works_in_its_own_context_whichever_is_current)
{
    shapecache_ticket ticket;

    open_arena(64 * MIB);
    sc_address block = room_alloc(4 * MIB);

    fake_set_current(fake_primary(1));
    ck_assert_int_eq(shapecache_arena_offload(arena, (void *)(uintptr_t)block, 4 * MIB, 0,
                                              (void *)stream, &ticket),
                     SHAPECACHE_OK);
    ck_assert_uint_eq(fake_get_current(), fake_primary(1));
    ck_assert_uint_eq(fake_count(FAKE_CONTEXT_PUSH), fake_count(FAKE_CONTEXT_POP));
    ck_assert_uint_gt(fake_count(FAKE_CONTEXT_PUSH), 0);
    fake_set_current(fake_primary(0));
    room_free(block);
    close_arena();
    sc_engine_finish();
    room_close();
}
END_TEST

START_TEST(with_its_context_an_arena_and_what_it_was_given_end)
{
    shapecache_ticket ticket;
    sc_context context = fake_new_context(0);

    fake_set_current(context);
    open_arena(64 * MIB);
    sc_address block = room_alloc(4 * MIB), other = room_alloc(4 * MIB);

    (void)give(block, 4 * MIB);
    sc_engine_context_ends(context);
    fake_end_context(context);
    fake_set_current(fake_primary(0));
    unsigned calls = fake_gpu_calls();

    ck_assert_int_eq(shapecache_arena_offload(arena, (void *)(uintptr_t)other, 4 * MIB, 0,
                                              (void *)stream, &ticket),
                     SHAPECACHE_EDEVICE);
    ck_assert_int_eq(shapecache_arena_destroy(arena), SHAPECACHE_OK);
    ck_assert_uint_eq(fake_gpu_calls(), calls);
    sc_engine_finish();
    room_close();
}
END_TEST

START_TEST(the_arena_of_the_process_has_the_size_of_the_setting_and_is_one)
{
    shapecache_arena *again;
    shapecache_arena_info info;

    (void)setenv("SHAPECACHE_ARENA", "3MiB", 1);
    (void)setenv("SHAPECACHE_ARENA_FULL", "keep", 1);
    ck_assert_int_eq(shapecache_arena_of_process(&arena), SHAPECACHE_OK);
    ck_assert_int_eq(shapecache_arena_of_process(&again), SHAPECACHE_OK);
    ck_assert_ptr_eq(arena, again);
    ck_assert_int_eq(shapecache_arena_stats(arena, &info), SHAPECACHE_OK);
    ck_assert_uint_eq(info.capacity, 3 * MIB);
    sc_address block = room_alloc(4 * MIB);

    ck_assert_int_eq(give(block, 4 * MIB).place, SHAPECACHE_ARENA_DEVICE);
    ck_assert_int_eq(shapecache_arena_destroy(arena), SHAPECACHE_EVALUE);
    room_free(block);
    sc_engine_finish();
    room_close();
}
END_TEST

START_TEST(the_log_has_a_row_for_each_arena_and_the_end_a_line)
{
    room_fix(sizes, SIZES);
    open_arena(64 * MIB);
    for (int pass = 0; pass < 3; pass++) {
        sc_address block = room_alloc(4 * MIB);
        shapecache_ticket ticket = give(block, 4 * MIB);

        block = room_alloc(4 * MIB);
        ck_assert_int_eq(shapecache_arena_onload(arena, ticket, (void *)(uintptr_t)block, 4 * MIB,
                                                 0, (void *)stream),
                         SHAPECACHE_OK);
        fake_gpu_finish();
        room_free(block);
    }
    ck_assert_int_eq(shapecache_arena_report(arena), SHAPECACHE_OK);
    sc_engine_finish();
    lines log = room_log();
    static const char *const whats[] = {"\"start\"", "\"pass\"", "\"pass\"", "\"report\"",
                                        "\"end\""};

    ck_assert_uint_eq(lines_count(&log, "arena"), 5);
    for (size_t i = 0; i < 5; i++)
        lines_expect(lines_of(&log, "arena", i), "what", whats[i]);
    ck_assert_uint_eq(lines_u64(lines_of(&log, "arena", 4), "bytes_out"), 12 * MIB);
    lines_release(&log);
    char *said = room_stderr();

    ck_assert_ptr_nonnull(strstr(said,
                                 "arena: 3 tensors offloaded, 12.0 MiB out and 12.0 MiB back; "
                                 "at most 4.00 MiB of 64.0 MiB used, peak demand 4.00 MiB"));
    free(said);
    room_close();
}
END_TEST

START_TEST(a_quiet_arena_has_no_part_in_the_line_at_the_end)
{
    shapecache_arena_config config;
    shapecache_arena *quiet;
    shapecache_ticket ticket;

    shapecache_arena_defaults(&config);
    config.capacity = 8 * MIB;
    config.flags = SHAPECACHE_ARENA_QUIET;
    for (int i = 0; i < 2; i++) { /* one that is destroyed, and one that is there at the end */
        ck_assert_int_eq(shapecache_arena_create(&quiet, &config), SHAPECACHE_OK);
        ck_assert_int_eq(shapecache_arena_offload_free(quiet, (void *)(uintptr_t)room_alloc(MIB),
                                                       MIB, 0, (void *)stream, &ticket),
                         SHAPECACHE_OK);
        if (i == 0)
            ck_assert_int_eq(shapecache_arena_destroy(quiet), SHAPECACHE_OK);
    }
    open_arena(8 * MIB);
    (void)give(room_alloc(2 * MIB), 2 * MIB);
    sc_engine_finish();
    char *said = room_stderr();

    ck_assert_ptr_nonnull(strstr(said, "arena: 1 tensor offloaded, 2.00 MiB out and 0 B back"));
    free(said);
    room_close();
}
END_TEST

SC_SUITE_WITH("arena_process", arena_room_enter, NULL,
              a_call_that_comes_while_another_runs_is_refused_and_changes_nothing,
              a_forked_child_leaves_the_arena_alone,
              a_signal_handler_that_interrupts_a_question_for_the_error_does_not_wait_for_it,
              an_arena_works_in_its_own_context_whichever_is_current,
              with_its_context_an_arena_and_what_it_was_given_end,
              the_arena_of_the_process_has_the_size_of_the_setting_and_is_one,
              the_log_has_a_row_for_each_arena_and_the_end_a_line,
              a_quiet_arena_has_no_part_in_the_line_at_the_end)
