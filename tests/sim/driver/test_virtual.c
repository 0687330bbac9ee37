/* SPDX-License-Identifier: MIT
 * test_virtual.c - reserved addresses, physical memory, mappings and access.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "virtual.h"

START_TEST(granularity_is_the_granule_and_asks_for_plain_device_memory)
{
    CUmemAllocationProp wanted = properties();
    size_t unit = 0;

    with("GRANULE", "64KiB");
    start();
    OK(cuMemGetAllocationGranularity(&unit, &wanted, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    ck_assert_uint_eq(unit, 64 * KIB);
    OK(cuMemGetAllocationGranularity(&unit, &wanted, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    ck_assert_uint_eq(unit, 64 * KIB);
    INVALID(cuMemGetAllocationGranularity(NULL, &wanted, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    wanted.location.id = 1;
    ANSWERS(CUDA_ERROR_INVALID_DEVICE,
            cuMemGetAllocationGranularity(&unit, &wanted, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    wanted = properties();
    wanted.type = CU_MEM_ALLOCATION_TYPE_INVALID;
    INVALID(cuMemGetAllocationGranularity(&unit, &wanted, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
}
END_TEST

START_TEST(a_device_says_that_it_can_map_memory_and_share_it_by_descriptor)
{
    int value = 0;

    start();
    OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0));
    ck_assert_int_eq(value, 1);
    OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
                            0));
    ck_assert_int_eq(value, 1);
    OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, 0));
    ck_assert_int_eq(value, 0);
    OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 0));
    ck_assert_int_eq(value, 0);
}
END_TEST

START_TEST(a_reservation_takes_no_memory_and_is_aligned_as_asked)
{
    CUdeviceptr first, second;

    start();
    OK(cuMemAddressReserve(&first, 64 * GIB, 0, 0, 0));
    ck_assert_uint_eq(first % UNIT, 0);
    OK(cuMemAddressReserve(&second, UNIT, GIB, 0, 0));
    ck_assert_uint_eq(second % GIB, 0);
    ck_assert(second >= first + 64 * GIB || second + UNIT <= first);
    ck_assert_uint_eq(mapped(), 0);
    OK(cuMemAddressFree(second, UNIT));
    OK(cuMemAddressFree(first, 64 * GIB));
    INVALID(cuMemAddressFree(first, 64 * GIB));
}
END_TEST

START_TEST(a_hint_is_followed_where_the_addresses_are_free)
{
    CUdeviceptr first = 0, second = 0, third = 0;

    start();
    first = reserve(4 * UNIT);
    OK(cuMemAddressReserve(&second, UNIT, 0, first + 4 * UNIT, 0));
    ck_assert_uint_eq(second, first + 4 * UNIT);
    OK(cuMemAddressReserve(&third, UNIT, 0, first, 0));
    ck_assert_uint_ne(third, first);
}
END_TEST

START_TEST(a_reservation_that_makes_no_sense_is_invalid)
{
    CUdeviceptr address;

    start();
    INVALID(cuMemAddressReserve(NULL, UNIT, 0, 0, 0));
    INVALID(cuMemAddressReserve(&address, 0, 0, 0, 0));
    INVALID(cuMemAddressReserve(&address, 4095, 0, 0, 0));
    INVALID(cuMemAddressReserve(&address, UNIT, 3, 0, 0));
    INVALID(cuMemAddressReserve(&address, UNIT, 0, 0, 1));
    ANSWERS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAddressReserve(&address, 1ull << 60, 0, 0, 0));
    address = reserve(2 * UNIT);
    INVALID(cuMemAddressFree(address, UNIT));
    INVALID(cuMemAddressFree(address + UNIT, UNIT));
    OK(cuMemAddressFree(address, 2 * UNIT));
}
END_TEST

START_TEST(physical_memory_is_counted_until_its_last_handle_and_mapping_are_gone)
{
    CUmemGenericAllocationHandle handle;
    CUdeviceptr address;

    start();
    address = reserve(4 * UNIT);
    handle = create(2 * UNIT);
    ck_assert_uint_eq(mapped(), 2 * UNIT);
    OK(cuMemMap(address, 2 * UNIT, 0, handle, 0));
    OK(cuMemMap(address + 2 * UNIT, 2 * UNIT, 0, handle, 0));
    ck_assert_uint_eq(mapped(), 2 * UNIT);
    OK(cuMemRelease(handle));
    INVALID(cuMemRelease(handle));
    ck_assert_uint_eq(mapped(), 2 * UNIT);
    OK(cuMemUnmap(address, 2 * UNIT));
    ck_assert_uint_eq(mapped(), 2 * UNIT);
    OK(cuMemUnmap(address + 2 * UNIT, 2 * UNIT));
    ck_assert_uint_eq(mapped(), 0);
}
END_TEST

START_TEST(a_device_gives_out_no_more_physical_memory_than_it_has)
{
    CUmemGenericAllocationHandle handle, more = 0;
    CUmemAllocationProp wanted = properties();
    CUdeviceptr plain;

    with("MEMORY", "16MiB");
    start();
    handle = create(12 * MIB);
    ANSWERS(CUDA_ERROR_OUT_OF_MEMORY, cuMemCreate(&more, 6 * MIB, &wanted, 0));
    ANSWERS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&plain, 6 * MIB));
    OK(cuMemRelease(handle));
    OK(cuMemAlloc(&plain, 6 * MIB));
}
END_TEST

START_TEST(memory_of_a_kind_that_is_not_modelled_is_not_supported)
{
    CUmemAllocationProp wanted = properties();
    CUmemGenericAllocationHandle handle;
    CUmulticastObjectProp cast = {.numDevices = 1, .size = UNIT};

    start();
    INVALID(cuMemCreate(&handle, UNIT + 4096, &wanted, 0));
    INVALID(cuMemCreate(&handle, 0, &wanted, 0));
    INVALID(cuMemCreate(&handle, UNIT, &wanted, 1));
    wanted.requestedHandleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
    ANSWERS(CUDA_ERROR_NOT_SUPPORTED, cuMemCreate(&handle, UNIT, &wanted, 0));
    wanted = properties();
    wanted.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
    ANSWERS(CUDA_ERROR_NOT_SUPPORTED, cuMemCreate(&handle, UNIT, &wanted, 0));
    ANSWERS(CUDA_ERROR_NOT_SUPPORTED, cuMulticastCreate(&handle, &cast));
    ck_assert_uint_eq(mapped(), 0);
}
END_TEST

START_TEST(what_is_written_at_one_address_is_read_at_another_of_the_same_memory)
{
    CUmemGenericAllocationHandle handle;
    CUdeviceptr address;
    char text[8] = "";

    start();
    address = reserve(4 * UNIT);
    handle = create(UNIT);
    OK(cuMemMap(address, UNIT, 0, handle, 0));
    OK(cuMemMap(address + 3 * UNIT, UNIT, 0, handle, 0));
    allow(address, UNIT);
    allow(address + 3 * UNIT, UNIT);
    OK(cuMemcpyHtoD(address + 100, "aliased", 8));
    OK(cuMemcpyDtoH(text, address + 3 * UNIT + 100, 8));
    ck_assert_str_eq(text, "aliased");
    OK(cuMemsetD8(address + 3 * UNIT + 100, 'x', 3));
    OK(cuMemcpyDtoH(text, address + 100, 8));
    ck_assert_str_eq(text, "xxxased");
}
END_TEST

START_TEST(memory_moves_to_another_address_with_its_contents)
{
    CUmemGenericAllocationHandle handle;
    CUdeviceptr address;
    char text[6] = "";

    start();
    address = reserve(2 * UNIT);
    handle = create(UNIT);
    OK(cuMemMap(address, UNIT, 0, handle, 0));
    allow(address, UNIT);
    OK(cuMemcpyHtoD(address, "moved", 6));
    OK(cuMemUnmap(address, UNIT));
    OK(cuMemMap(address + UNIT, UNIT, 0, handle, 0));
    allow(address + UNIT, UNIT);
    OK(cuMemcpyDtoH(text, address + UNIT, 6));
    ck_assert_str_eq(text, "moved");
}
END_TEST

START_TEST(new_memory_does_not_show_what_freed_memory_held)
{
    CUdeviceptr address;
    char byte = 0;

    start();
    address = reserve(UNIT);
    map_new(address, UNIT);
    OK(cuMemsetD8(address, 'x', UNIT));
    OK(cuCtxSynchronize()); /* a fill of device memory returns before it is done */
    OK(cuMemUnmap(address, UNIT));
    map_new(address, UNIT);
    OK(cuMemcpyDtoH(&byte, address, 1));
    ck_assert_int_eq(byte, 0);
}
END_TEST

