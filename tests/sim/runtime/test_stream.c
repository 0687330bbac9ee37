/* SPDX-License-Identifier: MIT
 * test_stream.c - streams and events: order, flags, priorities, host functions, times. */
#include "hold.h"

#include <stdatomic.h>

START_TEST(a_stream_has_the_flags_and_the_device_it_was_made_with)
{
    cudaStream_t stream;
    unsigned flags = 99;
    int device = -1;
    unsigned long long first = 0;
    unsigned long long second = 0;

    ok(cudaStreamCreate(&stream));
    ok(cudaStreamGetFlags(stream, &flags));
    ck_assert_uint_eq(flags, cudaStreamDefault);
    ok(cudaStreamGetId(stream, &first));
    ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    ok(cudaStreamGetFlags(stream, &flags));
    ck_assert_uint_eq(flags, cudaStreamNonBlocking);
    ok(cudaStreamGetId(stream, &second));
    ck_assert_uint_ne(first, second);
    ok(cudaStreamGetDevice(stream, &device));
    ck_assert_int_eq(device, 0);
    ok(cudaStreamGetDevice(NULL, &device));
    ck_assert_int_eq(device, 0);
    ok(cudaStreamDestroy(stream));
}
END_TEST

START_TEST(a_priority_out_of_range_is_clamped)
{
    cudaStream_t stream;
    int least = 0;
    int greatest = 0;
    int priority = 99;

    ok(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    ok(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest));
    ok(cudaStreamGetPriority(stream, &priority));
    ck_assert_int_eq(priority, greatest);
    ok(cudaStreamCreateWithPriority(&stream, cudaStreamDefault, greatest - 100));
    ok(cudaStreamGetPriority(stream, &priority));
    ck_assert_int_eq(priority, greatest);
}
END_TEST

START_TEST(what_is_no_stream_is_refused)
{
    cudaStream_t stream;

    fails(cudaErrorInvalidValue, cudaStreamCreate(NULL));
    fails(cudaErrorInvalidValue, cudaStreamCreateWithFlags(&stream, 0x40));
    fails(cudaErrorInvalidResourceHandle, cudaStreamDestroy(NULL));
    fails(cudaErrorInvalidResourceHandle, cudaStreamDestroy(cudaStreamLegacy));
    fails(cudaErrorInvalidValue, cudaStreamGetFlags(NULL, NULL));
    fails(cudaErrorInvalidValue, cudaStreamGetPriority(NULL, NULL));
}
END_TEST

START_TEST(a_stream_with_work_is_not_ready_until_it_is_done)
{
    cudaStream_t stream;
    sem_t gate;

    ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    ok(cudaStreamQuery(stream));
    hold(stream, &gate);
    fails(cudaErrorNotReady, cudaStreamQuery(stream));
    let_go(&gate);
    ok(cudaStreamSynchronize(stream));
    ok(cudaStreamQuery(stream));
}
END_TEST

static void store_1(void *value)
{
    atomic_store((_Atomic int *)value, 1);
}

static void store_stream(cudaStream_t stream, cudaError_t status, void *value)
{
    if (status == cudaSuccess)
        *(cudaStream_t *)value = stream;
}

START_TEST(a_host_function_runs_when_the_stream_gets_there)
{
    _Atomic int value = 0;
    cudaStream_t stream;
    cudaStream_t told = NULL;
    sem_t gate;

    ok(cudaStreamCreate(&stream));
    hold(stream, &gate);
    ok(cudaLaunchHostFunc(stream, store_1, &value));
    ok(cudaStreamAddCallback(stream, store_stream, &told, 0));
    ck_assert_int_eq(atomic_load(&value), 0);
    let_go(&gate);
    ok(cudaStreamSynchronize(stream));
    ck_assert_int_eq(atomic_load(&value), 1);
    ck_assert_ptr_eq(told, stream);
    fails(cudaErrorInvalidValue, cudaLaunchHostFunc(stream, NULL, NULL));
    fails(cudaErrorInvalidValue, cudaStreamAddCallback(stream, store_stream, NULL, 1));
}
END_TEST

