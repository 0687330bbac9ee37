/* SPDX-License-Identifier: MIT
 * function_api.c - attributes of functions and kernels, and occupancy, in the driver API.
 *
 * A function's attributes are those of a plain kernel of 32 registers without static shared memory.
 */
#include "api.h"
#include "context.h"
#include "device.h"
#include "lock.h"
#include "module.h"
#include "settings.h"

#define REGISTERS     32
#define OPTIN_SHARED  (163 << 10)
#define MOST_THREADS  1024
#define MOST_DEEP     64
#define MOST_BLOCKS   32
#define SM_THREADS    2048
#define SM_SHARED     (164 << 10)
#define BLOCK_RESERVE 1024

static CUresult get_attribute(int *pi, CUfunction_attribute attribute,
                              const struct sim_function *function)
{
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *pi = MOST_THREADS;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
        *pi = REGISTERS;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        *pi = (int)sim_settings()->cc;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *pi = function->most_dynamic_shared;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        *pi = function->carveout;
        return CUDA_SUCCESS;
    default:
        if (attribute < 0 || attribute >= CU_FUNC_ATTRIBUTE_MAX)
            return CUDA_ERROR_INVALID_VALUE;
        *pi = 0;
        return CUDA_SUCCESS;
    }
}

static CUresult set_attribute(CUfunction_attribute attribute, int value,
                              struct sim_function *function)
{
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES && value >= 0 &&
        value <= OPTIN_SHARED) {
        function->most_dynamic_shared = value;
        return CUDA_SUCCESS;
    }
    if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT && value >= -1 &&
        value <= 100) {
        function->carveout = value;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuFuncGetAttribute(int *pi, CUfunction_attribute attrib, CUfunction hfunc)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(CALL_cuFuncGetAttribute, &context);
    struct sim_function *function;

    if (status != CUDA_SUCCESS)
        return status;
    if (!pi)
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    function = sim_function_find_locked(hfunc);
    status = function ? get_attribute(pi, attrib, function) : CUDA_ERROR_INVALID_HANDLE;
    sim_unlock();
    return status;
}

CUresult cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(CALL_cuFuncSetAttribute, &context);
    struct sim_function *function;

    if (status != CUDA_SUCCESS)
        return status;
    sim_lock();
    function = sim_function_find_locked(hfunc);
    status = function ? set_attribute(attrib, value, function) : CUDA_ERROR_INVALID_HANDLE;
    sim_unlock();
    return status;
}

CUresult cuKernelGetAttribute(int *pi, CUfunction_attribute attrib, CUkernel kernel, CUdevice dev)
{
    CUresult status = sim_enter_ready(CALL_cuKernelGetAttribute);
    struct sim_function *function;

    if (status != CUDA_SUCCESS)
        return status;
    if (!pi)
        return CUDA_ERROR_INVALID_VALUE;
    if (!sim_device_find(dev))
        return CUDA_ERROR_INVALID_DEVICE;
    sim_lock();
    function = sim_handle_find_locked(kernel, SIM_KERNEL);
    status = function ? get_attribute(pi, attrib, function) : CUDA_ERROR_INVALID_HANDLE;
    sim_unlock();
    return status;
}

CUresult cuKernelSetAttribute(CUfunction_attribute attrib, int val, CUkernel kernel, CUdevice dev)
{
    CUresult status = sim_enter_ready(CALL_cuKernelSetAttribute);
    struct sim_function *function;

    if (status != CUDA_SUCCESS)
        return status;
    if (!sim_device_find(dev))
        return CUDA_ERROR_INVALID_DEVICE;
    sim_lock();
    function = sim_handle_find_locked(kernel, SIM_KERNEL);
    status = function ? set_attribute(attrib, val, function) : CUDA_ERROR_INVALID_HANDLE;
    sim_unlock();
    return status;
}

/* The blocks of cuLaunch(), which is not modelled: checked, and kept by nobody. */
CUresult cuFuncSetBlockShape(CUfunction hfunc, int x, int y, int z)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(CALL_cuFuncSetBlockShape, &context);
    const struct sim_function *function;

    if (status != CUDA_SUCCESS)
        return status;
    if (x < 1 || y < 1 || z < 1 || x > MOST_THREADS || y > MOST_THREADS || z > MOST_DEEP ||
        x * y > MOST_THREADS / z)
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    function = sim_function_find_locked(hfunc);
    sim_unlock();
    return function ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* A preference: there is nothing to prefer. */
static CUresult accept(enum sim_call call, const void *handle)
{
    CUresult status = sim_enter_ready(call);

    if (status != CUDA_SUCCESS)
        return status;
    sim_lock();
    if (!sim_function_find_locked(handle))
        status = CUDA_ERROR_INVALID_HANDLE;
    sim_unlock();
    return status;
}

CUresult cuFuncSetCacheConfig(CUfunction hfunc, CUfunc_cache config)
{
    (void)config;
    return accept(CALL_cuFuncSetCacheConfig, hfunc);
}

