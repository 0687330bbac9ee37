/* SPDX-License-Identifier: MIT
 * test_memory.c - allocation and freeing, mapped bytes, pinned memory, what is said of a pointer.
 */
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

START_TEST(size_zero_and_a_null_output_are_invalid)
{
    CUdeviceptr address;

    start();
    INVALID(cuMemAlloc(&address, 0));
    INVALID(cuMemAlloc(NULL, 512));
    ck_assert_uint_eq(mapped(), 0);
}
END_TEST

START_TEST(small_blocks_are_aligned_to_512_and_large_ones_to_2_mib)
{
    static const size_t sizes[] = {1, 511, 512, 513, 70000, MIB - 1, MIB, MIB + 1, 5 * MIB};
    CUdeviceptr address;

    start();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        OK(cuMemAlloc(&address, sizes[i]));
        ck_assert_uint_eq(address % (sizes[i] < MIB ? 512 : 2 * MIB), 0);
        memset((void *)address, 0xAB, sizes[i]); /* it is memory, to the last byte */
    }
}
END_TEST

START_TEST(large_blocks_are_mapped_in_granules)
{
    CUdeviceptr address;

    start();
    OK(cuMemAlloc(&address, MIB));
    ck_assert_uint_eq(mapped(), 2 * MIB);
    OK(cuMemAlloc(&address, 2 * MIB + 1));
    ck_assert_uint_eq(mapped(), 6 * MIB);
    OK(cuMemFree(address));
    ck_assert_uint_eq(mapped(), 2 * MIB);
}
END_TEST

START_TEST(small_blocks_share_granules_in_units_of_512)
{
    CUdeviceptr addresses[4097];

    start();
    for (size_t i = 0; i < 4096; i++)
        OK(cuMemAlloc(&addresses[i], 1));
    ck_assert_uint_eq(mapped(), 2 * MIB);
    OK(cuMemAlloc(&addresses[4096], 1));
    ck_assert_uint_eq(mapped(), 4 * MIB);
    OK(cuMemFree(addresses[7]));
    ck_assert_uint_eq(mapped(), 2 * MIB);
    for (size_t i = 0; i < 4097; i++)
        if (i != 7)
            OK(cuMemFree(addresses[i]));
    ck_assert_uint_eq(mapped(), 0);
}
END_TEST

START_TEST(the_granule_can_be_set)
{
    CUdeviceptr address;

    with("GRANULE", "64KiB");
    start();
    OK(cuMemAlloc(&address, 1));
    ck_assert_uint_eq(mapped(), 64 * KIB);
    OK(cuMemAlloc(&address, MIB + 1));
    ck_assert_uint_eq(mapped(), MIB + 128 * KIB);
}
END_TEST

START_TEST(out_of_memory_comes_exactly_at_the_devices_size)
{
    CUdeviceptr first, second = 7;

    with("MEMORY", "8MiB");
    start();
    OK(cuMemAlloc(&first, 6 * MIB));
    ANSWERS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&second, 2 * MIB + 1));
    ck_assert_uint_eq(second, 7);
    OK(cuMemAlloc(&second, 2 * MIB));
    ANSWERS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&second, 1));
    OK(cuMemFree(first));
    OK(cuMemAlloc(&first, 1));
    ANSWERS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&second, SIZE_MAX));
}
END_TEST

START_TEST(mapped_bytes_follow_the_rule_under_random_allocation)
{
    uint64_t state = seed();
    struct {
        CUdeviceptr address;
        size_t bytes;
    } live[64] = {{0, 0}};
    size_t large = 0, small = 0;

    start();
    for (int step = 0; step < 4000; step++) {
        size_t i = next_random(&state) % 64;
        size_t *sum = live[i].bytes >= MIB ? &large : &small;
        size_t unit = live[i].bytes >= MIB ? 2 * MIB : 512;

        if (live[i].address) {
            OK(cuMemFree(live[i].address));
            *sum -= (live[i].bytes + unit - 1) / unit * unit;
            live[i].address = 0;
        } else {
            live[i].bytes = 1 + next_random(&state) % (next_random(&state) % 2 ? MIB : 9 * MIB);
            sum = live[i].bytes >= MIB ? &large : &small;
            unit = live[i].bytes >= MIB ? 2 * MIB : 512;
            OK(cuMemAlloc(&live[i].address, live[i].bytes));
            *sum += (live[i].bytes + unit - 1) / unit * unit;
        }
        ck_assert_uint_eq(mapped(), large + (small + 2 * MIB - 1) / (2 * MIB) * (2 * MIB));
    }
}
END_TEST