START_TEST(a_mapping_goes_where_addresses_are_reserved_and_nothing_is_mapped)
{
    CUmemGenericAllocationHandle handle;
    CUdeviceptr address, plain;

    start();
    address = reserve(2 * UNIT);
    handle = create(UNIT);
    OK(cuMemAlloc(&plain, UNIT));
    INVALID(cuMemMap(plain, UNIT, 0, handle, 0));
    INVALID(cuMemMap(address, UNIT, 0, handle + 16, 0));
    INVALID(cuMemMap(address, UNIT, 0, handle, 1));
    INVALID(cuMemMap(address, UNIT, UNIT, handle, 0));
    INVALID(cuMemMap(address, 0, 0, handle, 0));
    INVALID(cuMemMap(address + 4096, UNIT, 0, handle, 0));
    INVALID(cuMemMap(address, 4096, 0, handle, 0));
    INVALID(cuMemMap(address, 2 * UNIT, 0, handle, 0)); /* more than the memory has */
    INVALID(cuMemMap(address + UNIT, 2 * UNIT, 0, create(2 * UNIT), 0));
    OK(cuMemMap(address, UNIT, 0, handle, 0));
    INVALID(cuMemMap(address, UNIT, 0, handle, 0));
    OK(cuMemMap(address + UNIT, UNIT, 0, handle, 0));
}
END_TEST

