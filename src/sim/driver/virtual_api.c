/* SPDX-License-Identifier: MIT
 * virtual_api.c - addresses and memory apart (cuMemAddressReserve, cuMemCreate, cuMemMap ...).
 *
 * None of these needs a context. */
#include <string.h>

#include "api.h"
#include "clock.h"
#include "device.h"
#include "lock.h"
#include "physical.h"
#include "range.h"
#include "settings.h"

CUresult cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment, CUdeviceptr addr,
                             unsigned long long flags)
{
    CUresult status = sim_enter_ready(CALL_cuMemAddressReserve);
    uintptr_t address = 0;

    if (status != CUDA_SUCCESS)
        return status;
    if (!ptr || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    status = sim_range_new_locked(size, alignment, (uintptr_t)addr, &address);
    sim_unlock();
    if (status == CUDA_SUCCESS)
        *ptr = (CUdeviceptr)address;
    return status;
}

CUresult cuMemAddressFree(CUdeviceptr ptr, size_t size)
{
    CUresult status = sim_enter_ready(CALL_cuMemAddressFree);

    if (status != CUDA_SUCCESS)
        return status;
    sim_lock();
    status = sim_range_free_locked((uintptr_t)ptr, size);
    sim_unlock();
    return status;
}

CUresult cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
                                       CUmemAllocationGranularity_flags option)
{
    CUresult status = sim_enter_ready(CALL_cuMemGetAllocationGranularity);
    struct sim_device *device;

    if (status != CUDA_SUCCESS)
        return status;
    if (!granularity || !prop ||
        (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM &&
         option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED))
        return CUDA_ERROR_INVALID_VALUE;
    status = sim_physical_allowed(prop, &device);
    if (status == CUDA_SUCCESS)
        *granularity = sim_settings()->granule;
    return status;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
                     const CUmemAllocationProp *prop, unsigned long long flags)
{
    CUresult status = sim_enter_ready(CALL_cuMemCreate);
    struct sim_physical *physical = NULL;
    struct sim_device *device;

    if (status != CUDA_SUCCESS)
        return status;
    if (!handle || !prop || flags != 0 || size == 0 || size % sim_settings()->granule != 0)
        return CUDA_ERROR_INVALID_VALUE;
    status = sim_physical_allowed(prop, &device);
    if (status != CUDA_SUCCESS)
        return status;
    sim_spend_ns(sim_settings()->malloc_ns);
    sim_lock();
    status = sim_physical_new_locked(device, prop, size, &physical);
    sim_unlock();
    if (status == CUDA_SUCCESS)
        *handle = (CUmemGenericAllocationHandle)(uintptr_t)physical;
    return status;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    CUresult status = sim_enter_ready(CALL_cuMemRelease);
    struct sim_physical *physical;

    if (status != CUDA_SUCCESS)
        return status;
    sim_lock();
    physical = sim_physical_find_locked(handle);
    if (physical)
        sim_physical_release_locked(physical);
    sim_unlock();
    return physical ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags)
{
    CUresult status = sim_enter_ready(CALL_cuMemMap);
    struct sim_physical *physical;

    if (status != CUDA_SUCCESS)
        return status;
    if (offset != 0 || flags != 0) /* the documentation has it that it must be, for now */
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    physical = sim_physical_find_locked(handle);
    status =
        physical ? sim_range_map_locked((uintptr_t)ptr, size, physical) : CUDA_ERROR_INVALID_VALUE;
    sim_unlock();
    return status;
}

CUresult cuMemUnmap(CUdeviceptr ptr, size_t size)
{
    CUresult status = sim_enter_ready(CALL_cuMemUnmap);

    if (status != CUDA_SUCCESS)
        return status;
    sim_spend_ns(sim_settings()->free_ns);
    sim_lock();
    status = sim_range_unmap_locked((uintptr_t)ptr, size);
    sim_unlock();
    return status;
}

