/* SPDX-License-Identifier: MIT
 * What must not unbalance memory scopes: wrong calls, too many of them, threads, forks, failures.
 */
#include "engine/thread.h"
#include "support/regions.h"
#include "support/suite.h"
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOG = SHAPECACHE_SCOPE_LOG };

START_TEST(an_end_without_a_beginning_changes_nothing)
{
    shapecache_scope_info info = {.depth = 77};

    ck_assert_int_eq(shapecache_scope_end(&info), SHAPECACHE_ESCOPE);
    room_free(room_alloc(2 * MIB));
    ck_assert_int_eq(shapecache_scope_end(&info), SHAPECACHE_ESCOPE);
    ck_assert_uint_eq(info.depth, 77);
    begin("scope", 0);
    room_free(room_alloc(4 * MIB));
    ck_assert_uint_eq(end().live_peak, 4 * MIB);
    ck_assert_int_eq(shapecache_scope_end(NULL), SHAPECACHE_ESCOPE);
}
END_TEST

START_TEST(a_beginning_that_cannot_be_used_begins_nothing)
{
    char name[100];

    memset(name, 'n', sizeof name);
    name[99] = '\0';
    ck_assert_int_eq(shapecache_scope_begin(NULL, 0), SHAPECACHE_EVALUE);
    ck_assert_int_eq(shapecache_scope_begin("", 0), SHAPECACHE_EVALUE);
    ck_assert_int_eq(shapecache_scope_begin("name", 8), SHAPECACHE_EVALUE);
    ck_assert_int_eq(shapecache_scope_end(NULL), SHAPECACHE_ESCOPE);
    room_free(room_alloc(2 * MIB));
    begin(name, LOG);
    (void)end();
    sc_engine_finish();
    lines log = room_log();

    name[SHAPECACHE_SCOPE_NAME_MOST] = '\0';
    char wanted[100] = "\"";

    (void)strcat(strcat(wanted, name), "\"");
    lines_expect(lines_of(&log, "scope", 0), "name", wanted);
    lines_release(&log);
}
END_TEST

START_TEST(scopes_nest_only_so_deep)
{
    room_free(room_alloc(2 * MIB));
    for (int i = 0; i < SHAPECACHE_SCOPE_DEPTH_MOST; i++)
        begin("deeper", 0);
    ck_assert_int_eq(shapecache_scope_begin("too deep", 0), SHAPECACHE_ESCOPE);
    room_free(room_alloc(4 * MIB));
    for (unsigned i = SHAPECACHE_SCOPE_DEPTH_MOST; i-- > 0;) {
        shapecache_scope_info info = end();

        ck_assert_uint_eq(info.depth, i);
        ck_assert_uint_eq(info.live_peak, 4 * MIB);
    }
    ck_assert_int_eq(shapecache_scope_end(NULL), SHAPECACHE_ESCOPE);
}
END_TEST

static void *leave_open(void *count)
{
    fake_set_current(fake_primary(0));
    for (int i = 0; i < *(const int *)count; i++)
        begin("left open", 0);
    return NULL;
}

static void run_thread(void *(*run)(void *), void *argument)
{
    pthread_t thread;

    ck_assert_int_eq(pthread_create(&thread, NULL, run, argument), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

START_TEST(threads_that_end_with_scopes_open_leave_room_for_others)
{
    int count = 7;

    room_free(room_alloc(2 * MIB));
    for (int i = 0; i < 20; i++)
        run_thread(leave_open, &count);
    begin("scope", 0);
    room_free(room_alloc(4 * MIB));
    ck_assert_uint_eq(end().live_peak, 4 * MIB);
}
END_TEST

/* Threads that keep their scopes open until all have begun. */
static pthread_barrier_t all_open, may_end;

static void *hold_open(void *count)
{
    fake_set_current(fake_primary(0));
    for (int i = 0; i < *(const int *)count; i++)
        begin("held open", 0);
    (void)pthread_barrier_wait(&all_open);
    (void)pthread_barrier_wait(&may_end);
    for (int i = 0; i < *(const int *)count; i++)
        ck_assert_uint_eq(end().live_peak, 8 * MIB);
    return NULL;
}

START_TEST(a_process_has_room_for_so_many_scopes_of_all_threads)
{
    int half = SHAPECACHE_SCOPE_OPEN_MOST / 2;
    pthread_t threads[2];

    room_free(room_alloc(2 * MIB));
    ck_assert_int_eq(pthread_barrier_init(&all_open, NULL, 3), 0);
    ck_assert_int_eq(pthread_barrier_init(&may_end, NULL, 3), 0);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, hold_open, &half), 0);
    (void)pthread_barrier_wait(&all_open);
    ck_assert_int_eq(shapecache_scope_begin("one too many", 0), SHAPECACHE_ESCOPE);
    fake_set_current(0); /* it would watch every device there is */
    ck_assert_int_eq(shapecache_scope_begin("one too many", 0), SHAPECACHE_ESCOPE);
    fake_set_current(fake_primary(0));
    room_free(room_alloc(8 * MIB)); /* every thread's scopes see it */
    (void)pthread_barrier_wait(&may_end);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    begin("room again", 0);
    (void)end();
}
END_TEST

START_TEST(a_process_whose_cache_is_off_still_balances_its_scopes)
{
    (void)setenv("SHAPECACHE", "off", 1);
    begin("outer", LOG);
    sc_address block = room_alloc(2 * MIB);

    begin("inner", SHAPECACHE_SCOPE_TRIM_BEFORE | SHAPECACHE_SCOPE_TRIM_AFTER);
    ck_assert_int_eq(shapecache_scope_end(NULL), SHAPECACHE_EOFF);
    ck_assert_int_eq(shapecache_scope_end(NULL), SHAPECACHE_EOFF);
    ck_assert_int_eq(shapecache_scope_end(NULL), SHAPECACHE_ESCOPE);
    room_free(block);
    ck_assert(!room_has_file("log"));
}
END_TEST

