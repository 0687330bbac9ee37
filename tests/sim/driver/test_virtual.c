/* SPDX-License-Identifier: MIT
 * test_virtual.c - reserved addresses, physical memory, mappings, access and sharing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

#define UNIT (2 * MIB)

static CUmemAllocationProp properties(void)
{
    return (CUmemAllocationProp){
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
    };
}

static CUmemGenericAllocationHandle create(size_t bytes)
{
    CUmemAllocationProp wanted = properties();
    CUmemGenericAllocationHandle handle = 0;

    OK(cuMemCreate(&handle, bytes, &wanted, 0));
    return handle;
}

static CUdeviceptr reserve(size_t bytes)
{
    CUdeviceptr address = 0;

    OK(cuMemAddressReserve(&address, bytes, 0, 0, 0));
    return address;
}

static CUresult set_access(CUdeviceptr address, size_t bytes, CUmemAccess_flags flags)
{
    CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
                              .flags = flags};

    return cuMemSetAccess(address, bytes, &access, 1);
}

static void allow(CUdeviceptr address, size_t bytes)
{
    OK(set_access(address, bytes, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
}

/* Memory of that size, mapped and accessible; its only handle is released. */
static void map_new(CUdeviceptr address, size_t bytes)
{
    CUmemGenericAllocationHandle handle = create(bytes);

    OK(cuMemMap(address, bytes, 0, handle, 0));
    OK(cuMemRelease(handle));
    allow(address, bytes);
}

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

    start();
    INVALID(cuMemCreate(&handle, UNIT + 4096, &wanted, 0));
    INVALID(cuMemCreate(&handle, 0, &wanted, 0));
    INVALID(cuMemCreate(&handle, UNIT, &wanted, 1));
    wanted.requestedHandleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
    ANSWERS(CUDA_ERROR_NOT_SUPPORTED, cuMemCreate(&handle, UNIT, &wanted, 0));
    wanted = properties();
    wanted.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
    ANSWERS(CUDA_ERROR_NOT_SUPPORTED, cuMemCreate(&handle, UNIT, &wanted, 0));
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

