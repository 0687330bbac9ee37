/* SPDX-License-Identifier: MIT
 * test_managed.c - managed memory, and what may be said about any memory: IPC handles, SYNC_MEMOPS.
 */
#include <string.h>

#include "support.h"

START_TEST(host_and_device_share_managed_memory)
{
    unsigned char back[16];
    unsigned char *host;
    CUdeviceptr address;

    start();
    OK(cuMemAllocManaged(&address, 64, CU_MEM_ATTACH_GLOBAL));
    host = (unsigned char *)(uintptr_t)address;
    host[3] = 7;
    OK(cuMemcpyDtoH(back, address, sizeof back));
    ck_assert_uint_eq(back[3], 7);
    OK(cuMemsetD8(address, 9, 64));
    OK(cuCtxSynchronize());
    ck_assert_uint_eq(host[63], 9);
    OK(cuMemFree(address));
    INVALID(cuMemFree(address));
}
END_TEST

START_TEST(managed_memory_takes_none_of_the_devices)
{
    CUdeviceptr address;

    with("MEMORY", "64MiB");
    start();
    OK(cuMemAllocManaged(&address, 256 * MIB, CU_MEM_ATTACH_HOST));
    ck_assert_uint_eq(mapped(), 0);
    OK(cuMemFree(address));
    INVALID(cuMemAllocManaged(&address, 0, CU_MEM_ATTACH_GLOBAL));
    INVALID(cuMemAllocManaged(NULL, 64, CU_MEM_ATTACH_GLOBAL));
    INVALID(cuMemAllocManaged(&address, 64, CU_MEM_ATTACH_SINGLE));
    INVALID(cuMemAllocManaged(&address, 64, 0));
}
END_TEST

START_TEST(a_managed_pointer_says_so)
{
    CUdeviceptr address, plain;
    unsigned type, managed;
    void *host;

    start();
    OK(cuMemAllocManaged(&address, 64, CU_MEM_ATTACH_GLOBAL));
    OK(cuMemAlloc(&plain, 64));
    OK(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address));
    ck_assert_uint_eq(managed, 1);
    OK(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, plain));
    ck_assert_uint_eq(managed, 0);
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address));
    ck_assert_uint_eq(type, CU_MEMORYTYPE_DEVICE);
    OK(cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, address));
    ck_assert_ptr_eq(host, (void *)(uintptr_t)address);
}
END_TEST

START_TEST(hints_are_for_managed_memory_and_take_their_place_in_the_stream)
{
    const CUmemLocation device = {.type = CU_MEM_LOCATION_TYPE_DEVICE};
    const CUmemLocation host = {.type = CU_MEM_LOCATION_TYPE_HOST};
    const CUmemLocation nowhere = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 9};
    static struct gate gate;
    CUdeviceptr managed, plain;
    CUstream stream;

    start();
    OK(cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_HOST));
    OK(cuMemAlloc(&plain, 4096));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    gate_hold(&gate, stream);
    OK(cuMemPrefetchAsync(managed, 4096, device, 0, stream));
    OK(cuStreamAttachMemAsync(stream, managed, 0, CU_MEM_ATTACH_SINGLE));
    ANSWERS(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
    gate_open(&gate);
    OK(cuMemAdvise(managed, 4096, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, host));
    OK(cuMemAdvise(managed, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, nowhere)); /* which it ignores */
    INVALID(cuMemPrefetchAsync(plain, 4096, device, 0, stream));
    INVALID(cuMemPrefetchAsync(managed, 4097, device, 0, stream));
    INVALID(cuMemPrefetchAsync(managed, 0, device, 0, stream));
    ANSWERS(CUDA_ERROR_INVALID_DEVICE, cuMemPrefetchAsync(managed, 64, nowhere, 0, stream));
    ANSWERS(CUDA_ERROR_INVALID_DEVICE,
            cuMemAdvise(managed, 64, CU_MEM_ADVISE_SET_ACCESSED_BY, nowhere));
    INVALID(cuMemAdvise(plain, 64, CU_MEM_ADVISE_SET_READ_MOSTLY, host));
    INVALID(cuMemAdvise(managed, 64, (CUmem_advise)99, host));
    INVALID(cuStreamAttachMemAsync(stream, plain, 0, CU_MEM_ATTACH_GLOBAL));
    INVALID(cuStreamAttachMemAsync(NULL, managed, 0, CU_MEM_ATTACH_SINGLE));
}
END_TEST

