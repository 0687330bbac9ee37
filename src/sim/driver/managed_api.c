/* SPDX-License-Identifier: MIT
 * managed_api.c - managed memory: allocation, and hints about where it should be.
 *
 * Host and device share one memory here, so hints change nothing; they are checked and take their
 * place in stream order. None of them can be captured. */
#include "context.h"
#include "device.h"
#include "lock.h"
#include "memory.h"
#include "stream.h"

CUresult cuMemAllocManaged(CUdeviceptr *dptr, size_t bytesize, unsigned int flags)
{
    struct sim_context *context;
    CUresult status = sim_enter_unsafe(CALL_cuMemAllocManaged, &context);
    uintptr_t address;

    if (status != CUDA_SUCCESS)
        return status;
    if (!dptr || bytesize == 0 || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
        return CUDA_ERROR_INVALID_VALUE;
    status = sim_memory_new(context, SIM_MANAGED_MEMORY, bytesize, flags, &address);
    if (status == CUDA_SUCCESS)
        *dptr = (CUdeviceptr)address;
    return status;
}

/* Do the bytes lie in one live managed block? */
static bool is_managed(CUdeviceptr address, size_t bytes)
{
    const struct sim_block *block;
    bool managed;

    sim_lock();
    block = sim_memory_find_locked((uintptr_t)address);
    managed = block && block->kind == SIM_MANAGED_MEMORY && !block->freeing &&
              bytes <= block->bytes - ((uintptr_t)address - block->address);
    sim_unlock();
    return managed;
}

static CUresult enqueue_nothing(struct sim_context *context, CUstream stream, bool per_thread)
{
    struct sim_op *op = sim_op_empty();

    if (op)
        op->immediate = true;
    return sim_enqueue(context, stream, per_thread, op, false);
}

static CUresult attach(enum sim_call call, CUstream stream, CUdeviceptr address, size_t bytes,
                       unsigned flags, bool per_thread)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(call, &context);

    if (status != CUDA_SUCCESS)
        return status;
    if ((flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST &&
         flags != CU_MEM_ATTACH_SINGLE) ||
        !is_managed(address, bytes) || (flags == CU_MEM_ATTACH_SINGLE && !stream))
        return CUDA_ERROR_INVALID_VALUE;
    return enqueue_nothing(context, stream, per_thread);
}

CUresult cuStreamAttachMemAsync(CUstream hStream, CUdeviceptr dptr, size_t length,
                                unsigned int flags)
{
    return attach(CALL_cuStreamAttachMemAsync, hStream, dptr, length, flags, false);
}

CUresult cuStreamAttachMemAsync_ptsz(CUstream hStream, CUdeviceptr dptr, size_t length,
                                     unsigned int flags)
{
    return attach(CALL_cuStreamAttachMemAsync_ptsz, hStream, dptr, length, flags, true);
}

static CUresult check_location(CUmemLocation location)
{
    switch (location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
        return sim_device_find(location.id) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

/* The place that the older calls name with a device. */
static CUmemLocation location_of(CUdevice device)
{
    CUmemLocation location = {.type = CU_MEM_LOCATION_TYPE_HOST};

    if (device != CU_DEVICE_CPU) {
        location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        location.id = device;
    }
    return location;
}

static CUresult prefetch(enum sim_call call, CUdeviceptr address, size_t bytes,
                         CUmemLocation location, unsigned flags, CUstream stream, bool per_thread)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(call, &context);

    if (status != CUDA_SUCCESS)
        return status;
    if (bytes == 0 || flags != 0 || !is_managed(address, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    status = check_location(location);
    return status == CUDA_SUCCESS ? enqueue_nothing(context, stream, per_thread) : status;
}

CUresult cuMemPrefetchAsync(CUdeviceptr devPtr, size_t count, CUdevice dstDevice, CUstream hStream)
{
    return prefetch(CALL_cuMemPrefetchAsync, devPtr, count, location_of(dstDevice), 0, hStream,
                    false);
}

CUresult cuMemPrefetchAsync_ptsz(CUdeviceptr devPtr, size_t count, CUdevice dstDevice,
                                 CUstream hStream)
{
    return prefetch(CALL_cuMemPrefetchAsync_ptsz, devPtr, count, location_of(dstDevice), 0, hStream,
                    true);
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr devPtr, size_t count, CUmemLocation location,
                               unsigned int flags, CUstream hStream)
{
    return prefetch(CALL_cuMemPrefetchAsync_v2, devPtr, count, location, flags, hStream, false);
}

CUresult cuMemPrefetchAsync_v2_ptsz(CUdeviceptr devPtr, size_t count, CUmemLocation location,
                                    unsigned int flags, CUstream hStream)
{
    return prefetch(CALL_cuMemPrefetchAsync_v2_ptsz, devPtr, count, location, flags, hStream, true);
}

static CUresult advise(enum sim_call call, CUdeviceptr address, size_t bytes, CUmem_advise advice,
                       CUmemLocation location)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(call, &context);

    if (status != CUDA_SUCCESS)
        return status;
    if (bytes == 0 || advice < CU_MEM_ADVISE_SET_READ_MOSTLY ||
        advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY || !is_managed(address, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    if (advice == CU_MEM_ADVISE_SET_READ_MOSTLY || advice == CU_MEM_ADVISE_UNSET_READ_MOSTLY ||
        advice == CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION)
        return CUDA_SUCCESS; /* these ignore the location */
    return check_location(location);
}

CUresult cuMemAdvise(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUdevice device)
{
    return advise(CALL_cuMemAdvise, devPtr, count, advice, location_of(device));
}

CUresult cuMemAdvise_v2(CUdeviceptr devPtr, size_t count, CUmem_advise advice,
                        CUmemLocation location)
{
    return advise(CALL_cuMemAdvise_v2, devPtr, count, advice, location);
}