START_TEST(freeing_null_succeeds)
{
    start();
    OK(cuMemFree(0));
}
END_TEST

START_TEST(interior_unknown_and_freed_pointers_are_not_freed)
{
    CUdeviceptr small, large, other;
    int local;

    start();
    OK(cuMemAlloc(&small, 2048));
    OK(cuMemAlloc(&large, 4 * MIB));
    OK(cuMemAlloc(&other, 512));
    INVALID(cuMemFree(small + 512));
    INVALID(cuMemFree(large + 2 * MIB));
    INVALID(cuMemFree((CUdeviceptr)&local));
    INVALID(cuMemFree(large + 64 * MIB));
    OK(cuMemFree(small));
    OK(cuMemFree(large));
    INVALID(cuMemFree(small));
    INVALID(cuMemFree(large));
    OK(cuMemFree(other));
}
END_TEST

static void *free_there(void *argument)
{
    return (void *)(uintptr_t)cuMemFree(*(CUdeviceptr *)argument);
}

START_TEST(any_thread_can_free_with_or_without_a_context)
{
    CUdeviceptr address;
    pthread_t thread;
    void *status;

    start();
    OK(cuMemAlloc(&address, 4 * MIB));
    pthread_create(&thread, NULL, free_there, &address);
    pthread_join(thread, &status);
    ck_assert_ptr_null(status);
    ck_assert_uint_eq(mapped(), 0);
}
END_TEST

START_TEST(a_free_is_charged_to_the_device_that_owns_the_memory)
{
    CUcontext first, second;
    CUdeviceptr address;

    with("DEVICES", "2");
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&first, 0));
    OK(cuDevicePrimaryCtxRetain(&second, 1));
    OK(cuCtxSetCurrent(first));
    OK(cuMemAlloc(&address, 4 * MIB));
    OK(cuCtxSetCurrent(second));
    ck_assert_uint_eq(mapped(), 0);
    OK(cuMemFree(address));
    OK(cuCtxSetCurrent(first));
    ck_assert_uint_eq(mapped(), 0);
}
END_TEST

START_TEST(a_free_waits_for_the_work_enqueued_before_it)
{
    CUdeviceptr address;
    CUstream stream;

    with("KERNEL_NS", "20000000");
    start();
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc(&address, 512));
    note_by_kernel(stream, 1);
    note(stream, 2);
    OK(cuMemFree(address));
    ck_assert_uint_eq(note_count(), 2);
}
END_TEST

/* Frees in a thread, which then waits for the device; the pointer must be taken at once. */
START_TEST(of_two_frees_at_once_one_is_invalid)
{
    CUdeviceptr address;
    pthread_t thread;
    static struct gate gate;
    void *status;
    CUresult here;

    start();
    OK(cuMemAlloc(&address, 512));
    gate_hold(&gate, NULL);
    pthread_create(&thread, NULL, free_there, &address);
    do { /* until the thread has got that far: then the pointer is no longer known */
        size_t bytes;

        here = cuMemGetAddressRange(NULL, &bytes, address);
    } while (here == CUDA_SUCCESS);
    ANSWERS(CUDA_ERROR_NOT_FOUND, here);
    INVALID(cuMemFree(address));
    gate_open(&gate);
    pthread_join(thread, &status);
    ck_assert_ptr_null(status);
}
END_TEST

START_TEST(a_freed_address_is_not_handed_out_again_soon)
{
    CUdeviceptr first, address;

    start();
    OK(cuMemAlloc(&first, 64 * MIB));
    OK(cuMemFree(first));
    for (int i = 0; i < 1000; i++) {
        OK(cuMemAlloc(&address, 64 * MIB));
        ck_assert(address + 64 * MIB <= first || address >= first + 64 * MIB);
        OK(cuMemFree(address));
    }
}
END_TEST

