/* SPDX-License-Identifier: MIT
 * memory_api.c - allocation and freeing of device and pinned memory. */
#include "api.h"
#include "capture.h"
#include "clock.h"
#include "context.h"
#include "device.h"
#include "lock.h"
#include "memory.h"
#include "pointer.h"
#include "settings.h"

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    struct sim_context *context;
    CUresult status = sim_enter_unsafe(CALL_cuMemAlloc_v2, &context);
    uintptr_t address;

    if (status != CUDA_SUCCESS)
        return status;
    if (!dptr || bytesize == 0)
        return CUDA_ERROR_INVALID_VALUE;
    sim_spend_ns(sim_settings()->malloc_ns);
    status = sim_memory_new(context, SIM_DEVICE_MEMORY, bytesize, 0, &address);
    if (status == CUDA_SUCCESS)
        *dptr = (CUdeviceptr)address;
    return status;
}

/* Rows are kept apart by what every texture alignment divides. */
#define PITCH ((size_t)512)

CUresult cuMemAllocPitch_v2(CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes, size_t Height,
                            unsigned int ElementSizeBytes)
{
    struct sim_context *context;
    CUresult status = sim_enter_unsafe(CALL_cuMemAllocPitch_v2, &context);
    uintptr_t address;
    size_t pitch;

    if (status != CUDA_SUCCESS)
        return status;
    if (!dptr || !pPitch || WidthInBytes == 0 || Height == 0 ||
        (ElementSizeBytes != 4 && ElementSizeBytes != 8 && ElementSizeBytes != 16))
        return CUDA_ERROR_INVALID_VALUE;
    if (WidthInBytes > SIZE_MAX - PITCH || WidthInBytes + PITCH > SIZE_MAX / Height)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pitch = (WidthInBytes + PITCH - 1) / PITCH * PITCH;
    sim_spend_ns(sim_settings()->malloc_ns);
    status = sim_memory_new(context, SIM_DEVICE_MEMORY, pitch * Height, 0, &address);
    if (status != CUDA_SUCCESS)
        return status;
    *dptr = (CUdeviceptr)address;
    *pPitch = pitch;
    return CUDA_SUCCESS;
}

/* Enters a call that frees: the pointer says which context it belongs to, so the thread needs none,
 * but no capture may forbid it. */
static CUresult enter_free(enum sim_call call)
{
    CUresult status = sim_enter_ready(call);

    return status == CUDA_SUCCESS ? sim_capture_unsafe() : status;
}

CUresult cuMemFree_v2(CUdeviceptr dptr)
{
    CUresult status = enter_free(CALL_cuMemFree_v2);

    if (status != CUDA_SUCCESS || dptr == 0)
        return status;
    return sim_memory_free((uintptr_t)dptr, SIM_DEVICE_MEMORY, sim_settings()->free_ns);
}

CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(CALL_cuMemGetInfo_v2, &context);

    if (status != CUDA_SUCCESS)
        return status;
    sim_lock();
    if (free_bytes)
        *free_bytes = context->device->memory - sim_device_mapped_locked(context->device);
    if (total)
        *total = context->device->memory;
    sim_unlock();
    return CUDA_SUCCESS;
}

#define HOST_ALLOC_FLAGS                                                                           \
    (CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED)

static CUresult host_alloc(enum sim_call call, void **pp, size_t bytes, unsigned flags)
{
    struct sim_context *context;
    CUresult status = sim_enter_unsafe(call, &context);
    uintptr_t address;

    if (status != CUDA_SUCCESS)
        return status;
    if (!pp || bytes == 0 || (flags & ~(unsigned)HOST_ALLOC_FLAGS) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    status = sim_memory_new(context, SIM_PINNED_MEMORY, bytes, flags, &address);
    if (status == CUDA_SUCCESS)
        *pp = sim_pointer(address);
    return status;
}

CUresult cuMemHostAlloc(void **pp, size_t bytesize, unsigned int Flags)
{
    return host_alloc(CALL_cuMemHostAlloc, pp, bytesize, Flags);
}

/* With unified addressing all pinned memory is portable and mapped, and the flags say so. */
CUresult cuMemAllocHost_v2(void **pp, size_t bytesize)
{
    return host_alloc(CALL_cuMemAllocHost_v2, pp, bytesize,
                      CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
}

CUresult cuMemFreeHost(void *p)
{
    CUresult status = enter_free(CALL_cuMemFreeHost);

    if (status != CUDA_SUCCESS)
        return status;
    return sim_memory_free((uintptr_t)p, SIM_PINNED_MEMORY, 0);
}

#define HOST_REGISTER_FLAGS                                                                        \
    (CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_IOMEMORY |    \
     CU_MEMHOSTREGISTER_READ_ONLY)

static CUresult host_register(enum sim_call call, void *p, size_t bytes, unsigned flags)
{
    struct sim_context *context;
    CUresult status = sim_enter_unsafe(call, &context);

    if (status != CUDA_SUCCESS)
        return status;
    if (!p || bytes == 0 || (uintptr_t)p > UINTPTR_MAX - bytes ||
        (flags & ~(unsigned)HOST_REGISTER_FLAGS) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    return sim_memory_register(context, (uintptr_t)p, bytes, flags);
}

CUresult cuMemHostRegister(void *p, size_t bytesize, unsigned int Flags)
{
    return host_register(CALL_cuMemHostRegister, p, bytesize, Flags);
}

CUresult cuMemHostRegister_v2(void *p, size_t bytesize, unsigned int Flags)
{
    return host_register(CALL_cuMemHostRegister_v2, p, bytesize, Flags);
}

CUresult cuMemHostUnregister(void *p)
{
    CUresult status = enter_free(CALL_cuMemHostUnregister);

    if (status != CUDA_SUCCESS)
        return status;
    if (!p)
        return CUDA_ERROR_INVALID_VALUE;
    status = sim_memory_free((uintptr_t)p, SIM_REGISTERED_MEMORY, 0);
    return status == CUDA_ERROR_INVALID_VALUE ? CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED : status;
}

/* The pinned or registered block that `p` lies in: a copy of its fields. */
static CUresult find_host(const void *p, struct sim_block *out)
{
    const struct sim_block *block;
    bool found;

    sim_lock();
    block = sim_memory_find_locked((uintptr_t)p);
    found = block && !block->freeing &&
            (block->kind == SIM_PINNED_MEMORY || block->kind == SIM_REGISTERED_MEMORY);
    if (found)
        *out = *block;
    sim_unlock();
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *pdptr, void *p, unsigned int Flags)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(CALL_cuMemHostGetDevicePointer_v2, &context);
    struct sim_block block;

    if (status != CUDA_SUCCESS)
        return status;
    if (!pdptr || Flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    status = find_host(p, &block);
    if (status == CUDA_SUCCESS)
        *pdptr = (CUdeviceptr)(uintptr_t)p;
    return status;
}

CUresult cuMemHostGetFlags(unsigned int *pFlags, void *p)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(CALL_cuMemHostGetFlags, &context);
    struct sim_block block;

    if (status != CUDA_SUCCESS)
        return status;
    if (!pFlags)
        return CUDA_ERROR_INVALID_VALUE;
    status = find_host(p, &block);
    if (status == CUDA_SUCCESS)
        *pFlags = block.flags | CU_MEMHOSTALLOC_DEVICEMAP;
    return status;
}
