/* SPDX-License-Identifier: MIT
 * The first requests of a process, made by two threads at once. */
#include "engine/engine.h"
#include "support/fake_driver.h"
#include "support/lines.h"
#include "support/room.h"
#include "support/suite.h"
#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static sc_driver driver;
static pthread_t second;
static atomic_bool has_second_come;
static bool is_to_be_cancelled;
static atomic_int answered = -1; /* the worse of the second thread's two answers */
static _Thread_local bool is_second;

/* Of itself nothing here is a place where it may be cancelled. */
static void *ask_as_well(void *unused)
{
    sc_address address = 0;

    is_second = true;
    fake_set_current(fake_primary(0));
    int allocated = sc_engine_alloc(&address, MIB, NULL), freed = sc_engine_free(address);

    atomic_store(&answered, allocated ? allocated : freed);
    atomic_store(&has_second_come, true); /* however it was served */
    return unused;
}

/* Where the second thread asks whether the process may start: from here on it can only wait. */
static int context_current(sc_context *context)
{
    if (is_second)
        atomic_store(&has_second_come, true);
    return fake_driver.context_current(context);
}

/* Called once, by the thread that starts. */
static int mem_info(size_t *free_bytes, size_t *total_bytes)
{
    if (!second) {
        ck_assert_int_eq(pthread_create(&second, NULL, ask_as_well, NULL), 0);
        while (!atomic_load(&has_second_come))
            (void)sched_yield();
        if (is_to_be_cancelled)
            ck_assert_int_eq(pthread_cancel(second), 0);
    }
    return fake_driver.mem_info(free_bytes, total_bytes);
}

static void ask_at_once(void)
{
    sc_address address = room_alloc(2 * MIB);

    ck_assert_int_eq(pthread_join(second, NULL), 0);
    ck_assert_int_eq(atomic_load(&answered), SC_CUDA_SUCCESS);
    room_free(address);
    sc_engine_finish();
    lines log = lines_read("log");

    ck_assert_uint_eq(lines_count(&log, "alloc"), 2);
    ck_assert_uint_eq(lines_count(&log, "free"), 2);
    ck_assert_uint_eq(lines_u64(lines_of(&log, "end", 0), "requests"), 2);
    lines_release(&log);
}

START_TEST(a_request_made_while_another_thread_starts_the_cache_is_in_the_log)
{
    ask_at_once();
}
END_TEST

START_TEST(a_thread_is_not_cancelled_while_another_starts_the_cache)
{
    is_to_be_cancelled = true;
    ask_at_once();
}
END_TEST

static void open_room(void)
{
    static const sc_engine_host host = {.driver = &driver};

    driver = fake_driver;
    driver.context_current = context_current;
    driver.mem_info = mem_info;
    sc_engine_attach(&host); /* the first one counts, and the room brings its own */
    (void)setenv("SHAPECACHE_LOG_LEVEL", "event", 1);
    room_enter();
}

SC_SUITE_WITH("start", open_room, room_close,
              a_request_made_while_another_thread_starts_the_cache_is_in_the_log,
              a_thread_is_not_cancelled_while_another_starts_the_cache)
