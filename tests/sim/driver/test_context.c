/* SPDX-License-Identifier: MIT
 * test_context.c - contexts, primary and made, and which one is current. */
#define CUDA_ENABLE_DEPRECATED /* cuCtxAttach, cuCtxDetach */
#include <pthread.h>

#include "support.h"

START_TEST(without_a_current_context_calls_say_so)
{
    CUdeviceptr address;
    CUcontext context = (CUcontext)1;
    CUdevice device;

    OK(cuInit(0));
    OK(cuCtxGetCurrent(&context));
    ck_assert_ptr_null(context);
    ANSWERS(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc(&address, 512));
    ANSWERS(CUDA_ERROR_INVALID_CONTEXT, cuCtxGetDevice(&device));
    ANSWERS(CUDA_ERROR_INVALID_CONTEXT, cuCtxSynchronize());
    ANSWERS(CUDA_ERROR_INVALID_CONTEXT, cuCtxPopCurrent(&context));
}
END_TEST

START_TEST(a_device_has_one_primary_context_while_it_is_retained)
{
    CUcontext first, second;
    unsigned flags;
    int active;

    OK(cuInit(0));
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    ck_assert_int_eq(active, 0);
    ANSWERS(CUDA_ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease(0));
    OK(cuDevicePrimaryCtxRetain(&first, 0));
    OK(cuDevicePrimaryCtxRetain(&second, 0));
    ck_assert_ptr_eq(first, second);
    OK(cuDevicePrimaryCtxRelease(0));
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    ck_assert_int_eq(active, 1);
    OK(cuDevicePrimaryCtxRelease(0));
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    ck_assert_int_eq(active, 0);
}
END_TEST

START_TEST(the_last_release_frees_what_the_context_owned)
{
    CUdeviceptr address;
    CUcontext context = start();

    OK(cuMemAlloc(&address, 4 * MIB));
    OK(cuDevicePrimaryCtxRelease(0));
    ANSWERS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuMemAlloc(&address, 512));
    INVALID(cuMemFree(address));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    ck_assert_uint_eq(mapped(), 0);
}
END_TEST

START_TEST(a_reset_ends_what_the_context_owned_and_keeps_the_retain)
{
    CUdeviceptr address;
    CUstream stream;
    CUevent event;
    CUcontext context = start();
    unsigned flags;
    int active;

    OK(cuMemAlloc(&address, 512));
    OK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    OK(cuEventCreate(&event, CU_EVENT_DEFAULT));
    note(stream, 1);
    OK(cuEventRecord(event, stream));
    OK(cuDevicePrimaryCtxReset(0));
    ck_assert_uint_eq(note_count(), 1);
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    ck_assert_int_eq(active, 0);
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    ANSWERS(CUDA_ERROR_INVALID_HANDLE, cuStreamQuery(stream));
    ANSWERS(CUDA_ERROR_INVALID_HANDLE, cuEventQuery(event));
    INVALID(cuMemFree(address));
    OK(cuDevicePrimaryCtxRelease(0));
    OK(cuDevicePrimaryCtxRelease(0));
}
END_TEST

START_TEST(flags_of_the_primary_context_are_kept_and_checked)
{
    unsigned flags;
    int active;

    OK(cuInit(0));
    OK(cuDevicePrimaryCtxSetFlags(0, CU_CTX_SCHED_BLOCKING_SYNC));
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    ck_assert_uint_eq(flags, CU_CTX_SCHED_BLOCKING_SYNC);
    INVALID(cuDevicePrimaryCtxSetFlags(0, 0x1000));
    INVALID(cuDevicePrimaryCtxSetFlags(0, CU_CTX_SCHED_SPIN | CU_CTX_SCHED_YIELD));
    start();
    OK(cuCtxGetFlags(&flags));
    ck_assert_uint_eq(flags, CU_CTX_SCHED_BLOCKING_SYNC);
}
END_TEST