START_TEST(a_descriptor_imports_as_the_same_memory_in_this_process)
{
    CUmemGenericAllocationHandle handle, again = 0;
    CUdeviceptr address;
    char byte = 0;
    int file = -1;

    start();
    address = reserve(2 * UNIT);
    handle = create(UNIT);
    OK(cuMemExportToShareableHandle(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    OK(cuMemImportFromShareableHandle(&again, (void *)(intptr_t)file,
                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    ck_assert_int_eq(close(file), 0);
    ck_assert_uint_eq(mapped(), UNIT);
    OK(cuMemMap(address, UNIT, 0, handle, 0));
    OK(cuMemMap(address + UNIT, UNIT, 0, again, 0));
    OK(cuMemRelease(handle));
    OK(cuMemRelease(again));
    allow(address, 2 * UNIT);
    OK(cuMemsetD8(address, 'x', 1));
    OK(cuMemcpyDtoH(&byte, address + UNIT, 1));
    ck_assert_int_eq(byte, 'x');
    OK(cuMemUnmap(address, 2 * UNIT));
    ck_assert_uint_eq(mapped(), 0);
}
END_TEST

START_TEST(what_is_no_shareable_handle_is_refused)
{
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp wanted = properties();
    int file = -1, ends[2];

    start();
    wanted.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
    OK(cuMemCreate(&handle, UNIT, &wanted, 0));
    INVALID(
        cuMemExportToShareableHandle(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    ANSWERS(CUDA_ERROR_NOT_SUPPORTED,
            cuMemExportToShareableHandle(&file, handle, CU_MEM_HANDLE_TYPE_FABRIC, 0));
    INVALID(cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)-1,
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    ck_assert_int_eq(pipe(ends), 0);
    INVALID(cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)ends[0],
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
}
END_TEST

/* Sends, or (-1) receives, an open file. */
static int pass_file(int socket, int file)
{
    char byte = 0, room[CMSG_SPACE(sizeof(int))] = "";
    struct iovec data = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);

    if (file < 0) {
        ck_assert_int_eq(recvmsg(socket, &message, 0), 1);
        memcpy(&file, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof file);
        return file;
    }
    *header = (struct cmsghdr){
        .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof file)};
    memcpy(CMSG_DATA(header), &file, sizeof file);
    ck_assert_int_eq(sendmsg(socket, &message, 0), 1);
    return file;
}

/* Runs in a process that has never called CUDA: it imports, checks, writes and exits. */
static void use_imported(int socket)
{
    CUmemGenericAllocationHandle handle;
    CUdeviceptr address;
    char byte = 0;
    int file = pass_file(socket, -1);

    start();
    OK(cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)file,
                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(file);
    address = reserve(UNIT);
    OK(cuMemMap(address, UNIT, 0, handle, 0));
    allow(address, UNIT);
    OK(cuMemcpyDtoH(&byte, address, 1));
    ck_assert_int_eq(byte, 'a');
    OK(cuMemsetD8(address, 'b', 1));
    OK(cuCtxSynchronize());
    ck_assert_uint_eq(mapped(), 0); /* it is the exporter's */
    OK(cuMemUnmap(address, UNIT));
    OK(cuMemRelease(handle));
    _exit(0);
}

START_TEST(another_process_shares_the_memory_of_a_descriptor)
{
    CUmemGenericAllocationHandle handle;
    CUdeviceptr address;
    int ends[2], file = -1, status = -1;
    char byte = 0;
    pid_t child;

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    child = fork();
    if (child == 0)
        use_imported(ends[1]);
    start();
    (void)create(UNIT); /* so that what is shared is not the first */
    address = reserve(UNIT);
    handle = create(UNIT);
    OK(cuMemMap(address, UNIT, 0, handle, 0));
    allow(address, UNIT);
    OK(cuMemsetD8(address, 'a', 1));
    OK(cuMemExportToShareableHandle(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    pass_file(ends[0], file);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    OK(cuMemcpyDtoH(&byte, address, 1));
    ck_assert_int_eq(byte, 'b');
}
END_TEST

static void copy_within_neighbouring_mappings(void)
{
    CUdeviceptr address;

    start();
    address = reserve(4 * UNIT);
    map_new(address, UNIT);
    map_new(address + UNIT, UNIT);
    OK(cuMemsetD8(address, 1, 2 * UNIT));
    OK(cuMemcpyDtoD(address + UNIT - 10, address, 20));
    OK(cuCtxSynchronize());
}

static void copy_across_the_end(void)
{
    CUdeviceptr address;

    start();
    address = reserve(4 * UNIT);
    map_new(address, UNIT);
    OK(cuMemsetD8(address + UNIT - 10, 1, 20));
    OK(cuCtxSynchronize());
}

static void copy_where_nothing_was_mapped(void)
{
    CUdeviceptr address;

    start();
    address = reserve(4 * UNIT);
    OK(cuMemsetD8(address, 1, 20));
    OK(cuCtxSynchronize());
}

static void copy_after_unmap(void)
{
    CUdeviceptr address;

    start();
    address = reserve(4 * UNIT);
    map_new(address, UNIT);
    OK(cuMemUnmap(address, UNIT));
    OK(cuMemsetD8(address, 1, 20));
    OK(cuCtxSynchronize());
}

static void copy_after_the_reservation_is_freed(void)
{
    CUdeviceptr address;

    start();
    address = reserve(4 * UNIT);
    OK(cuMemAddressFree(address, 4 * UNIT));
    OK(cuMemsetD8(address, 1, 20));
    OK(cuCtxSynchronize());
}

static void copy_without_access(void)
{
    CUdeviceptr address;

    start();
    address = reserve(4 * UNIT);
    OK(cuMemMap(address, UNIT, 0, create(UNIT), 0));
    OK(cuMemsetD8(address, 1, 20));
    OK(cuCtxSynchronize());
}

static void write_what_may_be_read(void)
{
    CUdeviceptr address;
    char byte;

    start();
    address = reserve(4 * UNIT);
    OK(cuMemMap(address, UNIT, 0, create(UNIT), 0));
    OK(set_access(address, UNIT, CU_MEM_ACCESS_FLAGS_PROT_READ));
    OK(cuMemcpyDtoH(&byte, address, 1));
    OK(cuMemsetD8(address, 1, 20));
    OK(cuCtxSynchronize());
}

static struct gate gate;

static void unmap_under_work(void)
{
    CUdeviceptr address;
    CUstream stream;

    start();
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    address = reserve(4 * UNIT);
    map_new(address, UNIT);
    gate_hold(&gate, stream);
    OK(cuMemsetD8Async(address, 1, 20, stream));
    OK(cuMemUnmap(address, UNIT));
    map_new(address, UNIT);
    gate_open(&gate);
    OK(cuStreamSynchronize(stream));
    ck_assert_int_eq(*(char *)address, 0); /* the new memory was not touched */
}

static void free_by_another_way(void)
{
    CUdeviceptr address;

    start();
    address = reserve(UNIT);
    map_new(address, UNIT);
    ck_assert_ptr_null(simcuda_freeing((void *)address));
    INVALID(cuMemFree(address));
}

START_TEST(each_use_of_what_is_not_mapped_is_a_violation_of_its_kind)
{
    static const struct {
        void (*body)(void);
        const char *kind; /* NULL: none */
    } cases[] = {
        {copy_within_neighbouring_mappings, NULL},
        {copy_across_the_end, "\"out-of-bounds\""},
        {copy_where_nothing_was_mapped, "\"out-of-bounds\""},
        {copy_after_unmap, "\"use-after-free\""},
        {copy_after_the_reservation_is_freed, "\"use-after-free\""},
        {copy_without_access, "\"no-access\""},
        {write_what_may_be_read, "\"no-access\""},
        {unmap_under_work, "\"use-after-free\""},
        {free_by_another_way, "\"invalid-free\""},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *report = report_of(cases[i].body);
        const char *violations = strstr(report, "\"violations\"");
        const char *end = violations ? strchr(violations, '}') : NULL;
        size_t length;

        ck_assert_ptr_nonnull(end);
        length = (size_t)(end - violations);
        if (cases[i].kind) {
            ck_assert_msg(memmem(violations, length, cases[i].kind, strlen(cases[i].kind)) != NULL,
                          "case %zu: %s", i, report);
            ck_assert_int_eq(number_in(violations, strtok(strdup(cases[i].kind), "\"")), 1);
        } else {
            ck_assert_msg(memchr(violations, '1', length) == NULL, "case %zu: %s", i, report);
        }
        free(report);
    }
}
END_TEST

/* What the test remembers: for each unit of the reservation the memory it shows, 0: none. */
#define UNITS   24
#define PIECES  12
#define ACTIONS 4000

struct model {
    CUdeviceptr address;
    CUmemGenericAllocationHandle handles[PIECES]; /* 0: none */
    size_t units[PIECES];                         /* of the piece; 0: it is nowhere any more */
    unsigned maps[PIECES];
    unsigned char written[PIECES][4]; /* the first byte of each unit */
    int piece[UNITS], first[UNITS];   /* shown there, -1: none; where its mapping begins */
};

static size_t alive(const struct model *model)
{
    size_t units = 0;

    for (int i = 0; i < PIECES; i++)
        units += model->handles[i] != 0 || model->maps[i] > 0 ? model->units[i] : 0;
    return units * UNIT;
}

static bool is_free(const struct model *model, int at, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if ((size_t)at + i >= UNITS || model->piece[(size_t)at + i] >= 0)
            return false;
    return true;
}

static void act_on_piece(struct model *model, int piece, uint64_t random)
{
    if (model->handles[piece] != 0) {
        OK(cuMemRelease(model->handles[piece]));
        model->handles[piece] = 0;
    } else if (model->maps[piece] == 0) {
        model->units[piece] = 1 + random % 4;
        model->handles[piece] = create(model->units[piece] * UNIT);
        memset(model->written[piece], 0, sizeof model->written[piece]);
    }
}

static void act_map(struct model *model, int piece, int at)
{
    size_t count = model->units[piece];
    CUdeviceptr address = model->address + (size_t)at * UNIT;
    bool fits = is_free(model, at, count);

    if (model->handles[piece] == 0)
        return;
    ANSWERS(fits ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE,
            cuMemMap(address, count * UNIT, 0, model->handles[piece], 0));
    if (!fits)
        return;
    allow(address, count * UNIT);
    model->maps[piece]++;
    for (int i = at; i < at + (int)count; i++) {
        model->piece[i] = piece;
        model->first[i] = at;
    }
}

static void act_unmap(struct model *model, int at)
{
    int piece = model->piece[at];
    bool whole = piece >= 0 && model->first[at] == at;
    size_t count = piece >= 0 ? model->units[piece] : 1;

    ANSWERS(whole ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE,
            cuMemUnmap(model->address + (size_t)at * UNIT, count * UNIT));
    if (!whole)
        return;
    model->maps[piece]--;
    for (int i = at; i < at + (int)count; i++)
        model->piece[i] = -1;
}

static void act_write(struct model *model, int at, unsigned char byte)
{
    if (model->piece[at] < 0)
        return;
    OK(cuMemsetD8(model->address + (size_t)at * UNIT, byte, 1));
    OK(cuCtxSynchronize());
    model->written[model->piece[at]][at - model->first[at]] = byte;
}

static void compare(const struct model *model)
{
    unsigned char byte;

    for (int at = 0; at < UNITS; at++) {
        if (model->piece[at] < 0)
            continue;
        OK(cuMemcpyDtoH(&byte, model->address + (size_t)at * UNIT, 1));
        ck_assert_uint_eq(byte, model->written[model->piece[at]][at - model->first[at]]);
    }
    ck_assert_uint_eq(mapped(), alive(model));
}

START_TEST(random_maps_unmaps_and_writes_agree_with_a_naive_model)
{
    uint64_t state = seed();
    struct model model = {0};

    start();
    model.address = reserve(UNITS * UNIT);
    for (int i = 0; i < UNITS; i++)
        model.piece[i] = -1;
    for (int i = 0; i < ACTIONS; i++) {
        uint64_t random = next_random(&state);
        int piece = (int)(random >> 8 & 0xffff) % PIECES;
        int at = (int)(random >> 24 & 0xffff) % UNITS;

        switch (random % 4) {
        case 0:
            act_on_piece(&model, piece, random >> 40);
            break;
        case 1:
            act_map(&model, piece, at);
            break;
        case 2:
            act_unmap(&model, at);
            break;
        default:
            act_write(&model, at, (unsigned char)(random >> 48));
        }
        if (i % 16 == 0)
            compare(&model);
    }
    compare(&model);
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
        a_descriptor_imports_as_the_same_memory_in_this_process,
        what_is_no_shareable_handle_is_refused,
        another_process_shares_the_memory_of_a_descriptor,
        each_use_of_what_is_not_mapped_is_a_violation_of_its_kind,
        random_maps_unmaps_and_writes_agree_with_a_naive_model,
        NULL};

    return run_tests("virtual", tests);
}
