/* SPDX-License-Identifier: MIT
 * pools.h - memory pools in one call each; what goes wrong fails the test. */
#ifndef SIM_TEST_POOLS_H
#define SIM_TEST_POOLS_H

#include "support.h"

#define CHUNK (32 * MIB)

static inline CUstream new_stream(void)
{
    CUstream stream;

    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
}

static inline CUdeviceptr alloc(size_t bytes, CUstream stream)
{
    CUdeviceptr address = 0;

    OK(cuMemAllocAsync(&address, bytes, stream));
    return address;
}

static inline CUmemoryPool standard(void)
{
    CUmemoryPool pool = NULL;

    OK(cuDeviceGetDefaultMemPool(&pool, 0));
    return pool;
}

static inline cuuint64_t get(CUmemoryPool pool, CUmemPool_attribute attribute)
{
    cuuint64_t value = 0;

    OK(cuMemPoolGetAttribute(pool, attribute, &value));
    return value;
}

static inline void keep(CUmemoryPool pool, cuuint64_t bytes)
{
    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &bytes));
}

static inline CUmemPoolProps properties(void)
{
    return (CUmemPoolProps){.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
}

static inline CUmemoryPool create(void)
{
    CUmemPoolProps wanted = properties();
    CUmemoryPool pool = NULL;

    OK(cuMemPoolCreate(&pool, &wanted));
    return pool;
}

#endif
