/* SPDX-License-Identifier: MIT
 * test_pool.c - memory pools: allocation in stream order, what a pool keeps, whose pool is used. */
#include "pools.h"

static struct gate gate;

START_TEST(a_device_says_that_it_has_pools)
{
    int value = 0;

    start();
    OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 0));
    ck_assert_int_eq(value, 1);
    OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES, 0));
    ck_assert_int_eq(value, CU_MEM_HANDLE_TYPE_NONE);
}
END_TEST

START_TEST(a_pool_takes_chunks_of_the_device_and_counts_what_is_used)
{
    CUstream stream;
    CUdeviceptr small, large;

    start();
    stream = new_stream();
    ck_assert_uint_eq(mapped(), 0);
    small = alloc(1000, stream);
    ck_assert_uint_eq(mapped(), CHUNK);
    ck_assert_uint_eq(get(standard(), CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), CHUNK);
    ck_assert_uint_eq(get(standard(), CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 1024);
    large = alloc(CHUNK + 1, stream);
    ck_assert_uint_eq(mapped(), 2 * CHUNK + 2 * MIB);
    OK(cuMemFreeAsync(large, stream));
    OK(cuMemFreeAsync(small, stream));
    ck_assert_uint_eq(get(standard(), CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0);
    ck_assert_uint_eq(get(standard(), CU_MEMPOOL_ATTR_USED_MEM_HIGH), CHUNK + 512 + 1024);
    ck_assert_uint_eq(get(standard(), CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), 2 * CHUNK + 2 * MIB);
}
END_TEST

START_TEST(memory_is_usable_in_stream_order_and_reads_back)
{
    CUstream stream;
    CUdeviceptr address;
    char text[6] = "";

    start();
    stream = new_stream();
    gate_hold(&gate, stream);
    address = alloc(100, stream);
    ck_assert_uint_eq(address % 512, 0);
    OK(cuMemcpyHtoDAsync(address, "hello", 6, stream));
    gate_open(&gate);
    OK(cuMemcpyDtoHAsync(text, address, 6, stream));
    OK(cuStreamSynchronize(stream));
    ck_assert_str_eq(text, "hello");
}
END_TEST

START_TEST(a_stream_gets_back_at_once_what_was_freed_on_it)
{
    CUstream stream;
    CUdeviceptr first, second;

    start();
    stream = new_stream();
    gate_hold(&gate, stream);
    first = alloc(MIB, stream);
    OK(cuMemFreeAsync(first, stream));
    second = alloc(MIB, stream);
    ck_assert_uint_eq(second, first);
    ck_assert_uint_eq(mapped(), CHUNK);
    gate_open(&gate);
}
END_TEST

START_TEST(another_stream_gets_it_only_when_the_free_is_done)
{
    CUstream stream, other;
    CUdeviceptr first, second, third;

    start();
    keep(standard(), UINT64_MAX);
    stream = new_stream();
    other = new_stream();
    first = alloc(MIB, stream);
    gate_hold(&gate, stream);
    OK(cuMemFreeAsync(first, stream));
    second = alloc(MIB, other);
    ck_assert_uint_ne(second, first);
    gate_open(&gate);
    OK(cuStreamSynchronize(stream));
    third = alloc(MIB, other);
    ck_assert_uint_eq(third, first);
}
END_TEST

START_TEST(a_stream_waits_for_another_rather_than_run_out_of_memory)
{
    CUstream stream, other;
    CUdeviceptr first, second = 0;
    char byte = 0;

    with("MEMORY", "32MiB");
    start();
    stream = new_stream();
    other = new_stream();
    first = alloc(30 * MIB, stream);
    gate_hold(&gate, stream);
    OK(cuMemsetD8Async(first, 'x', 1, stream));
    OK(cuMemFreeAsync(first, stream));
    OK(cuMemAllocAsync(&second, 30 * MIB, other));
    ck_assert_uint_eq(second, first);
    OK(cuMemsetD8Async(second, 'y', 1, other));
    ANSWERS(CUDA_ERROR_NOT_READY, cuStreamQuery(other));
    gate_open(&gate);
    OK(cuMemcpyDtoHAsync(&byte, second, 1, other));
    OK(cuStreamSynchronize(other));
    ck_assert_int_eq(byte, 'y');
}
END_TEST

START_TEST(without_such_waits_allowed_it_runs_out)
{
    CUstream stream, other;
    CUdeviceptr address;
    int no = 0;

    with("MEMORY", "32MiB");
    start();
    OK(cuMemPoolSetAttribute(standard(), CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, &no));
    stream = new_stream();
    other = new_stream();
    address = alloc(30 * MIB, stream);
    gate_hold(&gate, stream);
    OK(cuMemFreeAsync(address, stream));
    ANSWERS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocAsync(&address, 30 * MIB, other));
    gate_open(&gate);
}
END_TEST

START_TEST(more_than_the_device_has_is_out_of_memory)
{
    CUdeviceptr address;

    with("MEMORY", "16MiB");
    start();
    ANSWERS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocAsync(&address, 100 * GIB, NULL));
    ANSWERS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocAsync(&address, 17 * MIB, NULL));
    address = alloc(16 * MIB, NULL); /* a chunk does not fit, this does */
    ANSWERS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocAsync(&address, 1, NULL));
}
END_TEST