static CUresult check_access(const CUmemAccessDesc *desc, size_t count)
{
    CUresult status = CUDA_SUCCESS;
    struct sim_device *device;

    for (size_t i = 0; i < count && status == CUDA_SUCCESS; i++) {
        status = sim_device_of(&desc[i].location, &device);
        if (desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE &&
            desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
            desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
            status = CUDA_ERROR_INVALID_VALUE;
    }
    return status;
}

CUresult cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count)
{
    CUresult status = sim_enter_ready(CALL_cuMemSetAccess);

    if (status != CUDA_SUCCESS)
        return status;
    if (!desc || count == 0)
        return CUDA_ERROR_INVALID_VALUE;
    status = check_access(desc, count);
    sim_lock();
    for (size_t i = 0; i < count && status == CUDA_SUCCESS; i++)
        status = sim_range_set_access_locked((uintptr_t)ptr, size,
                                             sim_device_find(desc[i].location.id), desc[i].flags);
    sim_unlock();
    return status;
}

CUresult cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr ptr)
{
    CUresult status = sim_enter_ready(CALL_cuMemGetAccess);
    struct sim_device *device = NULL;
    int access;

    if (status != CUDA_SUCCESS)
        return status;
    if (!flags || !location)
        return CUDA_ERROR_INVALID_VALUE;
    status = sim_device_of(location, &device);
    if (status != CUDA_SUCCESS)
        return status;
    sim_lock();
    access = sim_range_access_locked((uintptr_t)ptr, device);
    sim_unlock();
    if (access < 0)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = (unsigned long long)access;
    return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
                                                CUmemGenericAllocationHandle handle)
{
    CUresult status = sim_enter_ready(CALL_cuMemGetAllocationPropertiesFromHandle);
    const struct sim_physical *physical;

    if (status != CUDA_SUCCESS)
        return status;
    if (!prop)
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    physical = sim_physical_find_locked(handle);
    if (physical)
        *prop = physical->properties;
    sim_unlock();
    return physical ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr)
{
    CUresult status = sim_enter_ready(CALL_cuMemRetainAllocationHandle);
    const struct sim_mapping *mapping;

    if (status != CUDA_SUCCESS)
        return status;
    if (!handle)
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    mapping = sim_range_find_locked((uintptr_t)addr);
    if (!mapping)
        status = CUDA_ERROR_INVALID_VALUE;
    else if (sim_physical_hold_locked(mapping->physical))
        *handle = (CUmemGenericAllocationHandle)(uintptr_t)mapping->physical;
    else
        status = CUDA_ERROR_OUT_OF_MEMORY;
    sim_unlock();
    return status;
}

/* As a file descriptor, and only memory that was made for it. */
CUresult cuMemExportToShareableHandle(void *shareableHandle, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType handleType,
                                      unsigned long long flags)
{
    CUresult status = sim_enter_ready(CALL_cuMemExportToShareableHandle);
    struct sim_physical *physical;
    int file = -1;

    if (status != CUDA_SUCCESS)
        return status;
    if (!shareableHandle || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return CUDA_ERROR_NOT_SUPPORTED;
    sim_lock();
    physical = sim_physical_find_locked(handle);
    if (!physical ||
        physical->properties.requestedHandleTypes != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        status = CUDA_ERROR_INVALID_VALUE;
    else
        status = sim_physical_export_locked(physical, &file);
    sim_unlock();
    if (status == CUDA_SUCCESS)
        memcpy(shareableHandle, &file, sizeof file);
    return status;
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *osHandle,
                                        CUmemAllocationHandleType shHandleType)
{
    CUresult status = sim_enter_ready(CALL_cuMemImportFromShareableHandle);
    struct sim_physical *physical = NULL;

    if (status != CUDA_SUCCESS)
        return status;
    if (!handle)
        return CUDA_ERROR_INVALID_VALUE;
    if (shHandleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return CUDA_ERROR_NOT_SUPPORTED;
    sim_lock();
    status = sim_physical_import_locked((int)(intptr_t)osHandle, &physical);
    sim_unlock();
    if (status == CUDA_SUCCESS)
        *handle = (CUmemGenericAllocationHandle)(uintptr_t)physical;
    return status;
}