START_TEST(freed_pages_go_back_to_the_system)
{
    CUdeviceptr address;
    long pages = 0;
    FILE *statm;

    start();
    for (int i = 0; i < 100; i++) {
        OK(cuMemAlloc(&address, 32 * MIB));
        memset((void *)address, i, 32 * MIB);
        OK(cuMemFree(address));
    }
    for (int i = 0; i < 100000; i++) {
        OK(cuMemAlloc(&address, 2000));
        memset((void *)address, i, 2000);
        OK(cuMemFree(address));
    }
    statm = fopen("/proc/self/statm", "r");
    ck_assert_int_eq(fscanf(statm, "%*d %ld", &pages), 1);
    fclose(statm);
    ck_assert_int_lt(pages, 128 * 256); /* of 3.2 GiB and 200 MB touched, 128 MiB at most */
}
END_TEST

START_TEST(a_process_that_only_allocates_has_one_thread)
{
    CUdeviceptr address;
    CUstream stream;
    DIR *tasks;
    int threads = 0;

    start();
    OK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    OK(cuMemAlloc(&address, MIB));
    OK(cuMemFree(address));
    OK(cuCtxSynchronize());
    tasks = opendir("/proc/self/task");
    for (struct dirent *entry = readdir(tasks); entry; entry = readdir(tasks))
        threads += entry->d_name[0] != '.';
    closedir(tasks);
    ck_assert_int_eq(threads, 1);
}
END_TEST

START_TEST(memory_info_takes_null_outputs)
{
    size_t bytes = 0;

    with("MEMORY", "1GiB");
    start();
    OK(cuMemGetInfo(NULL, &bytes));
    ck_assert_uint_eq(bytes, GIB);
    OK(cuMemGetInfo(&bytes, NULL));
    OK(cuMemGetInfo(NULL, NULL));
}
END_TEST

START_TEST(the_range_of_a_pointer_is_what_was_asked_for)
{
    static const size_t sizes[] = {1, 700, MIB + 3};
    CUdeviceptr address, base;
    size_t bytes;

    start();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        OK(cuMemAlloc(&address, sizes[i]));
        OK(cuMemGetAddressRange(&base, &bytes, address + sizes[i] - 1));
        ck_assert_uint_eq(base, address);
        ck_assert_uint_eq(bytes, sizes[i]);
        ANSWERS(CUDA_ERROR_NOT_FOUND, cuMemGetAddressRange(&base, &bytes, address + sizes[i]));
        OK(cuMemGetAddressRange(NULL, NULL, address));
        OK(cuMemFree(address));
        ANSWERS(CUDA_ERROR_NOT_FOUND, cuMemGetAddressRange(&base, &bytes, address));
    }
}
END_TEST

START_TEST(a_device_pointer_has_its_attributes)
{
    CUcontext context = start(), owner;
    CUdeviceptr address, other, start_address, device;
    unsigned long long first, second;
    unsigned type;
    size_t bytes;
    void *host;
    int managed, ordinal;

    OK(cuMemAlloc(&address, 4000));
    OK(cuMemAlloc(&other, 4000));
    OK(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, address));
    ck_assert_ptr_eq(owner, context);
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address + 5));
    ck_assert_uint_eq(type, CU_MEMORYTYPE_DEVICE);
    OK(cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, address + 5));
    ck_assert_uint_eq(device, address + 5);
    OK(cuPointerGetAttribute(&start_address, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address + 5));
    ck_assert_uint_eq(start_address, address);
    OK(cuPointerGetAttribute(&bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, address + 5));
    ck_assert_uint_eq(bytes, 4000);
    OK(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address));
    ck_assert_int_eq(managed, 0);
    OK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address));
    ck_assert_int_eq(ordinal, 0);
    OK(cuPointerGetAttribute(&first, CU_POINTER_ATTRIBUTE_BUFFER_ID, address));
    OK(cuPointerGetAttribute(&second, CU_POINTER_ATTRIBUTE_BUFFER_ID, other));
    ck_assert_uint_ne(first, second);
    INVALID(cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, address));
}
END_TEST

START_TEST(an_unknown_pointer_has_no_attribute_but_default_ones)
{
    CUpointer_attribute kinds[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_CONTEXT,
                                   CU_POINTER_ATTRIBUTE_IS_MANAGED};
    unsigned type = 77;
    CUcontext context = (CUcontext)1;
    int managed = 77;
    void *data[] = {&type, &context, &managed};

    start();
    INVALID(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)&type));
    OK(cuPointerGetAttributes(3, kinds, data, (CUdeviceptr)&type));
    ck_assert_uint_eq(type, 0);
    ck_assert_ptr_null(context);
    ck_assert_int_eq(managed, 0);
}
END_TEST