START_TEST(managed_memory_ends_with_its_context)
{
    CUcontext primary = start(), other;
    CUdeviceptr address;

    OK(cuCtxCreate(&other, NULL, 0, 0));
    OK(cuMemAllocManaged(&address, 64, CU_MEM_ATTACH_GLOBAL));
    OK(cuCtxDestroy(other));
    OK(cuCtxSetCurrent(primary));
    INVALID(cuMemFree(address));
}
END_TEST

START_TEST(an_ipc_handle_names_one_allocation)
{
    CUipcMemHandle first, again, second;
    CUdeviceptr a, b, managed, opened;
    void *pinned;

    start();
    OK(cuMemAlloc(&a, 4096));
    OK(cuMemAlloc(&b, 4096));
    OK(cuIpcGetMemHandle(&first, a));
    OK(cuIpcGetMemHandle(&again, a + 8)); /* anywhere in it */
    OK(cuIpcGetMemHandle(&second, b));
    ck_assert_mem_eq(&first, &again, sizeof first);
    ck_assert_mem_ne(&first, &second, sizeof first);
    OK(cuMemFree(a));
    INVALID(cuIpcGetMemHandle(&first, a));
    INVALID(cuIpcGetMemHandle(NULL, b));
    OK(cuMemAllocManaged(&managed, 64, CU_MEM_ATTACH_GLOBAL));
    OK(cuMemAllocHost(&pinned, 64));
    INVALID(cuIpcGetMemHandle(&first, managed));
    INVALID(cuIpcGetMemHandle(&first, (CUdeviceptr)(uintptr_t)pinned));
    ANSWERS(CUDA_ERROR_NOT_SUPPORTED,
            cuIpcOpenMemHandle(&opened, second, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
}
END_TEST

START_TEST(memory_can_be_told_to_synchronise)
{
    CUdeviceptr address, other;
    unsigned on = 1, off = 0, is = 9;

    start();
    OK(cuMemAlloc(&address, 64));
    OK(cuMemAlloc(&other, 64));
    OK(cuPointerGetAttribute(&is, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address));
    ck_assert_uint_eq(is, 0);
    OK(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address));
    OK(cuPointerGetAttribute(&is, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address + 63));
    ck_assert_uint_eq(is, 1);
    OK(cuPointerGetAttribute(&is, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, other));
    ck_assert_uint_eq(is, 0);
    OK(cuPointerSetAttribute(&off, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address));
    OK(cuPointerGetAttribute(&is, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address));
    ck_assert_uint_eq(is, 0);
    INVALID(cuPointerSetAttribute(NULL, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address));
    INVALID(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_IS_MANAGED, address));
    INVALID(
        cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, (CUdeviceptr)(uintptr_t)&on));
}
END_TEST

START_TEST(synchronous_copies_and_fills_of_such_memory_wait)
{
    static struct gate gate;
    CUdeviceptr address, other;
    unsigned on = 1;

    with("DELAY_NS", "20000000");
    start();
    OK(cuMemAlloc(&address, 64));
    OK(cuMemAlloc(&other, 64));
    gate_hold(&gate, NULL);
    OK(cuMemcpyDtoD(address, other, 64)); /* as documented, it need not wait */
    gate_open(&gate);
    OK(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address));
    OK(cuMemcpyDtoD(address, other, 64));
    OK(cuStreamQuery(NULL));
    OK(cuMemcpyDtoD(other, address, 64));
    OK(cuStreamQuery(NULL));
    OK(cuMemsetD8(address, 1, 64));
    OK(cuStreamQuery(NULL));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {host_and_device_share_managed_memory,
                                  managed_memory_takes_none_of_the_devices,
                                  a_managed_pointer_says_so,
                                  hints_are_for_managed_memory_and_take_their_place_in_the_stream,
                                  managed_memory_ends_with_its_context,
                                  an_ipc_handle_names_one_allocation,
                                  memory_can_be_told_to_synchronise,
                                  synchronous_copies_and_fills_of_such_memory_wait,
                                  NULL};

    return run_tests("managed", tests);
}
