/* SPDX-License-Identifier: MIT
 * pool.c - memory pools. A cudaMemPool_t is the driver's CUmemoryPool, and their structures are the
 * same. */
#include "call.h"

_Static_assert(sizeof(struct cudaMemPoolProps) == sizeof(CUmemPoolProps), "they are one");
_Static_assert(sizeof(struct cudaMemAccessDesc) == sizeof(CUmemAccessDesc), "they are one");
_Static_assert(sizeof(struct cudaMemLocation) == sizeof(CUmemLocation), "they are one");

SIMRT_API cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool,
                                        const struct cudaMemPoolProps *properties)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaMemPoolCreate, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = simrt_error(
            simrt_driver_table.cuMemPoolCreate(pool, (const CUmemPoolProps *)properties));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaMemPoolDestroy, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuMemPoolDestroy(pool));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaMemPoolTrimTo, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuMemPoolTrimTo(pool, keep));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute,
                                              void *value)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaMemPoolSetAttribute, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = simrt_error(
            simrt_driver_table.cuMemPoolSetAttribute(pool, (CUmemPool_attribute)attribute, value));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute,
                                              void *value)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaMemPoolGetAttribute, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = simrt_error(
            simrt_driver_table.cuMemPoolGetAttribute(pool, (CUmemPool_attribute)attribute, value));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool,
                                           const struct cudaMemAccessDesc *access, size_t count)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaMemPoolSetAccess, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = simrt_error(
            simrt_driver_table.cuMemPoolSetAccess(pool, (const CUmemAccessDesc *)access, count));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaMemPoolGetAccess(enum cudaMemAccessFlags *flags, cudaMemPool_t pool,
                                           struct cudaMemLocation *location)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaMemPoolGetAccess, SIMRT_CONTEXT);
    CUmemAccess_flags found = CU_MEM_ACCESS_FLAGS_PROT_NONE;

    if (error == cudaSuccess)
        error = flags == NULL ? cudaErrorInvalidValue
                              : simrt_error(simrt_driver_table.cuMemPoolGetAccess(
                                    &found, pool, (CUmemLocation *)location));
    if (error == cudaSuccess)
        *flags = (enum cudaMemAccessFlags)found;
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int ordinal)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaDeviceGetDefaultMemPool, SIMRT_INITIALISED);

    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuDeviceGetDefaultMemPool(pool, ordinal));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int ordinal)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaDeviceGetMemPool, SIMRT_INITIALISED);

    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuDeviceGetMemPool(pool, ordinal));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaDeviceSetMemPool(int ordinal, cudaMemPool_t pool)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaDeviceSetMemPool, SIMRT_INITIALISED);

    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuDeviceSetMemPool(ordinal, pool));
    return simrt_leave(error);
}

#if SIMRT_VERSION >= 13000
SIMRT_API cudaError_t cudaMemGetDefaultMemPool(cudaMemPool_t *pool,
                                               struct cudaMemLocation *location,
                                               enum cudaMemAllocationType type)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaMemGetDefaultMemPool, SIMRT_INITIALISED);

    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuMemGetDefaultMemPool(
            pool, (CUmemLocation *)location, (CUmemAllocationType)type));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaMemGetMemPool(cudaMemPool_t *pool, struct cudaMemLocation *location,
                                        enum cudaMemAllocationType type)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaMemGetMemPool, SIMRT_INITIALISED);

    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuMemGetMemPool(pool, (CUmemLocation *)location,
                                                               (CUmemAllocationType)type));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaMemSetMemPool(struct cudaMemLocation *location,
                                        enum cudaMemAllocationType type, cudaMemPool_t pool)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaMemSetMemPool, SIMRT_INITIALISED);

    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuMemSetMemPool((CUmemLocation *)location,
                                                               (CUmemAllocationType)type, pool));
    return simrt_leave(error);
}
#endif

/* Memory of graphs: the attributes are the driver's. */

SIMRT_API cudaError_t cudaDeviceGetGraphMemAttribute(int ordinal,
                                                     enum cudaGraphMemAttributeType attribute,
                                                     void *value)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaDeviceGetGraphMemAttribute, SIMRT_INITIALISED);

    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuDeviceGetGraphMemAttribute(
            ordinal, (CUgraphMem_attribute)attribute, value));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaDeviceSetGraphMemAttribute(int ordinal,
                                                     enum cudaGraphMemAttributeType attribute,
                                                     void *value)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaDeviceSetGraphMemAttribute, SIMRT_INITIALISED);

    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuDeviceSetGraphMemAttribute(
            ordinal, (CUgraphMem_attribute)attribute, value));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaDeviceGraphMemTrim(int ordinal)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaDeviceGraphMemTrim, SIMRT_INITIALISED);

    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuDeviceGraphMemTrim(ordinal));
    return simrt_leave(error);
}