START_TEST(pinned_memory_is_host_memory_the_device_can_reach)
{
    unsigned char *host;
    CUdeviceptr device;
    unsigned flags, type;
    void *pointer;

    start();
    OK(cuMemHostAlloc((void **)&host, 5000, CU_MEMHOSTALLOC_PORTABLE));
    memset(host, 1, 5000);
    OK(cuMemHostGetDevicePointer(&device, host + 8, 0));
    OK(cuMemHostGetFlags(&flags, host));
    ck_assert_uint_ne(flags & CU_MEMHOSTALLOC_PORTABLE, 0);
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)host));
    ck_assert_uint_eq(type, CU_MEMORYTYPE_HOST);
    OK(cuPointerGetAttribute(&pointer, CU_POINTER_ATTRIBUTE_HOST_POINTER, (CUdeviceptr)host));
    ck_assert_ptr_eq(pointer, host);
    ck_assert_uint_eq(mapped(), 0);
    INVALID(cuMemFree((CUdeviceptr)host));
    INVALID(cuMemFreeHost(host + 1));
    OK(cuMemFreeHost(host));
    INVALID(cuMemFreeHost(host));
    INVALID(cuMemHostGetDevicePointer(&device, host, 0));
    INVALID(cuMemHostAlloc((void **)&host, 512, 0x80));
    OK(cuMemAllocHost((void **)&host, 3 * MIB));
    memset(host, 1, 3 * MIB);
    OK(cuMemFreeHost(host));
}
END_TEST

START_TEST(registered_memory_is_pinned_until_unregistered)
{
    unsigned char *host = malloc(10000);
    CUdeviceptr device;

    start();
    INVALID(cuMemHostGetDevicePointer(&device, host, 0));
    OK(cuMemHostRegister(host, 10000, 0));
    OK(cuMemHostGetDevicePointer(&device, host + 9999, 0));
    ANSWERS(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister(host + 5000, 10000, 0));
    OK(cuMemHostUnregister(host));
    ANSWERS(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(host));
    INVALID(cuMemHostGetDevicePointer(&device, host, 0));
    free(host);
}
END_TEST

START_TEST(the_witness_sees_the_most_mapped_since_it_last_asked)
{
    CUdeviceptr address;
    uint64_t now, most;

    start();
    OK(cuMemAlloc(&address, 4 * MIB));
    OK(cuMemFree(address));
    simcuda_mapped_bytes(0, &now, &most);
    ck_assert_uint_eq(now, 0);
    ck_assert_uint_eq(most, 4 * MIB);
    simcuda_mapped_bytes(0, &now, &most);
    ck_assert_uint_eq(most, 0);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {size_zero_and_a_null_output_are_invalid,
                                  small_blocks_are_aligned_to_512_and_large_ones_to_2_mib,
                                  large_blocks_are_mapped_in_granules,
                                  small_blocks_share_granules_in_units_of_512,
                                  the_granule_can_be_set,
                                  out_of_memory_comes_exactly_at_the_devices_size,
                                  mapped_bytes_follow_the_rule_under_random_allocation,
                                  freeing_null_succeeds,
                                  interior_unknown_and_freed_pointers_are_not_freed,
                                  any_thread_can_free_with_or_without_a_context,
                                  a_free_is_charged_to_the_device_that_owns_the_memory,
                                  a_free_waits_for_the_work_enqueued_before_it,
                                  of_two_frees_at_once_one_is_invalid,
                                  a_freed_address_is_not_handed_out_again_soon,
                                  freed_pages_go_back_to_the_system,
                                  a_process_that_only_allocates_has_one_thread,
                                  memory_info_takes_null_outputs,
                                  the_range_of_a_pointer_is_what_was_asked_for,
                                  a_device_pointer_has_its_attributes,
                                  an_unknown_pointer_has_no_attribute_but_default_ones,
                                  pinned_memory_is_host_memory_the_device_can_reach,
                                  registered_memory_is_pinned_until_unregistered,
                                  the_witness_sees_the_most_mapped_since_it_last_asked,
                                  NULL};

    return run_tests("memory", tests);
}