static size_t mapped_after(CUresult (*wait)(CUstream stream, CUevent event))
{
    CUstream stream = new_stream();
    CUdeviceptr address = alloc(MIB, stream);
    CUevent event;

    OK(cuEventCreate(&event, CU_EVENT_DEFAULT));
    OK(cuMemFreeAsync(address, stream));
    OK(cuEventRecord(event, stream));
    OK(wait(stream, event));
    return mapped();
}

static CUresult wait_stream(CUstream stream, CUevent event)
{
    (void)event;
    return cuStreamSynchronize(stream);
}

static CUresult wait_event(CUstream stream, CUevent event)
{
    (void)stream;
    return cuEventSynchronize(event);
}

static CUresult wait_context(CUstream stream, CUevent event)
{
    (void)stream;
    (void)event;
    return cuCtxSynchronize();
}

START_TEST(each_way_to_wait_gives_back_what_is_above_the_threshold)
{
    start();
    ck_assert_uint_eq(mapped_after(wait_stream), 0);
    ck_assert_uint_eq(mapped_after(wait_event), 0);
    ck_assert_uint_eq(mapped_after(wait_context), 0);
    keep(standard(), CHUNK);
    ck_assert_uint_eq(mapped_after(wait_stream), CHUNK);
    ck_assert_uint_eq(mapped_after(wait_context), CHUNK);
}
END_TEST

START_TEST(nothing_goes_back_that_an_operation_may_still_use)
{
    CUstream stream;
    CUdeviceptr address;

    start();
    stream = new_stream();
    address = alloc(MIB, stream);
    gate_hold(&gate, stream);
    OK(cuMemFreeAsync(address, stream));
    OK(cuMemPoolTrimTo(standard(), 0));
    ck_assert_uint_eq(mapped(), CHUNK);
    gate_open(&gate);
    OK(cuStreamSynchronize(stream));
    ck_assert_uint_eq(mapped(), 0);
}
END_TEST

START_TEST(a_trim_leaves_what_it_is_told_to)
{
    CUdeviceptr addresses[3];

    start();
    keep(standard(), UINT64_MAX);
    for (int i = 0; i < 3; i++)
        addresses[i] = alloc(CHUNK, NULL);
    for (int i = 0; i < 3; i++)
        OK(cuMemFreeAsync(addresses[i], NULL));
    OK(cuCtxSynchronize());
    ck_assert_uint_eq(mapped(), 3 * CHUNK);
    OK(cuMemPoolTrimTo(standard(), CHUNK + 1));
    ck_assert_uint_eq(mapped(), 2 * CHUNK);
    OK(cuMemPoolTrimTo(standard(), 0));
    ck_assert_uint_eq(mapped(), 0);
}
END_TEST

START_TEST(what_a_pool_keeps_is_there_for_others_when_the_device_runs_out)
{
    CUdeviceptr address, plain;

    with("MEMORY", "64MiB");
    start();
    keep(standard(), UINT64_MAX);
    address = alloc(60 * MIB, NULL);
    ANSWERS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&plain, 60 * MIB));
    OK(cuMemFreeAsync(address, NULL));
    OK(cuCtxSynchronize());
    ck_assert_uint_eq(mapped(), 60 * MIB);
    OK(cuMemAlloc(&plain, 60 * MIB));
}
END_TEST

