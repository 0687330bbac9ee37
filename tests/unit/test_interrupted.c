/* SPDX-License-Identifier: MIT
 * What may come between two instructions of ours: signal handlers that come back to us or end the
 * process, cancellation, other threads at the end of the run. Calls of malloc are counted. */
#include "engine/device.h"
#include "engine/logbook.h"
#include "engine/thread.h"
#include "support/heap.h"
#include "support/room.h"
#include "support/suite.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { HANDLED = 2000, SIZES = 4 };

static const uint64_t sizes[SIZES] = {3 * MIB, 3 * MIB, 4 * MIB, 100 * KIB};

static volatile sig_atomic_t handled;

/* Whoever is interrupted while he holds a device's or the table's lock holds it for good. */
static void come_back(int number)
{
    (void)number;
    handled++;
    sc_engine_frees_elsewhere(0x1000);
    sc_engine_context_ends(0x1000);
    sc_engine_result(700);
}

START_TEST(a_signal_handler_never_waits_for_the_thread_it_interrupted)
{
    static const struct itimerval often = {{0, 20}, {0, 20}}, never = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = come_back};

    room_free(room_alloc(MIB));
    ck_assert_int_eq(sigaction(SIGALRM, &action, NULL), 0);
    ck_assert_int_eq(setitimer(ITIMER_REAL, &often, NULL), 0);
    while (handled < HANDLED) {
        for (int i = 0; i < 100; i++) {
            sc_engine_frees_elsewhere(0x2000);
            sc_engine_context_ends(0x2000);
            sc_engine_bypassed("an allocation went another way");
        }
    }
    ck_assert_int_eq(setitimer(ITIMER_REAL, &never, NULL), 0);
}
END_TEST

static void assert_ends_once(void)
{
    lines log = room_log();

    ck_assert_uint_eq(lines_count(&log, "end"), 1);
    ck_assert_ptr_eq(lines_of(&log, "end", 0), log.line[log.count - 1]);
    lines_release(&log);
}

/* As when a handler calls exit() while the thread is in a cudaFree's wait, where it is longest. */
START_TEST(the_end_may_come_in_the_middle_of_a_free)
{
    room_fix(sizes, SIZES);
    sc_address block = room_alloc(sizes[0]);

    fake_on_wait(sc_engine_finish);
    room_free(block);
    fake_on_wait(NULL);
    assert_ends_once();
}
END_TEST

START_TEST(the_end_does_not_wait_for_a_lock_that_its_own_thread_holds)
{
    room_free(room_alloc(MIB));
    sc_device *device = sc_device_by_ordinal(0);

    sc_lock(&device->lock);
    sc_engine_finish(); /* would hang */
    sc_unlock(&device->lock);
    sc_engine_finish();
    assert_ends_once();
}
END_TEST

/* exit() in a handler that interrupted malloc() must not need malloc(). */
START_TEST(the_end_takes_nothing_from_the_heap)
{
    for (uint64_t i = 0; i < 500; i++)
        room_free(room_alloc(MIB + 512 * i));
    unsigned before = atomic_load(&allocations);

    sc_engine_finish();
    ck_assert_uint_eq(atomic_load(&allocations), before);
    lines log = room_log();

    ck_assert_uint_ge(lines_count(&log, "shape"), 500);
    lines_release(&log);
}
END_TEST

START_TEST(nothing_is_written_after_the_end)
{
    room_fix(sizes, SIZES);
    sc_engine_finish();
    sc_logbook_warn("a thread that was still at work");
    sc_logbook_flush();
    assert_ends_once();
    char *said = room_stderr();

    ck_assert_ptr_null(strstr(said, "could not be written"));
    free(said);
}
END_TEST

START_TEST(a_hit_takes_nothing_from_the_heap)
{
    room_fix(sizes, SIZES);
    unsigned before = atomic_load(&allocations), failures = 0;

    for (int i = 0; i < 100; i++) { /* checks allocate, so they come afterwards */
        sc_address block = 0;

        failures += sc_engine_alloc(&block, sizes[i % SIZES], NULL) != SC_CUDA_SUCCESS;
        failures += sc_engine_free(block) != SC_CUDA_SUCCESS;
    }
    unsigned after = atomic_load(&allocations);

    ck_assert_uint_eq(failures, 0);
    ck_assert_uint_eq(after, before);
}
END_TEST

static bool is_through;

/* Starts the cache, fills a log, says something on stderr, all with a cancellation waiting. */
static void *work_cancelled(void *unused)
{
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    fake_set_current(fake_primary(0));
    (void)pthread_cancel(pthread_self());
    (void)pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    for (int i = 0; i < 6; i++) {
        sc_address block = 0;

        if (sc_engine_alloc(&block, MIB, NULL) != SC_CUDA_SUCCESS ||
            sc_engine_free(block) != SC_CUDA_SUCCESS || sc_engine_step(0) != 0)
            return unused;
    }
    is_through = true;
    return unused;
}

START_TEST(an_allocation_is_no_place_to_be_cancelled)
{
    pthread_t thread;

    ck_assert_int_eq(pthread_create(&thread, NULL, work_cancelled, NULL), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert(is_through);
    char *said = room_stderr();

    ck_assert_ptr_nonnull(strstr(said, "] fixed at step "));
    free(said);
}
END_TEST

SC_SUITE_WITH("interrupted", room_enter, room_close,
              a_signal_handler_never_waits_for_the_thread_it_interrupted,
              the_end_may_come_in_the_middle_of_a_free,
              the_end_does_not_wait_for_a_lock_that_its_own_thread_holds,
              the_end_takes_nothing_from_the_heap, nothing_is_written_after_the_end,
              a_hit_takes_nothing_from_the_heap, an_allocation_is_no_place_to_be_cancelled)
