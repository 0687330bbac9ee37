/* SPDX-License-Identifier: MIT
 * A capture that begins while another thread is about to wait for the device. */
#include "engine/process.h"
#include "support/room.h"
#include "support/suite.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

static const uint64_t sizes[] = {2 * MIB};

static atomic_ullong ticks; /* what each look at the clock adds to it, ns */
static atomic_ullong clock_now = 1000000000;

int __wrap_clock_gettime(clockid_t id, struct timespec *now);

int __wrap_clock_gettime(clockid_t id, struct timespec *now)
{
    uint64_t ns = atomic_fetch_add(&clock_now, atomic_load(&ticks));

    (void)id;
    *now =
        (struct timespec){.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
    return 0;
}

static pthread_t capturing;
static atomic_bool has_begun;

static void *begin_capture(void *unused)
{
    sc_engine_capture_begin();
    atomic_store(&has_begun, true);
    return unused;
}

static void begin_aside(void)
{
    ck_assert_int_eq(pthread_create(&capturing, NULL, begin_capture, NULL), 0);
    while (!sc_process_is_capturing())
        (void)sched_yield();
}

static void look_whether_it_begins(void)
{
    begin_aside();
    for (int i = 0; i < 1000; i++)
        (void)sched_yield();
    ck_assert(!atomic_load(&has_begun));
}

START_TEST(a_capture_begins_when_nobody_is_on_his_way_into_a_wait)
{
    room_fix(sizes, 1);
    sc_address block = room_alloc(sizes[0]);

    fake_on_wait(look_whether_it_begins); /* time stands still */
    room_free(block);
    fake_on_wait(NULL);
    ck_assert_int_eq(pthread_join(capturing, NULL), 0);
    ck_assert(atomic_load(&has_begun));
    sc_engine_capture_end();
}
END_TEST

static void wait_for_the_capture(void)
{
    begin_aside();
    ck_assert_int_eq(pthread_join(capturing, NULL), 0);
}

/* What the device works at may need what the capturing thread does next. */
START_TEST(a_capture_begins_although_a_wait_does_not_end)
{
    room_fix(sizes, 1);
    sc_address block = room_alloc(sizes[0]);

    atomic_store(&ticks, 1000);
    fake_on_wait(wait_for_the_capture);
    room_free(block);
    fake_on_wait(NULL);
    ck_assert(atomic_load(&has_begun));
    sc_engine_capture_end();
}
END_TEST

SC_SUITE_WITH("capture", room_enter, room_close,
              a_capture_begins_when_nobody_is_on_his_way_into_a_wait,
              a_capture_begins_although_a_wait_does_not_end)
