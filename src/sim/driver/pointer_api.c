/* SPDX-License-Identifier: MIT
 * pointer_api.c - what the driver API says about a pointer, and the little it can be told. */
#include "api.h"
#include "context.h"
#include "device.h"
#include "lock.h"
#include "memory.h"
#include "physical.h"
#include "pointer.h"
#include "pool.h"
#include "range.h"
#include "stream.h"

/* What is known of an address: a copy of the live block it lies in, and the addresses that belong
 * to it. Where the program only reserved addresses there are these alone. */
struct subject {
    uintptr_t address;
    bool mapped;
    struct sim_block block;
    uintptr_t range;
    size_t range_bytes;
    unsigned handle_types;
    int access;
    struct sim_pool *pool;
    unsigned long long memory; /* the same for all addresses of one piece of memory */
};

static void describe_mapping_locked(struct subject *subject, const struct sim_device *device)
{
    const struct sim_mapping *mapping = sim_range_find_locked(subject->address);

    subject->handle_types = (unsigned)mapping->physical->properties.requestedHandleTypes;
    subject->access = sim_range_access_locked(subject->address, device);
    subject->memory = mapping->physical->number;
}

/* False: CUDA does not know the address. */
static bool find(CUdeviceptr address, const struct sim_context *context, struct subject *out)
{
    struct sim_block *block;
    const struct sim_range *range;

    *out = (struct subject){.address = (uintptr_t)address};
    sim_lock();
    block = sim_memory_find_locked(out->address);
    range = sim_space_range_locked(out->address);
    if (block && !block->freeing) {
        out->mapped = true;
        out->block = *block;
        out->range = block->address;
        out->range_bytes = block->bytes;
        out->access = CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE;
        out->memory = block->id;
    }
    if (out->mapped && block->kind == SIM_MAPPED_MEMORY)
        describe_mapping_locked(out, context->device);
    if (out->mapped && block->kind == SIM_POOL_MEMORY)
        out->pool = sim_pool_of(block);
    if (range) {
        out->range = range->address;
        out->range_bytes = range->bytes;
    }
    sim_unlock();
    return out->mapped || range;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *pbase, size_t *psize, CUdeviceptr dptr)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(CALL_cuMemGetAddressRange_v2, &context);
    struct subject subject;

    if (status != CUDA_SUCCESS)
        return status;
    if (!find(dptr, context, &subject) || !subject.mapped)
        return CUDA_ERROR_NOT_FOUND;
    if (pbase)
        *pbase = (CUdeviceptr)subject.block.address;
    if (psize)
        *psize = subject.block.bytes;
    return CUDA_SUCCESS;
}

/* What is known of reserved addresses, where nothing need be mapped. */
static CUresult read_range(CUpointer_attribute what, const struct subject *subject, void *data)
{
    switch (what) {
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        *(CUdeviceptr *)data = (CUdeviceptr)subject->range;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        *(size_t *)data = subject->range_bytes;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        *(int *)data = subject->mapped;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

/* Writes the attribute of a pointer; of one that CUDA does not know it is the "nothing" of its
 * kind.
 */
static CUresult read_attribute(CUpointer_attribute what, const struct subject *subject, void *data)
{
    const struct sim_block *block = subject->mapped ? &subject->block : NULL;
    bool managed = block && block->kind == SIM_MANAGED_MEMORY;
    bool device = block && (managed || block->kind == SIM_DEVICE_MEMORY ||
                            block->kind == SIM_MAPPED_MEMORY || block->kind == SIM_POOL_MEMORY);
    bool host = block && (!device || managed);

    switch (what) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        *(CUcontext *)data =
            block && block->kind != SIM_POOL_MEMORY ? (CUcontext)block->context : NULL;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned *)data = device ? CU_MEMORYTYPE_DEVICE : host ? CU_MEMORYTYPE_HOST : 0;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *(CUdeviceptr *)data = block ? (CUdeviceptr)subject->address : 0;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        *(void **)data = host ? sim_pointer(subject->address) : NULL;
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
        *(int *)data = block ? block->device->ordinal : -2;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        *(int *)data = block && block->kind == SIM_DEVICE_MEMORY;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        *(CUdeviceptr *)data = block ? (CUdeviceptr)block->address : 0;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        *(size_t *)data = block ? block->bytes : 0;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        *(unsigned long long *)data = subject->handle_types;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        *(int *)data = subject->access;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        *(void **)data = subject->pool;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
        *(unsigned long long *)data = subject->memory;
        return CUDA_SUCCESS;
    default:
        return read_range(what, subject, data);
    }
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attrib, CUdeviceptr ptr)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(CALL_cuPointerGetAttribute, &context);
    struct subject subject;

    if (status != CUDA_SUCCESS)
        return status;
    if (!data || !find(ptr, context, &subject))
        return CUDA_ERROR_INVALID_VALUE;
    return subject.mapped ? read_attribute(attrib, &subject, data)
                          : read_range(attrib, &subject, data);
}

/* Unlike the single question this one is no error for a pointer CUDA does not know. */
CUresult cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute *attributes,
                                void **data, CUdeviceptr ptr)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(CALL_cuPointerGetAttributes, &context);
    struct subject subject;

    if (status != CUDA_SUCCESS)
        return status;
    if (numAttributes == 0 || !attributes || !data)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < numAttributes; i++)
        if (attributes[i] < CU_POINTER_ATTRIBUTE_CONTEXT || !data[i] ||
            attributes[i] > CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE)
            return CUDA_ERROR_INVALID_VALUE;
    (void)find(ptr, context, &subject);
    for (unsigned i = 0; i < numAttributes; i++)
        (void)read_attribute(attributes[i], &subject, data[i]);
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