START_TEST(only_whole_mappings_are_unmapped_and_given_access_to)
{
    CUdeviceptr address;

    start();
    address = reserve(6 * UNIT);
    map_new(address, 2 * UNIT);
    map_new(address + 2 * UNIT, 2 * UNIT);
    INVALID(cuMemUnmap(address, UNIT));
    INVALID(cuMemUnmap(address + UNIT, UNIT));
    INVALID(cuMemUnmap(address, 5 * UNIT));
    INVALID(cuMemUnmap(address + 4 * UNIT, UNIT));
    INVALID(set_access(address, UNIT, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    INVALID(set_access(address, 6 * UNIT, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    OK(set_access(address, 4 * UNIT, CU_MEM_ACCESS_FLAGS_PROT_READ));
    OK(cuMemUnmap(address, 4 * UNIT));
    INVALID(cuMemUnmap(address, 2 * UNIT));
}
END_TEST

START_TEST(a_reservation_is_not_freed_while_something_is_mapped_there)
{
    CUdeviceptr address;

    start();
    address = reserve(2 * UNIT);
    map_new(address, UNIT);
    INVALID(cuMemAddressFree(address, 2 * UNIT));
    INVALID(cuMemFree(address));
    OK(cuMemUnmap(address, UNIT));
    OK(cuMemAddressFree(address, 2 * UNIT));
}
END_TEST

START_TEST(access_is_none_at_first_and_then_what_was_set)
{
    const CUmemLocation here = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
    const CUmemLocation elsewhere = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1};
    CUmemAccessDesc desc = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1},
                            .flags = CU_MEM_ACCESS_FLAGS_PROT_READ};
    unsigned long long flags = 9;
    CUdeviceptr address;

    with("DEVICES", "2");
    start();
    address = reserve(UNIT);
    INVALID(cuMemGetAccess(&flags, &here, address));
    OK(cuMemMap(address, UNIT, 0, create(UNIT), 0));
    OK(cuMemGetAccess(&flags, &here, address));
    ck_assert_uint_eq(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
    allow(address, UNIT);
    OK(cuMemSetAccess(address, UNIT, &desc, 1));
    OK(cuMemGetAccess(&flags, &here, address + UNIT - 1));
    ck_assert_uint_eq(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    OK(cuMemGetAccess(&flags, &elsewhere, address));
    ck_assert_uint_eq(flags, CU_MEM_ACCESS_FLAGS_PROT_READ);
    desc.location.id = 2;
    ANSWERS(CUDA_ERROR_INVALID_DEVICE, cuMemSetAccess(address, UNIT, &desc, 1));
    desc = (CUmemAccessDesc){.location = here, .flags = CU_MEM_ACCESS_FLAGS_PROT_MAX};
    INVALID(cuMemSetAccess(address, UNIT, &desc, 1));
    INVALID(cuMemSetAccess(address, UNIT, &desc, 0));
}
END_TEST

START_TEST(a_handle_is_found_again_by_any_address_of_its_mapping)
{
    CUmemGenericAllocationHandle handle, found = 0;
    CUmemAllocationProp asked;
    CUdeviceptr address;

    start();
    address = reserve(2 * UNIT);
    handle = create(UNIT);
    OK(cuMemMap(address, UNIT, 0, handle, 0));
    OK(cuMemRelease(handle));
    INVALID(cuMemGetAllocationPropertiesFromHandle(&asked, handle));
    OK(cuMemRetainAllocationHandle(&found, (void *)(address + UNIT - 1)));
    ck_assert_uint_eq(found, handle);
    OK(cuMemGetAllocationPropertiesFromHandle(&asked, found));
    ck_assert_int_eq(asked.type, CU_MEM_ALLOCATION_TYPE_PINNED);
    ck_assert_int_eq(asked.location.id, 0);
    OK(cuMemUnmap(address, UNIT));
    ck_assert_uint_eq(mapped(), UNIT); /* the handle holds it */
    INVALID(cuMemRetainAllocationHandle(&found, (void *)address));
    OK(cuMemRelease(handle));
    ck_assert_uint_eq(mapped(), 0);
}
END_TEST

START_TEST(a_pointer_tells_its_mapping_and_its_reservation)
{
    CUdeviceptr address, base = 0, start_address = 0;
    unsigned long long handles = 0, alias = 1, other = 2;
    size_t bytes = 0;
    int answer = 9;
    CUcontext context = (CUcontext)1;
    CUmemGenericAllocationHandle handle;

    start();
    address = reserve(8 * UNIT);
    handle = create(2 * UNIT);
    OK(cuMemMap(address + 2 * UNIT, 2 * UNIT, 0, handle, 0));
    OK(cuMemMap(address + 6 * UNIT, 2 * UNIT, 0, handle, 0));
    OK(cuMemGetAddressRange(&base, &bytes, address + 3 * UNIT));
    ck_assert_uint_eq(base, address + 2 * UNIT);
    ck_assert_uint_eq(bytes, 2 * UNIT);
    ANSWERS(CUDA_ERROR_NOT_FOUND, cuMemGetAddressRange(&base, &bytes, address));
    OK(cuPointerGetAttribute(&start_address, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address));
    ck_assert_uint_eq(start_address, address);
    OK(cuPointerGetAttribute(&bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, address + 3 * UNIT));
    ck_assert_uint_eq(bytes, 8 * UNIT);
    OK(cuPointerGetAttribute(&answer, CU_POINTER_ATTRIBUTE_MAPPED, address));
    ck_assert_int_eq(answer, 0);
    OK(cuPointerGetAttribute(&answer, CU_POINTER_ATTRIBUTE_MAPPED, address + 2 * UNIT));
    ck_assert_int_eq(answer, 1);
    INVALID(cuPointerGetAttribute(&answer, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address));
    OK(cuPointerGetAttribute(&answer, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address + 2 * UNIT));
    ck_assert_int_eq(answer, 0);
    OK(cuPointerGetAttribute(&answer, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address + 2 * UNIT));
    ck_assert_int_eq(answer, CU_MEMORYTYPE_DEVICE);
    OK(cuPointerGetAttribute(&answer, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
                             address + 2 * UNIT));
    ck_assert_int_eq(answer, 0);
    OK(cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, address + 2 * UNIT));
    ck_assert_ptr_null(context);
    OK(cuPointerGetAttribute(&handles, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES,
                             address + 2 * UNIT));
    ck_assert_uint_eq(handles, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    OK(cuPointerGetAttribute(&alias, CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, address + 2 * UNIT));
    OK(cuPointerGetAttribute(&other, CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, address + 6 * UNIT));
    ck_assert_uint_eq(alias, other);
    OK(cuPointerGetAttribute(&other, CU_POINTER_ATTRIBUTE_BUFFER_ID, address + 6 * UNIT));
    OK(cuPointerGetAttribute(&alias, CU_POINTER_ATTRIBUTE_BUFFER_ID, address + 2 * UNIT));
    ck_assert_uint_ne(alias, other);
}
END_TEST

START_TEST(mappings_outlive_contexts)
{
    CUdeviceptr address;
    char byte = 0;

    start();
    address = reserve(UNIT);
    map_new(address, UNIT);
    OK(cuMemsetD8(address, 'x', 1));
    OK(cuCtxSynchronize());
    OK(cuDevicePrimaryCtxReset(0));
    ck_assert_int_eq(*(char *)address, 'x');
    start();
    OK(cuMemcpyDtoH(&byte, address, 1));
    ck_assert_int_eq(byte, 'x');
    ck_assert_uint_eq(mapped(), UNIT);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        granularity_is_the_granule_and_asks_for_plain_device_memory,
        a_device_says_that_it_can_map_memory_and_share_it_by_descriptor,
        a_reservation_takes_no_memory_and_is_aligned_as_asked,
        a_hint_is_followed_where_the_addresses_are_free,
        a_reservation_that_makes_no_sense_is_invalid,
        physical_memory_is_counted_until_its_last_handle_and_mapping_are_gone,
        a_device_gives_out_no_more_physical_memory_than_it_has,
        memory_of_a_kind_that_is_not_modelled_is_not_supported,
        what_is_written_at_one_address_is_read_at_another_of_the_same_memory,
        memory_moves_to_another_address_with_its_contents,
        new_memory_does_not_show_what_freed_memory_held,
        a_mapping_goes_where_addresses_are_reserved_and_nothing_is_mapped,
        only_whole_mappings_are_unmapped_and_given_access_to,
        a_reservation_is_not_freed_while_something_is_mapped_there,
        access_is_none_at_first_and_then_what_was_set,
        a_handle_is_found_again_by_any_address_of_its_mapping,
        a_pointer_tells_its_mapping_and_its_reservation,
        mappings_outlive_contexts,
        NULL};

    return run_tests("virtual", tests);
}
