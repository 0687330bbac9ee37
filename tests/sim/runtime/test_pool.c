/* SPDX-License-Identifier: MIT
 * test_pool.c - allocation in stream order and memory pools by the runtime's calls. */
#include "run.h"

#include <string.h>

static cudaMemPool_t standard(void)
{
    cudaMemPool_t pool = NULL;

    ok(cudaDeviceGetDefaultMemPool(&pool, 0));
    return pool;
}

static unsigned long long get(cudaMemPool_t pool, enum cudaMemPoolAttr attribute)
{
    unsigned long long value = 0;

    ok(cudaMemPoolGetAttribute(pool, attribute, &value));
    return value;
}

START_TEST(memory_is_allocated_used_and_freed_in_stream_order)
{
    cudaStream_t stream;
    void *pointer = NULL;
    void *again = NULL;
    char text[6] = "";

    ok(cudaStreamCreate(&stream));
    ok(cudaMallocAsync(&pointer, 1000, stream));
    ok(cudaMemcpyAsync(pointer, "hello", 6, cudaMemcpyHostToDevice, stream));
    ok(cudaMemcpyAsync(text, pointer, 6, cudaMemcpyDeviceToHost, stream));
    ok(cudaFreeAsync(pointer, stream));
    ok(cudaMallocAsync(&again, 1000, stream));
    ck_assert_ptr_eq(again, pointer);
    ok(cudaFree(again));
    ok(cudaStreamSynchronize(stream));
    ck_assert_str_eq(text, "hello");
    ck_assert_uint_eq(get(standard(), cudaMemPoolAttrUsedMemCurrent), 0);
}
END_TEST

START_TEST(no_bytes_are_a_success_without_memory)
{
    void *pointer = &pointer;

    ok(cudaMallocAsync(&pointer, 0, NULL));
    ck_assert_ptr_null(pointer);
    fails(cudaErrorInvalidValue, cudaMallocAsync(NULL, 8, NULL));
    fails(cudaErrorInvalidValue, cudaFreeAsync(NULL, NULL));
}
END_TEST

START_TEST(out_of_memory_is_said_and_leaves_the_pool_usable)
{
    void *pointer = NULL;

    fails(cudaErrorMemoryAllocation, cudaMallocAsync(&pointer, (size_t)100 << 30, NULL));
    ok(cudaMallocAsync(&pointer, MIB, NULL));
    ok(cudaFreeAsync(pointer, NULL));
}
END_TEST

START_TEST(a_pool_of_ones_own_is_made_used_trimmed_and_destroyed)
{
    struct cudaMemPoolProps properties;
    struct cudaMemLocation here = {.type = cudaMemLocationTypeDevice, .id = 0};
    enum cudaMemAccessFlags flags = cudaMemAccessFlagsProtNone;
    unsigned long long threshold = 1ull << 40;
    cudaMemPool_t pool = NULL;
    cudaMemPool_t found = NULL;
    void *pointer = NULL;

    memset(&properties, 0, sizeof(properties));
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location = here;
    ok(cudaMemPoolCreate(&pool, &properties));
    ok(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    ck_assert_uint_eq(get(pool, cudaMemPoolAttrReleaseThreshold), threshold);
    ok(cudaMemPoolGetAccess(&flags, pool, &here));
    ck_assert_int_eq(flags, cudaMemAccessFlagsProtReadWrite);
    ok(cudaMallocFromPoolAsync(&pointer, MIB, pool, NULL));
    ok(cudaFreeAsync(pointer, NULL));
    ok(cudaDeviceSynchronize());
    ck_assert_uint_eq(get(pool, cudaMemPoolAttrReservedMemCurrent), 32 * MIB);
    ok(cudaMemPoolTrimTo(pool, 0));
    ck_assert_uint_eq(get(pool, cudaMemPoolAttrReservedMemCurrent), 0);
    ok(cudaDeviceSetMemPool(0, pool));
    ok(cudaDeviceGetMemPool(&found, 0));
    ck_assert_ptr_eq(found, pool);
    ok(cudaMemPoolDestroy(pool));
    ok(cudaDeviceGetMemPool(&found, 0));
    ck_assert_ptr_eq(found, standard());
    fails(cudaErrorInvalidValue, cudaMemPoolDestroy(pool));
}
END_TEST

START_TEST(a_place_has_the_pools_of_its_device)
{
    struct cudaMemLocation here = {.type = cudaMemLocationTypeDevice, .id = 0};
    cudaMemPool_t pool = NULL;

    ok(cudaMemGetDefaultMemPool(&pool, &here, cudaMemAllocationTypePinned));
    ck_assert_ptr_eq(pool, standard());
    ok(cudaMemGetMemPool(&pool, &here, cudaMemAllocationTypePinned));
    ck_assert_ptr_eq(pool, standard());
    ok(cudaMemSetMemPool(&here, cudaMemAllocationTypePinned, pool));
}
END_TEST

START_TEST(a_pointer_from_a_pool_is_device_memory)
{
    struct cudaPointerAttributes attributes;
    struct cudaDeviceProp properties;
    void *pointer = NULL;

    ok(cudaMallocAsync(&pointer, MIB, NULL));
    ok(cudaPointerGetAttributes(&attributes, pointer));
    ck_assert_int_eq(attributes.type, cudaMemoryTypeDevice);
    ck_assert_int_eq(attributes.device, 0);
    ok(cudaFreeAsync(pointer, NULL));
    ok(cudaGetDeviceProperties(&properties, 0));
    ck_assert_int_eq(properties.memoryPoolsSupported, 1);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        memory_is_allocated_used_and_freed_in_stream_order,
        no_bytes_are_a_success_without_memory,
        out_of_memory_is_said_and_leaves_the_pool_usable,
        a_pool_of_ones_own_is_made_used_trimmed_and_destroyed,
        a_place_has_the_pools_of_its_device,
        a_pointer_from_a_pool_is_device_memory,
    };

    return run_tests("pool", tests, sizeof(tests) / sizeof(tests[0]));
}