CUresult cuFuncSetSharedMemConfig(CUfunction hfunc, CUsharedconfig config)
{
    (void)config;
    return accept(CALL_cuFuncSetSharedMemConfig, hfunc);
}

CUresult cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice dev)
{
    (void)config;
    (void)dev;
    return accept(CALL_cuKernelSetCacheConfig, kernel);
}

static CUresult get_name(enum sim_call call, const char **name, const void *handle)
{
    CUresult status = sim_enter_ready(call);
    struct sim_function *function;

    if (status != CUDA_SUCCESS)
        return status;
    if (!name)
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    function = sim_function_find_locked(handle);
    if (function)
        *name = function->name;
    sim_unlock();
    return function ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuFuncGetName(const char **name, CUfunction hfunc)
{
    return get_name(CALL_cuFuncGetName, name, hfunc);
}

CUresult cuKernelGetName(const char **name, CUkernel hfunc)
{
    return get_name(CALL_cuKernelGetName, name, hfunc);
}

CUresult cuFuncGetModule(CUmodule *hmod, CUfunction hfunc)
{
    CUresult status = sim_enter_ready(CALL_cuFuncGetModule);
    struct sim_function *function;

    if (status != CUDA_SUCCESS)
        return status;
    if (!hmod)
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    function = sim_handle_find_locked(hfunc, SIM_FUNCTION);
    if (function)
        *hmod = (CUmodule)function->module;
    sim_unlock();
    return function ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* How many blocks fit on a multiprocessor. */
static int resident_blocks(int threads, size_t shared)
{
    int warps = (threads + 31) / 32;
    int blocks = SM_THREADS / (warps * 32);
    size_t by_shared = SM_SHARED / (shared + BLOCK_RESERVE);

    if (blocks > MOST_BLOCKS)
        blocks = MOST_BLOCKS;
    return by_shared < (size_t)blocks ? (int)by_shared : blocks;
}

static CUresult occupancy(enum sim_call call, int *blocks, CUfunction func, int threads,
                          size_t shared)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(call, &context);

    if (status != CUDA_SUCCESS)
        return status;
    if (!blocks || threads <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    if (!sim_function_find_locked(func))
        status = CUDA_ERROR_INVALID_HANDLE;
    sim_unlock();
    if (status == CUDA_SUCCESS)
        *blocks = threads > MOST_THREADS ? 0 : resident_blocks(threads, shared);
    return status;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, CUfunction func, int blockSize,
                                                     size_t dynamicSMemSize)
{
    return occupancy(CALL_cuOccupancyMaxActiveBlocksPerMultiprocessor, numBlocks, func, blockSize,
                     dynamicSMemSize);
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *numBlocks, CUfunction func,
                                                              int blockSize, size_t dynamicSMemSize,
                                                              unsigned int flags)
{
    if ((flags & ~(unsigned)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE) != 0)
        numBlocks = NULL; /* invalid, once the call has been counted */
    return occupancy(CALL_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, numBlocks, func,
                     blockSize, dynamicSMemSize);
}

/* The block size that keeps most threads resident, the largest of equals. */
static CUresult potential(enum sim_call call, int *grid, int *block, CUfunction func,
                          CUoccupancyB2DSize to_shared, size_t shared, int limit)
{
    int unused = 0, best = 0, best_threads = 0;
    CUresult status = occupancy(call, grid && block ? &unused : NULL, func, 32, 0);

    if (status != CUDA_SUCCESS)
        return status;
    if (limit <= 0 || limit > MOST_THREADS)
        limit = MOST_THREADS;
    for (int threads = limit; threads > 0; threads -= threads % 32 ? threads % 32 : 32) {
        size_t bytes = to_shared ? to_shared(threads) : shared;
        int resident = resident_blocks(threads, bytes) * threads;

        if (resident > best_threads) {
            best_threads = resident;
            best = threads;
        }
    }
    if (best == 0)
        return CUDA_ERROR_INVALID_VALUE;
    *block = best;
    *grid = best_threads / best * 108;
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxPotentialBlockSize(int *minGridSize, int *blockSize, CUfunction func,
                                          CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                          size_t dynamicSMemSize, int blockSizeLimit)
{
    return potential(CALL_cuOccupancyMaxPotentialBlockSize, minGridSize, blockSize, func,
                     blockSizeToDynamicSMemSize, dynamicSMemSize, blockSizeLimit);
}

CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int *minGridSize, int *blockSize,
                                                   CUfunction func,
                                                   CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                                   size_t dynamicSMemSize, int blockSizeLimit,
                                                   unsigned int flags)
{
    if ((flags & ~(unsigned)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE) != 0)
        minGridSize = NULL;
    return potential(CALL_cuOccupancyMaxPotentialBlockSizeWithFlags, minGridSize, blockSize, func,
                     blockSizeToDynamicSMemSize, dynamicSMemSize, blockSizeLimit);
}