START_TEST(a_forked_child_does_not_take_its_own_open_scopes_for_others)
{
    int status, count = 7;

    room_free(room_alloc(2 * MIB));
    for (int i = 0; i < 8; i++)
        run_thread(leave_open, &count);
    for (int i = 0; i < 8; i++)
        begin("scope", 0);
    pid_t child = fork();

    if (child == 0) {
        int depth = 8;

        while (shapecache_scope_begin("deeper", 0) == SHAPECACHE_OK)
            depth++;
        while (shapecache_scope_end(NULL) != SHAPECACHE_ESCOPE)
            depth--;
        _exit(depth);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    for (int i = 0; i < 8; i++)
        (void)end();
}
END_TEST

START_TEST(a_forked_child_ends_its_parents_scopes_in_its_own_copy)
{
    int status;

    room_free(room_alloc(2 * MIB));
    begin("scope", LOG);
    pid_t child = fork();

    if (child == 0) {
        bool is_right = shapecache_scope_end(NULL) == SHAPECACHE_EOFF &&
                        shapecache_scope_end(NULL) == SHAPECACHE_ESCOPE;

        _exit(is_right ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    room_free(room_alloc(4 * MIB));
    ck_assert_uint_eq(end().live_peak, 4 * MIB);
}
END_TEST

START_TEST(after_the_end_of_the_run_scopes_still_balance)
{
    room_free(room_alloc(2 * MIB));
    begin("scope", LOG);
    sc_engine_finish();
    ck_assert_int_eq(shapecache_scope_end(NULL), SHAPECACHE_EOFF);
    begin("late", LOG);
    ck_assert_int_eq(shapecache_scope_end(NULL), SHAPECACHE_EOFF);
    ck_assert_int_eq(shapecache_scope_end(NULL), SHAPECACHE_ESCOPE);
}
END_TEST

START_TEST(a_signal_handler_inside_an_allocation_begins_and_ends_nothing)
{
    room_free(room_alloc(2 * MIB));
    begin("scope", 0);
    sc_thread_self.is_inside = true;
    ck_assert_int_eq(shapecache_scope_begin("handler", 0), SHAPECACHE_EOFF);
    ck_assert_int_eq(shapecache_scope_end(NULL), SHAPECACHE_EOFF);
    sc_thread_self.is_inside = false;
    ck_assert_uint_eq(end().depth, 0);
}
END_TEST

START_TEST(scopes_do_not_show_in_errno)
{
    room_free(room_alloc(2 * MIB));
    errno = 42;
    begin("scope", LOG | SHAPECACHE_SCOPE_TRIM_BEFORE);
    (void)end();
    ck_assert_int_eq(errno, 42);
}
END_TEST

/* In a process of its own: an engine cannot be started twice. 0: a call failed and all went well,
 * 2: there was no n-th call, 1: fault. */
static int run_failing(unsigned n)
{
    bool is_balanced;
    sc_address block;

    fake_forget_counts();
    fake_fail_at(n, 999);
    begin("outer", LOG | SHAPECACHE_SCOPE_TRIM_BEFORE);
    for (int i = 0; i < 4; i++) {
        begin("inner", LOG | SHAPECACHE_SCOPE_TRIM_AFTER);
        if (sc_engine_alloc(&block, 3 * MIB, (const void *)0x10) == SC_CUDA_SUCCESS)
            while (sc_engine_free(block) != SC_CUDA_SUCCESS)
                continue;
        (void)sc_engine_step(-1);
        shapecache_memory_info memory;

        (void)shapecache_memory(0, &memory);
        (void)shapecache_trim(-1);
        is_balanced = shapecache_scope_end(NULL) != SHAPECACHE_ESCOPE;
        if (!is_balanced)
            return 1;
    }
    is_balanced = shapecache_scope_end(NULL) != SHAPECACHE_ESCOPE &&
                  shapecache_scope_end(NULL) == SHAPECACHE_ESCOPE;
    if (!is_balanced || sc_thread_self.locks || sc_thread_self.is_inside ||
        fake_was_called_under_lock() || fake_live_blocks() > 1)
        return 1;
    return fake_calls() < n ? 2 : 0;
}

START_TEST(any_driver_call_that_fails_leaves_scopes_balanced)
{
    int status = 0;

    for (unsigned n = 1; status != 2; n++) {
        pid_t child = fork();

        if (child == 0)
            _exit(run_failing(n));
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_msg(WIFEXITED(status), "call %u: signal %d", n, WTERMSIG(status));
        status = WEXITSTATUS(status);
        ck_assert_msg(status != 1, "call %u", n);
        ck_assert_uint_lt(n, 1000);
        (void)unlink("log");
    }
}
END_TEST

SC_SUITE_WITH("region_limits", room_enter, room_close, an_end_without_a_beginning_changes_nothing,
              a_beginning_that_cannot_be_used_begins_nothing, scopes_nest_only_so_deep,
              threads_that_end_with_scopes_open_leave_room_for_others,
              a_process_has_room_for_so_many_scopes_of_all_threads,
              a_process_whose_cache_is_off_still_balances_its_scopes,
              a_forked_child_does_not_take_its_own_open_scopes_for_others,
              a_forked_child_ends_its_parents_scopes_in_its_own_copy,
              after_the_end_of_the_run_scopes_still_balance,
              a_signal_handler_inside_an_allocation_begins_and_ends_nothing,
              scopes_do_not_show_in_errno, any_driver_call_that_fails_leaves_scopes_balanced)
