/* SPDX-License-Identifier: MIT
 * pool_api.c - memory pools of the driver API: making them, asking them, and whose turn it is.
 *
 * Pools of device memory within one process: nothing of theirs can be exported. */
#include "context.h"
#include "device.h"
#include "graph_memory.h"
#include "lock.h"
#include "pool.h"

CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *poolProps)
{
    CUresult status = sim_enter_ready(CALL_cuMemPoolCreate);
    struct sim_device *device;
    struct sim_pool *made;

    if (status != CUDA_SUCCESS)
        return status;
    if (!pool || !poolProps || poolProps->allocType != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    if (poolProps->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
        poolProps->handleTypes != CU_MEM_HANDLE_TYPE_NONE)
        return CUDA_ERROR_NOT_SUPPORTED;
    device = sim_device_find(poolProps->location.id);
    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    sim_lock();
    made = sim_pool_new_locked(device, poolProps->maxSize);
    sim_unlock();
    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *pool = (CUmemoryPool)made;
    return CUDA_SUCCESS;
}

CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
    CUresult status = sim_enter_ready(CALL_cuMemPoolDestroy);
    struct sim_pool *found;

    if (status != CUDA_SUCCESS)
        return status;
    sim_lock();
    found = sim_pool_find_locked(pool);
    if (found && !found->standard)
        sim_pool_destroy_locked(found);
    else
        status = CUDA_ERROR_INVALID_VALUE;
    sim_unlock();
    return status;
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t minBytesToKeep)
{
    CUresult status = sim_enter_ready(CALL_cuMemPoolTrimTo);
    struct sim_pool *found;

    if (status != CUDA_SUCCESS)
        return status;
    sim_lock();
    found = sim_pool_find_locked(pool);
    if (found)
        sim_pool_trim_locked(found, minBytesToKeep);
    sim_unlock();
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* A high-water mark can only be set to 0, which makes it what there is now. */
static CUresult set_high(uint64_t *high, uint64_t now, const cuuint64_t *value)
{
    if (*value != 0)
        return CUDA_ERROR_INVALID_VALUE;
    *high = now;
    return CUDA_SUCCESS;
}

static CUresult set_attribute(struct sim_pool *pool, CUmemPool_attribute attr, const void *value)
{
    switch (attr) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
        pool->follow_events = *(const int *)value != 0;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
        pool->opportunistic = *(const int *)value != 0;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        pool->internal = *(const int *)value != 0;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        pool->threshold = *(const cuuint64_t *)value;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        return set_high(&pool->reserved_high, pool->reserved, value);
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        return set_high(&pool->used_high, pool->used, value);
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
    CUresult status = sim_enter_ready(CALL_cuMemPoolSetAttribute);
    struct sim_pool *found;

    if (status != CUDA_SUCCESS)
        return status;
    if (!value)
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    found = sim_pool_find_locked(pool);
    status = found ? set_attribute(found, attr, value) : CUDA_ERROR_INVALID_VALUE;
    sim_unlock();
    return status;
}

static CUresult get_attribute(const struct sim_pool *pool, CUmemPool_attribute attr, void *value)
{
    switch (attr) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
        *(int *)value = pool->follow_events;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
        *(int *)value = pool->opportunistic;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        *(int *)value = pool->internal;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        *(cuuint64_t *)value = pool->threshold;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
        *(cuuint64_t *)value = pool->reserved;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        *(cuuint64_t *)value = pool->reserved_high;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
        *(cuuint64_t *)value = pool->used;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        *(cuuint64_t *)value = pool->used_high;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
    CUresult status = sim_enter_ready(CALL_cuMemPoolGetAttribute);
    const struct sim_pool *found;

    if (status != CUDA_SUCCESS)
        return status;
    if (!value)
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    found = sim_pool_find_locked(pool);
    status = found ? get_attribute(found, attr, value) : CUDA_ERROR_INVALID_VALUE;
    sim_unlock();
    return status;
}

static void set(uint32_t *devices, uint32_t bit, bool on)
{
    *devices = on ? *devices | bit : *devices & ~bit;
}

/* A device cannot lose the access to its own memory. */
static CUresult set_access_locked(struct sim_pool *pool, const CUmemAccessDesc *desc)
{
    struct sim_device *device;
    CUresult status = sim_device_of(&desc->location, &device);

    if (status != CUDA_SUCCESS)
        return status;
    if ((desc->flags != CU_MEM_ACCESS_FLAGS_PROT_NONE &&
         desc->flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
         desc->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) ||
        (device == pool->device && desc->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE))
        return CUDA_ERROR_INVALID_VALUE;
    set(&pool->readers, 1u << device->ordinal, desc->flags != CU_MEM_ACCESS_FLAGS_PROT_NONE);
    set(&pool->writers, 1u << device->ordinal, desc->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t count)
{
    CUresult status = sim_enter_ready(CALL_cuMemPoolSetAccess);
    struct sim_pool *found;

    if (status != CUDA_SUCCESS)
        return status;
    if (!map && count > 0)
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    found = sim_pool_find_locked(pool);
    status = found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count && status == CUDA_SUCCESS; i++)
        status = set_access_locked(found, &map[i]);
    sim_unlock();
    return status;
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool memPool, CUmemLocation *location)
{
    CUresult status = sim_enter_ready(CALL_cuMemPoolGetAccess);
    const struct sim_pool *found;
    struct sim_device *device = NULL;

    if (status != CUDA_SUCCESS)
        return status;
    if (!flags || !location)
        return CUDA_ERROR_INVALID_VALUE;
    status = sim_device_of(location, &device);
    if (status != CUDA_SUCCESS)
        return status;
    sim_lock();
    found = sim_pool_find_locked(memPool);
    if (found)
        *flags = found->writers >> device->ordinal & 1   ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                 : found->readers >> device->ordinal & 1 ? CU_MEM_ACCESS_FLAGS_PROT_READ
                                                         : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    sim_unlock();
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Whose turn it is. */

static CUresult give_pool(enum sim_call call, CUmemoryPool *out, CUdevice ordinal, bool standard)
{
    CUresult status = sim_enter_ready(call);
    struct sim_device *device;
    struct sim_pool *pool;

    if (status != CUDA_SUCCESS)
        return status;
    device = sim_device_find(ordinal);
    if (!out || !device)
        return out ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    pool = standard ? sim_pool_standard_locked(device) : sim_pool_current_locked(device);
    sim_unlock();
    if (!pool)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *out = (CUmemoryPool)pool;
    return CUDA_SUCCESS;
}

static CUresult choose_pool(enum sim_call call, CUdevice ordinal, CUmemoryPool handle)
{
    CUresult status = sim_enter_ready(call);
    struct sim_device *device;
    struct sim_pool *pool;

    if (status != CUDA_SUCCESS)
        return status;
    device = sim_device_find(ordinal);
    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    sim_lock();
    pool = sim_pool_find_locked(handle);
    if (pool && pool->device == device)
        sim_pool_choose_locked(device, pool);
    else
        status = CUDA_ERROR_INVALID_VALUE;
    sim_unlock();
    return status;
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool_out, CUdevice dev)
{
    return give_pool(CALL_cuDeviceGetDefaultMemPool, pool_out, dev, true);
}

CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice dev)
{
    return give_pool(CALL_cuDeviceGetMemPool, pool, dev, false);
}

CUresult cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool)
{
    return choose_pool(CALL_cuDeviceSetMemPool, dev, pool);
}

