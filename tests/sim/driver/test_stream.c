/* SPDX-License-Identifier: MIT
 * test_stream.c - order within and between streams, and who waits for whom.
 *
 * Wrong order is made likely with delays (SIMCUDA_STREAM_DELAY_NS) and right order is what is
 * checked, so a right implementation passes however slow the machine is. */
#include <pthread.h>
#include <stdlib.h>

#include "support.h"

#define DELAYED_FIRST "1:30000000" /* the first stream created starts everything 30 ms late */

static void expect_notes(size_t count, const int *numbers)
{
    ck_assert_uint_eq(note_count(), count);
    for (size_t i = 0; i < count; i++)
        ck_assert_int_eq(note_at(i), numbers[i]);
}

START_TEST(a_stream_runs_its_operations_in_order)
{
    CUstream stream;

    start();
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < 500; i++)
        if (i % 2)
            note(stream, i);
        else
            note_by_kernel(stream, i);
    OK(cuStreamSynchronize(stream));
    ck_assert_uint_eq(note_count(), 500);
    for (int i = 0; i < 500; i++)
        ck_assert_int_eq(note_at((size_t)i), i);
}
END_TEST

START_TEST(the_legacy_stream_waits_for_blocking_streams)
{
    CUstream late;

    with("STREAM_DELAY_NS", DELAYED_FIRST);
    start();
    OK(cuStreamCreate(&late, CU_STREAM_DEFAULT));
    note(late, 1);
    note(NULL, 2);
    OK(cuStreamSynchronize(NULL));
    expect_notes(2, (int[]){1, 2});
}
END_TEST

START_TEST(blocking_streams_wait_for_the_legacy_stream)
{
    CUstream stream;

    with("STREAM_DELAY_NS", "0:30000000");
    start();
    OK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    note(NULL, 1);
    note(stream, 2);
    OK(cuStreamSynchronize(stream));
    expect_notes(2, (int[]){1, 2});
}
END_TEST

START_TEST(the_legacy_stream_does_not_wait_for_what_comes_after)
{
    CUstream stream;
    static struct gate gate;

    start();
    OK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    note(NULL, 1);
    gate_hold(&gate, stream); /* enqueued later, so the note above must not need it */
    gate_reached(&gate);
    expect_notes(1, (int[]){1});
    gate_open(&gate);
}
END_TEST

START_TEST(work_around_the_legacy_stream_is_three_layers)
{
    CUstream late, second;

    with("STREAM_DELAY_NS", DELAYED_FIRST);
    start();
    OK(cuStreamCreate(&late, CU_STREAM_DEFAULT));
    OK(cuStreamCreate(&second, CU_STREAM_DEFAULT));
    note(late, 1);
    note(NULL, 2);
    note(second, 3);
    OK(cuStreamSynchronize(second));
    expect_notes(3, (int[]){1, 2, 3});
}
END_TEST

START_TEST(a_non_blocking_stream_and_the_legacy_stream_do_not_wait_for_each_other)
{
    CUstream stream;
    static struct gate gate;

    start();
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    gate_hold(&gate, NULL);
    note(stream, 1);
    OK(cuStreamSynchronize(stream)); /* hangs if it waits */
    expect_notes(1, (int[]){1});
    gate_open(&gate);
    OK(cuStreamSynchronize(NULL));
    gate_hold(&gate, stream);
    note(NULL, 2);
    OK(cuStreamSynchronize(NULL));
    expect_notes(2, (int[]){1, 2});
    gate_open(&gate);
}
END_TEST

START_TEST(two_blocking_streams_run_side_by_side)
{
    CUstream first, second;
    static struct gate gate;

    start();
    OK(cuStreamCreate(&first, CU_STREAM_DEFAULT));
    OK(cuStreamCreate(&second, CU_STREAM_DEFAULT));
    gate_hold(&gate, first);
    note(second, 1);
    OK(cuStreamSynchronize(second));
    gate_open(&gate);
}
END_TEST

