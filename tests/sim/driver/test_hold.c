/* SPDX-License-Identifier: MIT
 * test_hold.c - a thread is stopped inside a call until it is let go. */
#include <pthread.h>
#include <stdatomic.h>

#include "support.h"

static atomic_int done;
static sem_t go;

static void *allocate(void *context)
{
    CUdeviceptr memory;

    while (sem_wait(&go) != 0)
        continue;
    OK(cuCtxSetCurrent(context));
    OK(cuMemAlloc(&memory, MIB));
    atomic_fetch_add(&done, 1);
    OK(cuMemFree(memory));
    return NULL;
}

static pthread_t start_thread(CUcontext context, const char *name)
{
    pthread_t thread;

    ck_assert_int_eq(pthread_create(&thread, NULL, allocate, context), 0);
    ck_assert_int_eq(pthread_setname_np(thread, name), 0);
    sem_post(&go);
    return thread;
}

START_TEST(a_named_thread_stops_at_the_named_call_and_holds_up_nobody)
{
    CUcontext context = start();
    pthread_t held, other;

    sem_init(&go, 0, 0);
    ck_assert_int_eq(simcuda_hold_thread("held", "cuMemAlloc"), 0);
    held = start_thread(context, "held");
    simcuda_await_thread("held");
    other = start_thread(context, "other");
    pthread_join(other, NULL);
    ck_assert_int_eq(atomic_load(&done), 1);
    ck_assert_uint_eq(mapped(), 0);
    simcuda_release_thread("held");
    pthread_join(held, NULL);
    ck_assert_int_eq(atomic_load(&done), 2);
}
END_TEST

START_TEST(only_a_function_that_exists_and_a_thread_not_held_yet_can_be_named)
{
    ck_assert_int_ne(simcuda_hold_thread("held", "cuMemAllocate"), 0);
    ck_assert_int_ne(simcuda_hold_thread("", "cuMemAlloc"), 0);
    ck_assert_int_eq(simcuda_hold_thread("held", "cuMemFree_v2"), 0);
    ck_assert_int_ne(simcuda_hold_thread("held", "cuMemAlloc"), 0);
    simcuda_release_thread("held");
    ck_assert_int_eq(simcuda_hold_thread("held", "cuMemAlloc"), 0);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_named_thread_stops_at_the_named_call_and_holds_up_nobody,
        only_a_function_that_exists_and_a_thread_not_held_yet_can_be_named,
        NULL,
    };

    return run_tests("hold", tests);
}
