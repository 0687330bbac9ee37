/* SPDX-License-Identifier: MIT
 * test_memory.c - device and pinned memory. */
#include "run.h"

#include <stdint.h>
#include <string.h>

START_TEST(nothing_asked_for_is_a_success_without_memory)
{
    void *pointer = &pointer;

    ok(cudaMalloc(&pointer, 0));
    ck_assert_ptr_null(pointer);
    pointer = &pointer;
    ok(cudaMallocHost(&pointer, 0));
    ck_assert_ptr_null(pointer);
}
END_TEST

START_TEST(freeing_null_initialises_and_succeeds)
{
    ok(cudaFree(NULL));
    ok(cudaFreeHost(NULL));
}
END_TEST

START_TEST(a_null_output_is_an_invalid_value)
{
    fails(cudaErrorInvalidValue, cudaMalloc(NULL, 16));
    fails(cudaErrorInvalidValue, cudaMallocHost(NULL, 16));
    fails(cudaErrorInvalidValue, cudaHostAlloc(NULL, 16, cudaHostAllocDefault));
    fails(cudaErrorInvalidValue, cudaMemGetInfo(NULL, NULL));
    fails(cudaErrorInvalidValue, cudaPointerGetAttributes(NULL, NULL));
}
END_TEST

START_TEST(out_of_memory_leaves_the_output_alone)
{
    void *pointer = &pointer;
    size_t free_bytes = 0;
    size_t total = 0;

    ok(cudaMemGetInfo(&free_bytes, &total));
    fails(cudaErrorMemoryAllocation, cudaMalloc(&pointer, total + 1));
    ck_assert_ptr_eq(pointer, &pointer);
    ok(cudaMalloc(&pointer, MIB));
}
END_TEST

START_TEST(memory_is_aligned_to_256_bytes_and_counted)
{
    size_t before = 0;
    size_t during = 0;
    size_t after = 0;
    size_t total = 0;
    void *small = NULL;
    void *large = NULL;

    ok(cudaMemGetInfo(&before, &total));
    ok(cudaMalloc(&small, 1));
    ok(cudaMalloc(&large, 5 * MIB));
    ok(cudaMemGetInfo(&during, &total));
    ck_assert_uint_eq((uintptr_t)small % 256, 0);
    ck_assert_uint_eq((uintptr_t)large % 256, 0);
    ck_assert_uint_ge(before - during, 6 * MIB);
    ok(cudaFree(small));
    ok(cudaFree(large));
    ok(cudaMemGetInfo(&after, &total));
    ck_assert_uint_eq(before, after);
}
END_TEST

START_TEST(a_pointer_that_is_no_allocation_cannot_be_freed)
{
    char local = 0;
    char *pointer = NULL;

    ok(cudaMalloc((void **)&pointer, MIB));
    fails(cudaErrorInvalidValue, cudaFree(&local));
    fails(cudaErrorInvalidValue, cudaFree(pointer + 256));
    ok(cudaFree(pointer));
    fails(cudaErrorInvalidValue, cudaFree(pointer));
    fails(cudaErrorInvalidValue, cudaFreeHost(&local));
}
END_TEST

START_TEST(pinned_memory_is_host_memory_the_device_knows)
{
    struct cudaPointerAttributes attributes;
    unsigned flags = 99;
    void *device = NULL;
    char *host = NULL;

    ok(cudaHostAlloc((void **)&host, MIB, cudaHostAllocMapped | cudaHostAllocPortable));
    memset(host, 7, MIB);
    ok(cudaHostGetDevicePointer(&device, host, 0));
    ck_assert_ptr_nonnull(device);
    ok(cudaHostGetFlags(&flags, host));
    ck_assert_uint_eq(flags & cudaHostAllocPortable, cudaHostAllocPortable);
    ok(cudaPointerGetAttributes(&attributes, host));
    ck_assert_int_eq(attributes.type, cudaMemoryTypeHost);
    ck_assert_ptr_eq(attributes.hostPointer, host);
    ok(cudaFreeHost(host));
    fails(cudaErrorInvalidValue, cudaHostAlloc((void **)&host, MIB, 1u << 30));
}
END_TEST

START_TEST(attributes_of_device_memory_name_its_device)
{
    struct cudaPointerAttributes attributes;
    char *pointer = NULL;

    ok(cudaMalloc((void **)&pointer, MIB));
    ok(cudaPointerGetAttributes(&attributes, pointer + 1000));
    ck_assert_int_eq(attributes.type, cudaMemoryTypeDevice);
    ck_assert_int_eq(attributes.device, 0);
    ck_assert_ptr_eq(attributes.devicePointer, pointer + 1000);
    ck_assert_ptr_null(attributes.hostPointer);
}
END_TEST

START_TEST(ordinary_memory_is_unregistered_and_no_error)
{
    struct cudaPointerAttributes attributes;
    int local = 0;

    ok(cudaPointerGetAttributes(&attributes, &local));
    ck_assert_int_eq(attributes.type, cudaMemoryTypeUnregistered);
    ck_assert_int_eq(attributes.device, cudaInvalidDeviceId);
    ck_assert_ptr_null(attributes.devicePointer);
    ck_assert_ptr_eq(attributes.hostPointer, &local);
}
END_TEST

START_TEST(flags_of_memory_that_is_not_pinned_are_an_error)
{
    unsigned flags = 42;
    int local = 0;

    fails(cudaErrorInvalidValue, cudaHostGetFlags(&flags, &local));
    ck_assert_uint_eq(flags, 42);
    fails(cudaErrorInvalidValue, cudaHostGetFlags(NULL, &local));
}
END_TEST

START_TEST(the_nth_driver_call_fails_when_told_to)
{
    void *pointer = NULL;

    ck_assert_int_eq(setenv("SIMCUDA_FAIL", "cuMemAlloc_v2:2", 1), 0);
    ok(cudaMalloc(&pointer, 16));
    ck_assert_int_eq(cudaMalloc(&pointer, 16), cudaErrorMemoryAllocation);
    ok(cudaMalloc(&pointer, 16));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        nothing_asked_for_is_a_success_without_memory,
        freeing_null_initialises_and_succeeds,
        a_null_output_is_an_invalid_value,
        out_of_memory_leaves_the_output_alone,
        memory_is_aligned_to_256_bytes_and_counted,
        a_pointer_that_is_no_allocation_cannot_be_freed,
        pinned_memory_is_host_memory_the_device_knows,
        attributes_of_device_memory_name_its_device,
        ordinary_memory_is_unregistered_and_no_error,
        flags_of_memory_that_is_not_pinned_are_an_error,
        the_nth_driver_call_fails_when_told_to,
    };

    return run_tests("memory", tests, sizeof(tests) / sizeof(tests[0]));
}
