/* SPDX-License-Identifier: MIT
 * async.c - allocating and freeing in stream order. Compiled twice (call.h).
 *
 * The sampler does not count it: what a pool keeps is no cache's. */
#include "call.h"
#include "judge.h"
#include "pointer.h"

/* Like cudaMalloc, a success without memory where nothing is asked for. */
static cudaError_t finish(CUresult result, CUdeviceptr found, void **pointer, size_t bytes)
{
    if (result != CUDA_SUCCESS)
        return simrt_error(result);
    *pointer = simrt_pointer(found);
    simrt_judge_allocated(*pointer, bytes);
    return cudaSuccess;
}

SIMRT_API cudaError_t cudaMallocAsync(void **pointer, size_t bytes, cudaStream_t stream)
{
    cudaError_t error = simrt_enter(SIMRT_CALL(cudaMallocAsync), SIMRT_CONTEXT);
    CUresult result = CUDA_SUCCESS;
    CUdeviceptr found = 0;

    if (error == cudaSuccess && pointer == NULL)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess && bytes > 0)
        result = SIMRT_DRIVER.cuMemAllocAsync(&found, bytes, stream);
    if (error == cudaSuccess)
        error = finish(result, found, pointer, bytes);
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaMallocFromPoolAsync(void **pointer, size_t bytes, cudaMemPool_t pool,
                                              cudaStream_t stream)
{
    cudaError_t error = simrt_enter(SIMRT_CALL(cudaMallocFromPoolAsync), SIMRT_CONTEXT);
    CUresult result = CUDA_SUCCESS;
    CUdeviceptr found = 0;

    if (error == cudaSuccess && pointer == NULL)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess && bytes > 0)
        result = SIMRT_DRIVER.cuMemAllocFromPoolAsync(&found, bytes, pool, stream);
    if (error == cudaSuccess)
        error = finish(result, found, pointer, bytes);
    return simrt_leave(error);
}

static cudaError_t release(void *pointer, cudaStream_t stream)
{
    simcuda_allocation *allocation = simrt_judge_freeing(pointer);
    cudaError_t error = simrt_error(SIMRT_DRIVER.cuMemFreeAsync(simrt_address(pointer), stream));

    simrt_judge_freed(allocation, error == cudaSuccess);
    return error;
}

SIMRT_API cudaError_t cudaFreeAsync(void *pointer, cudaStream_t stream)
{
    cudaError_t error = simrt_enter(SIMRT_CALL(cudaFreeAsync), SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = pointer == NULL ? cudaErrorInvalidValue : release(pointer, stream);
    return simrt_leave(error);
}