/* The device of a place that can have pools; -1: none, for which the calls above have an answer. */
static CUdevice device_of(const CUmemLocation *location, CUmemAllocationType type)
{
    return location && location->type == CU_MEM_LOCATION_TYPE_DEVICE &&
                   type == CU_MEM_ALLOCATION_TYPE_PINNED
               ? location->id
               : -1;
}

CUresult cuMemGetDefaultMemPool(CUmemoryPool *pool_out, CUmemLocation *location,
                                CUmemAllocationType type)
{
    return give_pool(CALL_cuMemGetDefaultMemPool, pool_out, device_of(location, type), true);
}

CUresult cuMemGetMemPool(CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type)
{
    return give_pool(CALL_cuMemGetMemPool, pool, device_of(location, type), false);
}

CUresult cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool)
{
    return choose_pool(CALL_cuMemSetMemPool, device_of(location, type), pool);
}

/* Memory of graphs. */

static CUresult graph_attribute_locked(CUdevice ordinal, CUgraphMem_attribute attr,
                                       struct sim_pool **pool, CUmemPool_attribute *same)
{
    static const CUmemPool_attribute of_pools[] = {
        [CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT] = CU_MEMPOOL_ATTR_USED_MEM_CURRENT,
        [CU_GRAPH_MEM_ATTR_USED_MEM_HIGH] = CU_MEMPOOL_ATTR_USED_MEM_HIGH,
        [CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT] = CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT,
        [CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH] = CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH,
    };
    struct sim_device *device = sim_device_find(ordinal);

    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    if ((unsigned)attr >= sizeof of_pools / sizeof *of_pools)
        return CUDA_ERROR_INVALID_VALUE;
    *same = of_pools[attr];
    *pool = sim_graph_memory_pool_locked(device);
    return *pool ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr, void *value)
{
    CUresult status = sim_enter_ready(CALL_cuDeviceGetGraphMemAttribute);
    struct sim_pool *pool;
    CUmemPool_attribute same;

    if (status != CUDA_SUCCESS)
        return status;
    if (!value)
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    status = graph_attribute_locked(device, attr, &pool, &same);
    if (status == CUDA_SUCCESS)
        status = get_attribute(pool, same, value);
    sim_unlock();
    return status;
}

CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr, void *value)
{
    CUresult status = sim_enter_ready(CALL_cuDeviceSetGraphMemAttribute);
    struct sim_pool *pool;
    CUmemPool_attribute same;

    if (status != CUDA_SUCCESS)
        return status;
    if (!value)
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    status = graph_attribute_locked(device, attr, &pool, &same);
    if (status == CUDA_SUCCESS)
        status = set_attribute(pool, same, value);
    sim_unlock();
    return status;
}

/* What graphs do not use has gone back already. */
CUresult cuDeviceGraphMemTrim(CUdevice device)
{
    CUresult status = sim_enter_ready(CALL_cuDeviceGraphMemTrim);

    if (status != CUDA_SUCCESS)
        return status;
    return sim_device_find(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