START_TEST(cuMemFree_waits_and_gives_the_memory_to_the_pool)
{
    CUdeviceptr address;

    start();
    keep(standard(), UINT64_MAX);
    address = alloc(MIB, NULL);
    OK(cuMemsetD8Async(address, 1, MIB, NULL));
    OK(cuMemFree(address));
    ck_assert_uint_eq(get(standard(), CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0);
    INVALID(cuMemFree(address));
    INVALID(cuMemFreeAsync(address, NULL));
    ck_assert_uint_eq(alloc(MIB, NULL), address);
}
END_TEST

START_TEST(calls_that_make_no_sense_are_invalid)
{
    CUdeviceptr address = 0, plain;
    CUmemPoolProps wanted = properties();
    CUmemoryPool pool;

    start();
    INVALID(cuMemAllocAsync(NULL, 1, NULL));
    INVALID(cuMemAllocAsync(&address, 0, NULL));
    INVALID(cuMemFreeAsync(0, NULL));
    address = alloc(MIB, NULL);
    INVALID(cuMemFreeAsync(address + 512, NULL));
    ANSWERS(CUDA_ERROR_INVALID_HANDLE, cuMemFreeAsync(address, (CUstream)standard()));
    INVALID(cuMemAllocFromPoolAsync(&address, MIB, (CUmemoryPool)&plain, NULL));
    OK(cuMemAlloc(&plain, MIB));
    INVALID(cuMemFreeAsync(plain, NULL));
    INVALID(cuMemPoolCreate(NULL, &wanted));
    wanted.allocType = CU_MEM_ALLOCATION_TYPE_INVALID;
    INVALID(cuMemPoolCreate(&pool, &wanted));
    wanted = properties();
    wanted.location.id = 1;
    ANSWERS(CUDA_ERROR_INVALID_DEVICE, cuMemPoolCreate(&pool, &wanted));
    wanted = properties();
    wanted.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    ANSWERS(CUDA_ERROR_NOT_SUPPORTED, cuMemPoolCreate(&pool, &wanted));
    INVALID(cuMemPoolDestroy(standard()));
}
END_TEST

START_TEST(a_high_water_mark_can_only_be_reset)
{
    CUdeviceptr address;
    cuuint64_t value = 5;

    start();
    address = alloc(MIB, NULL);
    OK(cuMemFreeAsync(address, NULL));
    INVALID(cuMemPoolSetAttribute(standard(), CU_MEMPOOL_ATTR_USED_MEM_HIGH, &value));
    value = 0;
    OK(cuMemPoolSetAttribute(standard(), CU_MEMPOOL_ATTR_USED_MEM_HIGH, &value));
    ck_assert_uint_eq(get(standard(), CU_MEMPOOL_ATTR_USED_MEM_HIGH), 0);
    INVALID(cuMemPoolSetAttribute(standard(), CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &value));
    INVALID(cuMemPoolGetAttribute(standard(), (CUmemPool_attribute)99, &value));
}
END_TEST

START_TEST(a_pool_of_ones_own_is_used_when_it_is_named_or_current)
{
    CUmemoryPool pool, found = NULL;
    CUdeviceptr address = 0;
    void *of = NULL;

    start();
    pool = create();
    OK(cuMemAllocFromPoolAsync(&address, MIB, pool, NULL));
    ck_assert_uint_eq(get(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), MIB);
    OK(cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, address));
    ck_assert_ptr_eq(of, pool);
    OK(cuDeviceGetMemPool(&found, 0));
    ck_assert_ptr_eq(found, standard());
    OK(cuDeviceSetMemPool(0, pool));
    OK(cuDeviceGetMemPool(&found, 0));
    ck_assert_ptr_eq(found, pool);
    (void)alloc(MIB, NULL);
    ck_assert_uint_eq(get(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 2 * MIB);
    OK(cuMemPoolDestroy(pool));
    OK(cuDeviceGetMemPool(&found, 0));
    ck_assert_ptr_eq(found, standard());
    INVALID(cuDeviceSetMemPool(0, pool));
}
END_TEST

START_TEST(a_destroyed_pool_goes_with_its_last_allocation)
{
    CUmemoryPool pool;
    CUdeviceptr address = 0;

    start();
    pool = create();
    OK(cuMemAllocFromPoolAsync(&address, MIB, pool, NULL));
    OK(cuMemPoolDestroy(pool));
    ck_assert_uint_eq(mapped(), CHUNK);
    OK(cuMemsetD8(address, 1, MIB));
    OK(cuMemFreeAsync(address, NULL));
    OK(cuCtxSynchronize());
    ck_assert_uint_eq(mapped(), 0);
}
END_TEST

START_TEST(a_pool_has_no_more_than_its_most)
{
    CUmemPoolProps wanted = properties();
    CUmemoryPool pool;
    CUdeviceptr address;

    start();
    wanted.maxSize = 4 * MIB;
    OK(cuMemPoolCreate(&pool, &wanted));
    ANSWERS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocFromPoolAsync(&address, 5 * MIB, pool, NULL));
    OK(cuMemAllocFromPoolAsync(&address, 4 * MIB, pool, NULL));
}
END_TEST

