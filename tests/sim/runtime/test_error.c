/* SPDX-License-Identifier: MIT
 * test_error.c - error names and texts, and the rules of the last error. */
#include "hold.h"

#include <pthread.h>
#include <string.h>

START_TEST(every_error_has_its_name_and_a_text)
{
    ck_assert_str_eq(cudaGetErrorName(cudaSuccess), "cudaSuccess");
    ck_assert_str_eq(cudaGetErrorString(cudaSuccess), "no error");
    ck_assert_str_eq(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation");
    ck_assert_str_eq(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
    ck_assert_str_eq(cudaGetErrorName(cudaErrorUnknown), "cudaErrorUnknown");
    ck_assert_str_eq(cudaGetErrorName(cudaErrorApiFailureBase), "cudaErrorApiFailureBase");
}
END_TEST

START_TEST(a_number_that_is_no_error_is_unrecognized)
{
    ck_assert_str_eq(cudaGetErrorName((cudaError_t)12345), "unrecognized error code");
    ck_assert_str_eq(cudaGetErrorString((cudaError_t)12345), "unrecognized error code");
}
END_TEST

START_TEST(the_last_error_stays_until_it_is_got)
{
    void *pointer = NULL;

    ck_assert_int_eq(cudaGetLastError(), cudaSuccess);
    ck_assert_int_eq(cudaSetDevice(99), cudaErrorInvalidDevice);
    ok(cudaMalloc(&pointer, 1));
    ck_assert_int_eq(cudaPeekAtLastError(), cudaErrorInvalidDevice);
    ck_assert_int_eq(cudaGetLastError(), cudaErrorInvalidDevice);
    ck_assert_int_eq(cudaGetLastError(), cudaSuccess);
    ck_assert_int_eq(cudaPeekAtLastError(), cudaSuccess);
}
END_TEST

START_TEST(a_later_error_replaces_the_last_one)
{
    ck_assert_int_eq(cudaSetDevice(99), cudaErrorInvalidDevice);
    ck_assert_int_eq(cudaMalloc(NULL, 1), cudaErrorInvalidValue);
    ck_assert_int_eq(cudaGetLastError(), cudaErrorInvalidValue);
    ck_assert_int_eq(cudaGetLastError(), cudaSuccess);
}
END_TEST

static void *get_last_error(void *result)
{
    *(cudaError_t *)result = cudaGetLastError();
    return NULL;
}

START_TEST(each_thread_has_its_own_last_error)
{
    cudaError_t other = cudaErrorUnknown;
    pthread_t thread;

    ck_assert_int_eq(cudaSetDevice(99), cudaErrorInvalidDevice);
    ck_assert_int_eq(pthread_create(&thread, NULL, get_last_error, &other), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(other, cudaSuccess);
    ck_assert_int_eq(cudaGetLastError(), cudaErrorInvalidDevice);
}
END_TEST

START_TEST(not_ready_is_an_error_like_the_others)
{
    cudaEvent_t event;
    sem_t gate;

    ok(cudaEventCreate(&event));
    hold(NULL, &gate);
    ok(cudaEventRecord(event, NULL));
    fails(cudaErrorNotReady, cudaEventQuery(event));
    let_go(&gate);
    ok(cudaEventSynchronize(event));
    ok(cudaEventQuery(event));
}
END_TEST

START_TEST(a_sticky_error_is_returned_by_every_later_call_and_never_cleared)
{
    void *pointer = NULL;
    size_t bytes = 0;

    ck_assert_int_eq(setenv("SIMCUDA_FAIL", "cuCtxSynchronize:1:700", 1), 0);
    ok(cudaMalloc(&pointer, MIB));
    ck_assert_int_eq(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    ck_assert_int_eq(cudaGetLastError(), cudaErrorIllegalAddress);
    ck_assert_int_eq(cudaGetLastError(), cudaErrorIllegalAddress);
    ck_assert_int_eq(cudaPeekAtLastError(), cudaErrorIllegalAddress);
    ck_assert_int_eq(cudaMemGetInfo(&bytes, &bytes), cudaErrorIllegalAddress);
    ck_assert_int_eq(cudaFree(pointer), cudaErrorIllegalAddress);
    ck_assert_int_eq(cudaMalloc(&pointer, 1), cudaErrorIllegalAddress);
}
END_TEST

START_TEST(a_device_reset_ends_a_sticky_error)
{
    void *pointer = NULL;

    ck_assert_int_eq(setenv("SIMCUDA_FAIL", "cuCtxSynchronize:1:719", 1), 0);
    ok(cudaFree(NULL));
    ck_assert_int_eq(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
    ok(cudaDeviceReset());
    (void)cudaGetLastError();
    ck_assert_int_eq(cudaGetLastError(), cudaSuccess);
    ok(cudaMalloc(&pointer, 1));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        every_error_has_its_name_and_a_text,
        a_number_that_is_no_error_is_unrecognized,
        the_last_error_stays_until_it_is_got,
        a_later_error_replaces_the_last_one,
        each_thread_has_its_own_last_error,
        not_ready_is_an_error_like_the_others,
        a_sticky_error_is_returned_by_every_later_call_and_never_cleared,
        a_device_reset_ends_a_sticky_error,
    };

    return run_tests("error", tests, sizeof(tests) / sizeof(tests[0]));
}