START_TEST(a_query_says_not_ready_while_work_is_left)
{
    CUstream stream;
    static struct gate gate;

    start();
    OK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    OK(cuStreamQuery(stream));
    gate_hold(&gate, stream);
    ANSWERS(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
    ANSWERS(CUDA_ERROR_NOT_READY, cuStreamQuery(NULL)); /* work there would have to wait for it */
    gate_open(&gate);
    OK(cuStreamSynchronize(stream));
    OK(cuStreamQuery(stream));
    OK(cuStreamQuery(NULL));
}
END_TEST

START_TEST(synchronising_the_legacy_stream_covers_blocking_streams)
{
    CUstream late;

    with("STREAM_DELAY_NS", DELAYED_FIRST);
    start();
    OK(cuStreamCreate(&late, CU_STREAM_DEFAULT));
    note(late, 1);
    OK(cuStreamSynchronize(CU_STREAM_LEGACY));
    expect_notes(1, (int[]){1});
}
END_TEST

START_TEST(synchronising_the_context_covers_every_stream)
{
    CUstream late, destroyed;

    with("DELAY_NS", "10000000");
    start();
    OK(cuStreamCreate(&late, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&destroyed, CU_STREAM_NON_BLOCKING));
    note(late, 1);
    note(late, 1);
    note(destroyed, 1);
    note(destroyed, 1);
    OK(cuStreamDestroy(destroyed));
    OK(cuCtxSynchronize());
    ck_assert_uint_eq(note_count(), 4);
}
END_TEST

START_TEST(destroying_a_stream_returns_at_once_and_its_work_finishes)
{
    CUstream stream;
    static struct gate gate;

    start();
    OK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    gate_hold(&gate, stream);
    note(stream, 1);
    OK(cuStreamDestroy(stream)); /* hangs if it waits */
    ck_assert_uint_eq(note_count(), 0);
    ANSWERS(CUDA_ERROR_INVALID_HANDLE, cuStreamQuery(stream));
    ANSWERS(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy(stream));
    gate_open(&gate);
    OK(cuCtxSynchronize());
    expect_notes(1, (int[]){1});
}
END_TEST

START_TEST(handles_that_are_no_stream_are_refused)
{
    CUevent event;
    int nothing[64] = {0};

    start();
    OK(cuEventCreate(&event, CU_EVENT_DEFAULT));
    ANSWERS(CUDA_ERROR_INVALID_HANDLE, cuStreamQuery((CUstream)event));
    ANSWERS(CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize((CUstream)nothing));
    ANSWERS(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy(NULL));
    ANSWERS(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(event, (CUstream)nothing));
}
END_TEST

START_TEST(a_stream_tells_its_flags_priority_context_and_id)
{
    CUcontext context = start(), owner;
    CUstream stream, second;
    unsigned flags;
    unsigned long long first_id, second_id;
    int priority, least, greatest;

    OK(cuCtxGetStreamPriorityRange(&least, &greatest));
    OK(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, greatest - 100));
    OK(cuStreamCreateWithPriority(&second, CU_STREAM_DEFAULT, least + 100));
    OK(cuStreamGetFlags(stream, &flags));
    ck_assert_uint_eq(flags, CU_STREAM_NON_BLOCKING);
    OK(cuStreamGetPriority(stream, &priority));
    ck_assert_int_eq(priority, greatest);
    OK(cuStreamGetPriority(second, &priority));
    ck_assert_int_eq(priority, least);
    OK(cuStreamGetCtx(stream, &owner));
    ck_assert_ptr_eq(owner, context);
    OK(cuStreamGetId(stream, &first_id));
    OK(cuStreamGetId(second, &second_id));
    ck_assert_uint_ne(first_id, second_id);
    OK(cuStreamGetFlags(NULL, &flags));
    ck_assert_uint_eq(flags, CU_STREAM_DEFAULT);
    INVALID(cuStreamCreate(&stream, 0x10));
    INVALID(cuStreamCreate(NULL, 0));
    INVALID(cuStreamGetFlags(stream, NULL));
}
END_TEST

static void *use_own_stream(void *argument)
{
    CUcontext context = argument;
    static struct gate gate;
    unsigned long long *id = calloc(1, sizeof *id);

    OK(cuCtxSetCurrent(context));
    gate_hold(&gate, CU_STREAM_PER_THREAD);
    gate_open(&gate);
    OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    OK(cuStreamGetId(CU_STREAM_PER_THREAD, id));
    return id;
}

START_TEST(each_thread_has_a_default_stream_of_its_own)
{
    CUcontext context = start();
    static struct gate gate;
    pthread_t thread;
    unsigned long long own, *others;
    void *result;

    gate_hold(&gate, CU_STREAM_PER_THREAD);
    OK(cuStreamGetId(CU_STREAM_PER_THREAD, &own));
    pthread_create(&thread, NULL, use_own_stream, context);
    pthread_join(thread, &result); /* hangs if the two share a stream */
    others = result;
    ck_assert_uint_ne(own, *others);
    free(others);
    ANSWERS(CUDA_ERROR_NOT_READY, cuStreamQuery(CU_STREAM_PER_THREAD));
    ANSWERS(CUDA_ERROR_NOT_READY, cuStreamQuery(CU_STREAM_LEGACY)); /* it is a blocking stream */
    gate_open(&gate);
}
END_TEST

