/* SPDX-License-Identifier: MIT
 * kernel.c - what a program asks and says about a kernel short of launching it. */
#include "abi.h"
#include "call.h"
#include "device.h"
#include "module.h"
#include "nvcc.h"

#include <string.h>

SIMRT_API cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *function)
{
    cudaError_t error = simrt_enter(SIMRT_CALL___cudaGetKernel, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = simrt_module_find_kernel(function, kernel);
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaGetKernel(cudaKernel_t *kernel, const void *function)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaGetKernel, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = kernel == NULL ? cudaErrorInvalidValue : simrt_module_find_kernel(function, kernel);
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaGetFuncBySymbol(cudaFunction_t *found, const void *function)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaGetFuncBySymbol, SIMRT_CONTEXT);
    CUkernel kernel = NULL;
    CUfunction loaded = NULL;

    if (error == cudaSuccess)
        error = found == NULL ? cudaErrorInvalidValue : simrt_module_find_kernel(function, &kernel);
    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuKernelGetFunction(&loaded, kernel));
    if (error == cudaSuccess)
        *found = loaded;
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaFuncGetName(const char **name, const void *function)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaFuncGetName, SIMRT_CONTEXT);
    const char *found = NULL;

    if (error == cudaSuccess && name == NULL)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess) {
        found = simrt_module_find_name(function);
        error = found == NULL ? cudaErrorInvalidDeviceFunction : cudaSuccess;
    }
    if (error == cudaSuccess)
        *name = found;
    return simrt_leave(error);
}

static cudaError_t read_attributes(struct cudaFuncAttributes *attributes, CUkernel kernel)
{
    struct cudaFuncAttributes found = {0};
    int shared_bytes = 0;
    int constant_bytes = 0;
    int local_bytes = 0;
    const struct {
        CUfunction_attribute attribute;
        int *value;
    } wanted[] = {
        {CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &shared_bytes},
        {CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, &constant_bytes},
        {CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &local_bytes},
        {CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &found.maxThreadsPerBlock},
        {CU_FUNC_ATTRIBUTE_NUM_REGS, &found.numRegs},
        {CU_FUNC_ATTRIBUTE_PTX_VERSION, &found.ptxVersion},
        {CU_FUNC_ATTRIBUTE_BINARY_VERSION, &found.binaryVersion},
        {CU_FUNC_ATTRIBUTE_CACHE_MODE_CA, &found.cacheModeCA},
        {CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, &found.maxDynamicSharedSizeBytes},
        {CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, &found.preferredShmemCarveout},
        {CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, &found.clusterDimMustBeSet},
        {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, &found.requiredClusterWidth},
        {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, &found.requiredClusterHeight},
        {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, &found.requiredClusterDepth},
        {CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
         &found.clusterSchedulingPolicyPreference},
        {CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, &found.nonPortableClusterSizeAllowed},
    };
    CUresult result = CUDA_SUCCESS;

    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]) && result == CUDA_SUCCESS; i++)
        result = simrt_driver_table.cuKernelGetAttribute(wanted[i].value, wanted[i].attribute,
                                                         kernel, simrt_device_current());
    if (result != CUDA_SUCCESS)
        return simrt_error(result);
    found.sharedSizeBytes = (size_t)shared_bytes;
    found.constSizeBytes = (size_t)constant_bytes;
    found.localSizeBytes = (size_t)local_bytes;
    memcpy(attributes, &found, SIMRT_FUNCTION_ATTRIBUTES_BYTES);
    return cudaSuccess;
}

SIMRT_API cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes,
                                            const void *function)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaFuncGetAttributes, SIMRT_CONTEXT);
    CUkernel kernel = NULL;

    if (error == cudaSuccess)
        error = attributes == NULL ? cudaErrorInvalidValue
                                   : simrt_module_find_kernel(function, &kernel);
    if (error == cudaSuccess)
        error = read_attributes(attributes, kernel);
    return simrt_leave(error);
}

/* The runtime's attributes have the driver's values. */
SIMRT_API cudaError_t cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute attribute,
                                           int value)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaFuncSetAttribute, SIMRT_CONTEXT);
    CUkernel kernel = NULL;

    if (error == cudaSuccess)
        error = simrt_module_find_kernel(function, &kernel);
    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuKernelSetAttribute(
            (CUfunction_attribute)attribute, value, kernel, simrt_device_current()));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaFuncSetCacheConfig(const void *function, enum cudaFuncCache config)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaFuncSetCacheConfig, SIMRT_CONTEXT);
    CUkernel kernel = NULL;

    if (error == cudaSuccess)
        error = simrt_module_find_kernel(function, &kernel);
    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuKernelSetCacheConfig(kernel, (CUfunc_cache)config,
                                                                      simrt_device_current()));
    return simrt_leave(error);
}

/* A CUkernel passes for a CUfunction here too. */
static cudaError_t count_blocks(int *blocks, const void *function, int threads, size_t shared_bytes,
                                unsigned flags)
{
    CUkernel kernel = NULL;
    int found = 0;
    cudaError_t error;

    if (blocks == NULL)
        return cudaErrorInvalidValue;
    error = simrt_module_find_kernel(function, &kernel);
    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
            &found, (CUfunction)kernel, threads, shared_bytes, flags));
    if (error == cudaSuccess)
        *blocks = found;
    return error;
}

SIMRT_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks,
                                                                    const void *function,
                                                                    int threads,
                                                                    size_t shared_bytes)
{
    cudaError_t error =
        simrt_enter(SIMRT_CALL_cudaOccupancyMaxActiveBlocksPerMultiprocessor, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = count_blocks(blocks, function, threads, shared_bytes, cudaOccupancyDefault);
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *blocks, const void *function, int threads, size_t shared_bytes, unsigned int flags)
{
    cudaError_t error = simrt_enter(
        SIMRT_CALL_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = count_blocks(blocks, function, threads, shared_bytes, flags);
    return simrt_leave(error);
}
