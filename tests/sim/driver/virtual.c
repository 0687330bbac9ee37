/* SPDX-License-Identifier: MIT */
#include "virtual.h"

CUmemAllocationProp properties(void)
{
    return (CUmemAllocationProp){
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
    };
}

CUmemGenericAllocationHandle create(size_t bytes)
{
    CUmemAllocationProp wanted = properties();
    CUmemGenericAllocationHandle handle = 0;

    OK(cuMemCreate(&handle, bytes, &wanted, 0));
    return handle;
}

CUdeviceptr reserve(size_t bytes)
{
    CUdeviceptr address = 0;

    OK(cuMemAddressReserve(&address, bytes, 0, 0, 0));
    return address;
}

CUresult set_access(CUdeviceptr address, size_t bytes, CUmemAccess_flags flags)
{
    CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
                              .flags = flags};

    return cuMemSetAccess(address, bytes, &access, 1);
}

void allow(CUdeviceptr address, size_t bytes)
{
    OK(set_access(address, bytes, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
}

/* Memory of that size, mapped and accessible; its only handle is released. */
void map_new(CUdeviceptr address, size_t bytes)
{
    CUmemGenericAllocationHandle handle = create(bytes);

    OK(cuMemMap(address, bytes, 0, handle, 0));
    OK(cuMemRelease(handle));
    allow(address, bytes);
}