START_TEST(a_created_context_is_current_until_it_is_destroyed)
{
    CUcontext first, second, current;

    OK(cuInit(0));
    OK(cuCtxCreate(&first, NULL, 0, 0));
    OK(cuCtxCreate(&second, NULL, 0, 0));
    ck_assert_ptr_ne(first, second);
    OK(cuCtxGetCurrent(&current));
    ck_assert_ptr_eq(current, second);
    OK(cuCtxDestroy(second));
    OK(cuCtxGetCurrent(&current));
    ck_assert_ptr_eq(current, first);
    ANSWERS(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy(second));
    ANSWERS(CUDA_ERROR_INVALID_CONTEXT, cuCtxSetCurrent(second));
}
END_TEST

START_TEST(the_primary_context_cannot_be_destroyed)
{
    ANSWERS(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy(start()));
}
END_TEST

START_TEST(a_context_destroyed_below_the_top_is_a_dead_one)
{
    CUcontext first, second;
    CUdeviceptr address;

    OK(cuInit(0));
    OK(cuCtxCreate(&first, NULL, 0, 0));
    OK(cuCtxCreate(&second, NULL, 0, 0));
    OK(cuCtxDestroy(first));
    OK(cuMemAlloc(&address, 512));
    OK(cuCtxPopCurrent(NULL));
    ANSWERS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuMemAlloc(&address, 512));
    ANSWERS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuCtxSynchronize());
}
END_TEST

START_TEST(set_current_replaces_the_top_and_null_pops_it)
{
    CUcontext primary = start();
    CUcontext made, current;

    OK(cuCtxCreate(&made, NULL, 0, 0));
    OK(cuCtxSetCurrent(primary));
    OK(cuCtxPopCurrent(&current));
    ck_assert_ptr_eq(current, primary);
    OK(cuCtxGetCurrent(&current));
    ck_assert_ptr_eq(current, primary);
    OK(cuCtxPushCurrent(made));
    OK(cuCtxSetCurrent(NULL));
    OK(cuCtxGetCurrent(&current));
    ck_assert_ptr_eq(current, primary);
    OK(cuCtxSetCurrent(NULL));
    OK(cuCtxSetCurrent(NULL));
    OK(cuCtxGetCurrent(&current));
    ck_assert_ptr_null(current);
}
END_TEST

static void *current_of_a_thread(void *unused)
{
    CUcontext current = (CUcontext)1;

    (void)unused;
    return cuCtxGetCurrent(&current) == CUDA_SUCCESS ? current : (CUcontext)2;
}

START_TEST(current_is_a_matter_of_each_thread)
{
    pthread_t thread;
    void *current;

    start();
    pthread_create(&thread, NULL, current_of_a_thread, NULL);
    pthread_join(thread, &current);
    ck_assert_ptr_null(current);
}
END_TEST

START_TEST(a_context_knows_its_device_id_version_and_limits)
{
    CUcontext primary, made;
    CUdevice device;
    unsigned long long first, second;
    unsigned version;
    size_t limit;

    with("DEVICES", "2");
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&primary, 1));
    OK(cuCtxCreate(&made, NULL, CU_CTX_SCHED_SPIN, 1));
    OK(cuCtxGetDevice(&device));
    ck_assert_int_eq(device, 1);
    OK(cuCtxGetId(primary, &first));
    OK(cuCtxGetId(NULL, &second));
    ck_assert_uint_ne(first, second);
    OK(cuCtxGetApiVersion(made, &version));
    ck_assert_uint_gt(version, 0);
    OK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096));
    OK(cuCtxGetLimit(&limit, CU_LIMIT_STACK_SIZE));
    ck_assert_uint_eq(limit, 4096);
    ANSWERS(CUDA_ERROR_UNSUPPORTED_LIMIT, cuCtxGetLimit(&limit, CU_LIMIT_MAX));
}
END_TEST