static void call_the_driver(void *result)
{
    *(CUresult *)result = cuCtxSynchronize();
}

START_TEST(a_host_function_may_not_call_the_driver)
{
    CUresult result = CUDA_SUCCESS;

    start();
    OK(cuLaunchHostFunc(NULL, call_the_driver, &result));
    OK(cuStreamSynchronize(NULL));
    ck_assert_int_eq(result, CUDA_ERROR_NOT_PERMITTED);
    INVALID(cuLaunchHostFunc(NULL, NULL, NULL));
}
END_TEST

static void callback(CUstream stream, CUresult status, void *data)
{
    *(CUstream *)data = status == CUDA_SUCCESS ? stream : NULL;
}

START_TEST(a_callback_is_told_its_stream)
{
    CUstream stream, told = NULL;

    start();
    OK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    OK(cuStreamAddCallback(stream, callback, &told, 0));
    OK(cuStreamSynchronize(stream));
    ck_assert_ptr_eq(told, stream);
    INVALID(cuStreamAddCallback(stream, callback, &told, 1));
}
END_TEST

static void callback_status(CUstream stream, CUresult status, void *data)
{
    (void)stream;
    *(CUresult *)data = status;
}

START_TEST(after_an_error_callbacks_are_told_and_host_functions_not_called)
{
    static struct gate gate;
    static CUresult told;
    CUdeviceptr address;
    CUstream stream;

    with("FAIL", "cuMemAlloc:1:700");
    start();
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    gate_hold(&gate, stream);
    note(stream, 1);
    OK(cuStreamAddCallback(stream, callback_status, &told, 0));
    ANSWERS(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemAlloc(&address, 512));
    gate_open(&gate);
    ANSWERS(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
    ck_assert_uint_eq(note_count(), 0);
    ck_assert_int_eq(told, CUDA_ERROR_ILLEGAL_ADDRESS);
}
END_TEST

/* Streams of random kind get operations that note the order they were enqueued in; each stream's
 * own order, and the order against the legacy stream, must hold whatever the delays. */
START_TEST(random_work_keeps_the_order_of_the_default_stream)
{
    uint64_t state = seed();
    CUstream streams[5] = {NULL};
    int stream_of[600];
    size_t count = sizeof stream_of / sizeof *stream_of;

    with("STREAM_DELAY_NS", "1:200000,3:90000");
    start();
    for (int i = 1; i < 5; i++)
        OK(cuStreamCreate(&streams[i], i < 3 ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING));
    for (size_t i = 0; i < count; i++) {
        stream_of[i] = (int)(next_random(&state) % 5);
        note(streams[stream_of[i]], (int)i);
    }
    OK(cuCtxSynchronize());
    ck_assert_uint_eq(note_count(), count);
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count; j++) {
            int early = note_at(i), late = note_at(j);
            int a = stream_of[early], b = stream_of[late];

            if (a == b || (a == 0 && b < 3) || (b == 0 && a < 3))
                ck_assert_int_lt(early, late);
        }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_stream_runs_its_operations_in_order,
        the_legacy_stream_waits_for_blocking_streams,
        blocking_streams_wait_for_the_legacy_stream,
        the_legacy_stream_does_not_wait_for_what_comes_after,
        work_around_the_legacy_stream_is_three_layers,
        a_non_blocking_stream_and_the_legacy_stream_do_not_wait_for_each_other,
        two_blocking_streams_run_side_by_side,
        a_query_says_not_ready_while_work_is_left,
        synchronising_the_legacy_stream_covers_blocking_streams,
        synchronising_the_context_covers_every_stream,
        destroying_a_stream_returns_at_once_and_its_work_finishes,
        handles_that_are_no_stream_are_refused,
        a_stream_tells_its_flags_priority_context_and_id,
        each_thread_has_a_default_stream_of_its_own,
        a_host_function_may_not_call_the_driver,
        a_callback_is_told_its_stream,
        after_an_error_callbacks_are_told_and_host_functions_not_called,
        random_work_keeps_the_order_of_the_default_stream,
        NULL};

    return run_tests("stream", tests);
}