START_TEST(a_stream_waits_for_an_event_of_another)
{
    cudaStream_t first;
    cudaStream_t second;
    cudaEvent_t event;
    unsigned char *memory = NULL;
    unsigned char *host = NULL;
    sem_t gate;

    ok(cudaMalloc((void **)&memory, MIB));
    ok(cudaMallocHost((void **)&host, 1));
    *host = 0;
    ok(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    ok(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    ok(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    ok(cudaDeviceSynchronize());
    hold(first, &gate);
    ok(cudaMemsetAsync(memory, 8, MIB, first));
    ok(cudaEventRecord(event, first));
    ok(cudaStreamWaitEvent(second, event, 0));
    ok(cudaMemcpyAsync(host, memory, 1, cudaMemcpyDeviceToHost, second));
    fails(cudaErrorNotReady, cudaStreamQuery(second));
    let_go(&gate);
    ok(cudaStreamSynchronize(second));
    ck_assert_int_eq(*host, 8);
    fails(cudaErrorInvalidResourceHandle, cudaStreamWaitEvent(second, NULL, 0));
}
END_TEST

START_TEST(an_event_is_done_when_the_work_before_it_is)
{
    cudaEvent_t event;
    sem_t gate;

    ok(cudaEventCreate(&event));
    ok(cudaEventQuery(event)); /* never recorded: nothing to wait for */
    hold(NULL, &gate);
    ok(cudaEventRecordWithFlags(event, NULL, cudaEventRecordDefault));
    fails(cudaErrorNotReady, cudaEventQuery(event));
    let_go(&gate);
    ok(cudaEventSynchronize(event));
    ok(cudaEventQuery(event));
    ok(cudaEventDestroy(event));
}
END_TEST

START_TEST(the_time_between_two_events_is_the_time_of_the_work)
{
    cudaEvent_t start;
    cudaEvent_t end;
    float milliseconds = -1;
    sem_t gate;

    ok(cudaEventCreate(&start));
    ok(cudaEventCreate(&end));
    ok(cudaEventRecord(start, NULL));
    hold(NULL, &gate);
    ok(cudaEventRecord(end, NULL));
    fails(cudaErrorNotReady, cudaEventElapsedTime(&milliseconds, start, end));
    ck_assert_float_eq(milliseconds, -1);
    let_go(&gate);
    ok(cudaEventSynchronize(end));
    ok(cudaEventElapsedTime(&milliseconds, start, end));
    ck_assert_float_ge(milliseconds, 0);
}
END_TEST

START_TEST(an_event_without_timing_or_record_has_no_time)
{
    cudaEvent_t timed;
    cudaEvent_t untimed;
    float milliseconds = 0;

    ok(cudaEventCreate(&timed));
    ok(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
    fails(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&milliseconds, timed, timed));
    ok(cudaEventRecord(timed, NULL));
    ok(cudaEventRecord(untimed, NULL));
    ok(cudaDeviceSynchronize());
    fails(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&milliseconds, timed, untimed));
}
END_TEST

START_TEST(what_is_no_event_is_refused)
{
    cudaEvent_t event;

    fails(cudaErrorInvalidValue, cudaEventCreate(NULL));
    fails(cudaErrorInvalidValue, cudaEventCreateWithFlags(&event, 1u << 10));
    fails(cudaErrorInvalidResourceHandle, cudaEventRecord(NULL, NULL));
    fails(cudaErrorInvalidResourceHandle, cudaEventQuery(NULL));
    fails(cudaErrorInvalidResourceHandle, cudaEventSynchronize(NULL));
    fails(cudaErrorInvalidResourceHandle, cudaEventDestroy(NULL));
    ok(cudaEventCreate(&event));
    fails(cudaErrorInvalidValue, cudaEventElapsedTime(NULL, event, event));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_stream_has_the_flags_and_the_device_it_was_made_with,
        a_priority_out_of_range_is_clamped,
        what_is_no_stream_is_refused,
        a_stream_with_work_is_not_ready_until_it_is_done,
        a_host_function_runs_when_the_stream_gets_there,
        a_stream_waits_for_an_event_of_another,
        an_event_is_done_when_the_work_before_it_is,
        the_time_between_two_events_is_the_time_of_the_work,
        an_event_without_timing_or_record_has_no_time,
        what_is_no_event_is_refused,
    };

    return run_tests("stream", tests, sizeof(tests) / sizeof(tests[0]));
}