START_TEST(memory_of_one_context_outlives_another)
{
    CUcontext first, second;
    CUdeviceptr kept, lost;

    OK(cuInit(0));
    OK(cuCtxCreate(&first, NULL, 0, 0));
    OK(cuMemAlloc(&kept, 2 * MIB));
    OK(cuCtxCreate(&second, NULL, 0, 0));
    OK(cuMemAlloc(&lost, 2 * MIB));
    ck_assert_uint_eq(mapped(), 4 * MIB);
    OK(cuCtxDestroy(second));
    ck_assert_uint_eq(mapped(), 2 * MIB);
    INVALID(cuMemFree(lost));
    OK(cuMemFree(kept));
}
END_TEST

START_TEST(a_handle_may_come_back_but_nothing_that_was_its)
{
    unsigned long long id, later;
    CUcontext first, second;
    CUdeviceptr address;
    CUstream stream;
    size_t limit;

    OK(cuInit(0));
    OK(cuCtxCreate(&first, NULL, 0, 0));
    OK(cuCtxGetId(first, &id));
    OK(cuMemAlloc(&address, 4 * MIB));
    OK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    OK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096));
    OK(cuCtxDestroy(first));
    OK(cuCtxCreate(&second, NULL, 0, 0));
    ck_assert_ptr_eq(second, first);
    OK(cuCtxGetId(second, &later));
    ck_assert_uint_ne(later, id);
    ck_assert_uint_eq(mapped(), 0);
    INVALID(cuMemFree(address));
    ANSWERS(CUDA_ERROR_INVALID_HANDLE, cuStreamQuery(stream));
    OK(cuCtxGetLimit(&limit, CU_LIMIT_STACK_SIZE));
    ck_assert_uint_ne(limit, 4096);
    note(NULL, 1);
    OK(cuCtxSynchronize());
    ck_assert_uint_eq(note_count(), 1);
}
END_TEST

START_TEST(a_handle_that_a_thread_still_has_does_not_come_back)
{
    CUcontext first, second, third;
    CUdeviceptr address;

    OK(cuInit(0));
    OK(cuCtxCreate(&first, NULL, 0, 0));
    OK(cuCtxCreate(&second, NULL, 0, 0));
    OK(cuCtxDestroy(first)); /* below the top */
    OK(cuCtxCreate(&third, NULL, 0, 0));
    ck_assert_ptr_ne(third, first);
    OK(cuCtxPopCurrent(NULL));
    OK(cuCtxPopCurrent(NULL));
    ANSWERS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuMemAlloc(&address, 512));
}
END_TEST

START_TEST(whoever_attached_last_destroys_a_context_by_detaching)
{
    CUcontext context, same;
    CUdeviceptr address;

    OK(cuInit(0));
    OK(cuCtxCreate(&context, NULL, 0, 0));
    OK(cuMemAlloc(&address, 512));
    OK(cuCtxAttach(&same, 0));
    ck_assert_ptr_eq(same, context);
    INVALID(cuCtxAttach(&same, 1));
    OK(cuCtxDetach(context));
    OK(cuCtxSynchronize());
    OK(cuCtxDetach(context));
    ANSWERS(CUDA_ERROR_INVALID_CONTEXT, cuCtxSynchronize());
    ANSWERS(CUDA_ERROR_INVALID_CONTEXT, cuCtxDetach(context));
    INVALID(cuMemFree(address));
    ANSWERS(CUDA_ERROR_INVALID_CONTEXT, cuCtxDetach(start()));
}
END_TEST

START_TEST(streams_events_and_modules_of_a_dead_context_are_no_handles_any_more)
{
    CUcontext made;
    CUfunction kernel;
    CUstream stream;
    CUevent event;

    OK(cuInit(0));
    OK(cuCtxCreate(&made, NULL, 0, 0));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&event, CU_EVENT_DEFAULT));
    OK(cuEventRecord(event, stream));
    kernel = function("anything");
    OK(cuCtxDestroy(made));
    start();
    ANSWERS(CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize(stream));
    ANSWERS(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy(stream));
    ANSWERS(CUDA_ERROR_INVALID_HANDLE, cuEventSynchronize(event));
    ANSWERS(CUDA_ERROR_INVALID_HANDLE, cuEventDestroy(event));
    ANSWERS(CUDA_ERROR_INVALID_HANDLE, cuStreamWaitEvent(NULL, event, 0));
    ANSWERS(CUDA_ERROR_INVALID_HANDLE,
            cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
}
END_TEST