START_TEST(a_pointer_from_a_pool_answers_for_its_own_allocation)
{
    CUdeviceptr address, base = 0;
    CUcontext context = (CUcontext)1;
    size_t bytes = 0;
    int answer = 9;

    start();
    address = alloc(1000, NULL);
    OK(cuMemGetAddressRange(&base, &bytes, address + 999));
    ck_assert_uint_eq(base, address);
    ck_assert_uint_eq(bytes, 1000);
    OK(cuPointerGetAttribute(&answer, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address));
    ck_assert_int_eq(answer, CU_MEMORYTYPE_DEVICE);
    OK(cuPointerGetAttribute(&answer, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, address));
    ck_assert_int_eq(answer, 0);
    OK(cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, address));
    ck_assert_ptr_null(context);
    ANSWERS(CUDA_ERROR_NOT_FOUND, cuMemGetAddressRange(&base, &bytes, address + 2000));
}
END_TEST

START_TEST(access_from_another_device_is_said_of_the_pool)
{
    CUmemAccessDesc desc = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1},
                            .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemLocation other = desc.location;
    CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_MAX;

    with("DEVICES", "2");
    start();
    OK(cuMemPoolGetAccess(&flags, standard(), &other));
    ck_assert_int_eq(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
    OK(cuMemPoolSetAccess(standard(), &desc, 1));
    OK(cuMemPoolGetAccess(&flags, standard(), &other));
    ck_assert_int_eq(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    desc = (CUmemAccessDesc){.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
                             .flags = CU_MEM_ACCESS_FLAGS_PROT_NONE};
    INVALID(cuMemPoolSetAccess(standard(), &desc, 1));
}
END_TEST

START_TEST(the_end_of_a_context_frees_what_was_allocated_on_its_streams)
{
    CUcontext context;

    start();
    OK(cuCtxCreate(&context, NULL, 0, 0));
    (void)alloc(MIB, NULL);
    OK(cuCtxDestroy(context));
    start();
    ck_assert_uint_eq(mapped(), 0);
    ck_assert_uint_eq(get(standard(), CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {a_device_says_that_it_has_pools,
                                  a_pool_takes_chunks_of_the_device_and_counts_what_is_used,
                                  memory_is_usable_in_stream_order_and_reads_back,
                                  a_stream_gets_back_at_once_what_was_freed_on_it,
                                  another_stream_gets_it_only_when_the_free_is_done,
                                  a_stream_waits_for_another_rather_than_run_out_of_memory,
                                  without_such_waits_allowed_it_runs_out,
                                  more_than_the_device_has_is_out_of_memory,
                                  each_way_to_wait_gives_back_what_is_above_the_threshold,
                                  nothing_goes_back_that_an_operation_may_still_use,
                                  a_trim_leaves_what_it_is_told_to,
                                  what_a_pool_keeps_is_there_for_others_when_the_device_runs_out,
                                  cuMemFree_waits_and_gives_the_memory_to_the_pool,
                                  calls_that_make_no_sense_are_invalid,
                                  a_high_water_mark_can_only_be_reset,
                                  a_pool_of_ones_own_is_used_when_it_is_named_or_current,
                                  a_destroyed_pool_goes_with_its_last_allocation,
                                  a_pool_has_no_more_than_its_most,
                                  a_pointer_from_a_pool_answers_for_its_own_allocation,
                                  access_from_another_device_is_said_of_the_pool,
                                  the_end_of_a_context_frees_what_was_allocated_on_its_streams,
                                  NULL};

    return run_tests("pool", tests);
}
