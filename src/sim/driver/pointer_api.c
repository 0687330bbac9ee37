/* SPDX-License-Identifier: MIT
 * pointer_api.c - what the driver API says about a pointer, and the little it can be told. */
#include "api.h"
#include "context.h"
#include "device.h"
#include "lock.h"
#include "memory.h"
#include "pointer.h"
#include "stream.h"

/* A copy of the live block that `address` lies in; false: there is none. */
static bool find(CUdeviceptr address, struct sim_block *out)
{
    const struct sim_block *block;
    bool found;

    sim_lock();
    block = sim_memory_find_locked((uintptr_t)address);
    found = block && !block->freeing;
    if (found)
        *out = *block;
    sim_unlock();
    return found;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *pbase, size_t *psize, CUdeviceptr dptr)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(CALL_cuMemGetAddressRange_v2, &context);
    struct sim_block block;

    if (status != CUDA_SUCCESS)
        return status;
    if (!find(dptr, &block))
        return CUDA_ERROR_NOT_FOUND;
    if (pbase)
        *pbase = (CUdeviceptr)block.address;
    if (psize)
        *psize = block.bytes;
    return CUDA_SUCCESS;
}

/* Writes the attribute of a pointer; block NULL: one CUDA does not know, whose attributes are the
 * "nothing" of each kind. False: such a pointer has no such attribute. */
static CUresult read_attribute(CUpointer_attribute what, const struct sim_block *block,
                               uintptr_t address, void *data)
{
    bool managed = block && block->kind == SIM_MANAGED_MEMORY;
    bool device = block && (block->kind == SIM_DEVICE_MEMORY || managed);
    bool host = block && (!device || managed);

    switch (what) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        *(CUcontext *)data = block ? (CUcontext)block->context : NULL;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned *)data = device ? CU_MEMORYTYPE_DEVICE : host ? CU_MEMORYTYPE_HOST : 0;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *(CUdeviceptr *)data = block ? (CUdeviceptr)address : 0;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        *(void **)data = host ? sim_pointer(address) : NULL;
        return block && !host ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        *(unsigned long long *)data = block ? block->id : 0;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        *(int *)data = block && block->sync_memops;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *(int *)data = managed;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
        *(int *)data = 0;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *(int *)data = block ? block->context->device->ordinal : -2;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        *(int *)data = device && !managed;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        *(CUdeviceptr *)data = block ? (CUdeviceptr)block->address : 0;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        *(size_t *)data = block ? block->bytes : 0;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        *(int *)data = block != NULL;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        *(unsigned long long *)data = 0;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        *(int *)data = block ? CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE
                             : CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        *(void **)data = NULL;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
        *(unsigned long long *)data = block ? block->id : 0;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attrib, CUdeviceptr ptr)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(CALL_cuPointerGetAttribute, &context);
    struct sim_block block;

    if (status != CUDA_SUCCESS)
        return status;
    if (!data || !find(ptr, &block))
        return CUDA_ERROR_INVALID_VALUE;
    return read_attribute(attrib, &block, (uintptr_t)ptr, data);
}

/* Unlike the single question this one is no error for a pointer CUDA does not know. */
CUresult cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute *attributes,
                                void **data, CUdeviceptr ptr)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(CALL_cuPointerGetAttributes, &context);
    struct sim_block block;
    const struct sim_block *found;

    if (status != CUDA_SUCCESS)
        return status;
    if (numAttributes == 0 || !attributes || !data)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < numAttributes; i++)
        if (attributes[i] < CU_POINTER_ATTRIBUTE_CONTEXT || !data[i] ||
            attributes[i] > CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE)
            return CUDA_ERROR_INVALID_VALUE;
    found = find(ptr, &block) ? &block : NULL;
    for (unsigned i = 0; i < numAttributes; i++)
        (void)read_attribute(attributes[i], found, (uintptr_t)ptr, data[i]);
    return CUDA_SUCCESS;
}

/* Copies that were asked for earlier are waited for, those of the context at most. */
static CUresult set_sync_memops_locked(CUdeviceptr address, bool value)
{
    struct sim_block *block = sim_memory_find_locked((uintptr_t)address);

    if (!block || block->freeing || block->kind != SIM_DEVICE_MEMORY)
        return CUDA_ERROR_INVALID_VALUE;
    block->sync_memops = value;
    sim_context_drain_locked(block->context);
    return CUDA_SUCCESS;
}

CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr ptr)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(CALL_cuPointerSetAttribute, &context);

    if (status != CUDA_SUCCESS)
        return status;
    if (!value || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    status = set_sync_memops_locked(ptr, *(const unsigned *)value != 0);
    sim_unlock();
    return status;
}
