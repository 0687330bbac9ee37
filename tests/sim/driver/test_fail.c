/* SPDX-License-Identifier: MIT
 * test_fail.c - SIMCUDA_FAIL, and errors that stay. */
#include "support.h"

START_TEST(exactly_the_nth_call_fails)
{
    CUdeviceptr address;

    with("FAIL", "cuMemAlloc_v2:3");
    start();
    for (int i = 1; i <= 6; i++)
        ANSWERS(i == 3 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS, cuMemAlloc(&address, 512));
}
END_TEST

START_TEST(a_failed_allocation_takes_no_memory)
{
    CUdeviceptr address = 5;

    with("FAIL", "cuMemAlloc:1");
    start();
    ANSWERS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&address, 4 * MIB));
    ck_assert_uint_eq(address, 5);
    ck_assert_uint_eq(mapped(), 0);
}
END_TEST

START_TEST(a_base_name_counts_all_its_spellings)
{
    with("FAIL", "cuStreamSynchronize:2:801");
    start();
    OK(cuStreamSynchronize(NULL));
    {
        CUresult (*per_thread)(CUstream);

        OK(cuGetProcAddress("cuStreamSynchronize", (void **)&per_thread, 12000,
                            CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, NULL));
        ANSWERS(CUDA_ERROR_NOT_SUPPORTED, per_thread(NULL));
    }
    OK(cuStreamSynchronize(NULL));
}
END_TEST

START_TEST(several_calls_can_fail_with_codes_of_their_own)
{
    CUdeviceptr address;
    CUstream stream;

    with("FAIL", "cuMemAlloc:1,cuMemAlloc:3:999,cuStreamCreate:1:304");
    start();
    ANSWERS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&address, 512));
    OK(cuMemAlloc(&address, 512));
    ANSWERS(CUDA_ERROR_UNKNOWN, cuMemAlloc(&address, 512));
    ANSWERS(CUDA_ERROR_OPERATING_SYSTEM, cuStreamCreate(&stream, 0));
    OK(cuStreamCreate(&stream, 0));
}
END_TEST

START_TEST(a_sticky_error_is_returned_by_every_later_call_in_the_context)
{
    CUdeviceptr address;
    CUstream stream;
    CUevent event;

    with("FAIL", "cuCtxSynchronize:1");
    start();
    OK(cuMemAlloc(&address, 512));
    OK(cuStreamCreate(&stream, 0));
    OK(cuEventCreate(&event, 0));
    ANSWERS(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
    ANSWERS(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
    ANSWERS(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemFree(address));
    ANSWERS(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemAlloc(&address, 512));
    ANSWERS(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemcpyDtoH(&event, address, 8));
    ANSWERS(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(stream));
    ANSWERS(CUDA_ERROR_ILLEGAL_ADDRESS, cuEventQuery(event));
    ANSWERS(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamDestroy(stream));
}
END_TEST

START_TEST(a_sticky_error_is_the_contexts_alone_and_ends_with_it)
{
    CUcontext primary, other;
    CUdeviceptr address;

    with("FAIL", "cuStreamSynchronize:1:719");
    primary = start();
    OK(cuMemAlloc(&address, 4 * MIB));
    ANSWERS(CUDA_ERROR_LAUNCH_FAILED, cuStreamSynchronize(NULL));
    OK(cuCtxCreate(&other, NULL, 0, 0));
    OK(cuMemAlloc(&address, 512));
    OK(cuCtxSetCurrent(primary));
    ANSWERS(CUDA_ERROR_LAUNCH_FAILED, cuMemAlloc(&address, 512));
    OK(cuDevicePrimaryCtxReset(0));
    OK(cuDevicePrimaryCtxRetain(&primary, 0));
    OK(cuMemAlloc(&address, 512));
    ck_assert_uint_eq(mapped(), 2 * MIB);
}
END_TEST

START_TEST(an_error_that_is_not_sticky_passes)
{
    with("FAIL", "cuCtxSynchronize:1:2");
    start();
    ANSWERS(CUDA_ERROR_OUT_OF_MEMORY, cuCtxSynchronize());
    OK(cuCtxSynchronize());
}
END_TEST

START_TEST(cuInit_can_fail)
{
    with("FAIL", "cuInit:1:999");
    ANSWERS(CUDA_ERROR_UNKNOWN, cuInit(0));
    OK(cuInit(0));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {exactly_the_nth_call_fails,
                                  a_failed_allocation_takes_no_memory,
                                  a_base_name_counts_all_its_spellings,
                                  several_calls_can_fail_with_codes_of_their_own,
                                  a_sticky_error_is_returned_by_every_later_call_in_the_context,
                                  a_sticky_error_is_the_contexts_alone_and_ends_with_it,
                                  an_error_that_is_not_sticky_passes,
                                  cuInit_can_fail,
                                  NULL};

    return run_tests("fail", tests);
}