START_TEST(an_event_of_a_dead_context_still_releases_those_that_wait_for_it)
{
    static struct gate gate;
    CUcontext primary = start(), made;
    CUstream waiting, stream;
    CUevent event;

    OK(cuStreamCreate(&waiting, CU_STREAM_NON_BLOCKING));
    OK(cuCtxCreate(&made, NULL, 0, 0));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    gate_hold(&gate, stream);
    OK(cuEventRecord(event, stream));
    OK(cuCtxSetCurrent(primary));
    OK(cuStreamWaitEvent(waiting, event, 0));
    note(waiting, 1);
    gate_open(&gate);
    OK(cuCtxDestroy(made)); /* which lets its work finish */
    OK(cuStreamSynchronize(waiting));
    ck_assert_uint_eq(note_count(), 1);
}
END_TEST

START_TEST(memory_is_freed_whatever_context_is_current)
{
    CUcontext owner = start(), other;
    CUdeviceptr device, managed;
    void *pinned;

    OK(cuMemAlloc(&device, 2 * MIB));
    OK(cuMemAllocManaged(&managed, 512, CU_MEM_ATTACH_GLOBAL));
    OK(cuMemAllocHost(&pinned, 512));
    OK(cuCtxCreate(&other, NULL, 0, 0));
    OK(cuMemFree(device));
    OK(cuCtxSetCurrent(NULL));
    OK(cuCtxSetCurrent(NULL));
    OK(cuMemFree(managed));
    OK(cuMemFreeHost(pinned));
    OK(cuCtxSetCurrent(owner));
    ck_assert_uint_eq(mapped(), 0);
}
END_TEST

START_TEST(the_priority_range_is_told_to_whoever_asks)
{
    int least = 1, greatest = 1;

    start();
    OK(cuCtxGetStreamPriorityRange(&least, &greatest));
    ck_assert_int_eq(least, 0);
    ck_assert_int_lt(greatest, 0);
    OK(cuCtxGetStreamPriorityRange(NULL, NULL));
}
END_TEST

CUresult cuProfilerStart(void);
CUresult cuProfilerStop(void);

START_TEST(a_profiler_that_is_not_there_can_be_started_and_stopped)
{
    OK(cuInit(0));
    ANSWERS(CUDA_ERROR_INVALID_CONTEXT, cuProfilerStart());
    start();
    OK(cuProfilerStart());
    OK(cuProfilerStop());
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        without_a_current_context_calls_say_so,
        a_device_has_one_primary_context_while_it_is_retained,
        the_last_release_frees_what_the_context_owned,
        a_reset_ends_what_the_context_owned_and_keeps_the_retain,
        flags_of_the_primary_context_are_kept_and_checked,
        a_created_context_is_current_until_it_is_destroyed,
        the_primary_context_cannot_be_destroyed,
        a_context_destroyed_below_the_top_is_a_dead_one,
        set_current_replaces_the_top_and_null_pops_it,
        current_is_a_matter_of_each_thread,
        a_context_knows_its_device_id_version_and_limits,
        memory_of_one_context_outlives_another,
        a_handle_may_come_back_but_nothing_that_was_its,
        a_handle_that_a_thread_still_has_does_not_come_back,
        whoever_attached_last_destroys_a_context_by_detaching,
        streams_events_and_modules_of_a_dead_context_are_no_handles_any_more,
        an_event_of_a_dead_context_still_releases_those_that_wait_for_it,
        memory_is_freed_whatever_context_is_current,
        the_priority_range_is_told_to_whoever_asks,
        a_profiler_that_is_not_there_can_be_started_and_stopped,
        NULL};

    return run_tests("context", tests);
}
