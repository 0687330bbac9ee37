/* SPDX-License-Identifier: MIT */
#include "engine/lock.h"
#include "support/suite.h"
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

enum { THREADS = 8, ROUNDS = 20000, ALL = THREADS * ROUNDS };

static sc_mutex mutex;
static unsigned guarded; /* not atomic: under -fsanitize=thread the lock has to be one */
static atomic_uint word, asleep;

static void *count_up(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        sc_mutex_take(&mutex);
        guarded++;
        sc_mutex_give(&mutex);
    }
    return unused;
}

static void run_threads(void *(*work)(void *), void (*meanwhile)(void))
{
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, work, NULL), 0);
    if (meanwhile)
        meanwhile();
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
}

START_TEST(one_thread_at_a_time_is_inside)
{
    run_threads(count_up, NULL);
    ck_assert_uint_eq(guarded, ALL);
    ck_assert_uint_eq(atomic_load(&mutex.state), 0);
}
END_TEST

/* Until somebody sleeps: then the state says so. */
static void hold_until_others_sleep(void)
{
    while (atomic_load(&mutex.state) != 2)
        (void)sched_yield();
    sc_mutex_give(&mutex);
}

START_TEST(every_thread_that_sleeps_is_woken)
{
    sc_mutex_take(&mutex);
    run_threads(count_up, hold_until_others_sleep);
    ck_assert_uint_eq(guarded, ALL);
}
END_TEST

static void *await_change(void *unused)
{
    atomic_fetch_add(&asleep, 1);
    while (atomic_load(&word) == 0)
        sc_word_wait(&word, 0);
    return unused;
}

static void change(void)
{
    while (atomic_load(&asleep) < THREADS)
        (void)sched_yield();
    atomic_store(&word, 1);
    sc_word_wake_all(&word);
}

START_TEST(a_change_wakes_everyone_and_is_never_missed)
{
    for (int i = 0; i < 200; i++) {
        atomic_store(&word, 0);
        atomic_store(&asleep, 0);
        run_threads(await_change, change);
    }
}
END_TEST

SC_SUITE("lock", one_thread_at_a_time_is_inside, every_thread_that_sleeps_is_woken,
         a_change_wakes_everyone_and_is_never_missed)
