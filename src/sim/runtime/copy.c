/* SPDX-License-Identifier: MIT
 * copy.c - copies and memsets. Compiled twice (call.h). */
#include "copy.h"

SIMRT_API cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    cudaError_t error = simrt_enter(SIMRT_CALL(cudaMemcpy), SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = simrt_copy(to, from, bytes, kind);
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                                      enum cudaMemcpyKind kind, cudaStream_t stream)
{
    cudaError_t error = simrt_enter(SIMRT_CALL(cudaMemcpyAsync), SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = simrt_copy_async(to, from, bytes, kind, stream);
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaMemset(void *pointer, int value, size_t bytes)
{
    cudaError_t error = simrt_enter(SIMRT_CALL(cudaMemset), SIMRT_CONTEXT);

    if (error == cudaSuccess && bytes > 0)
        error = simrt_error(
            SIMRT_DRIVER.cuMemsetD8(simrt_address(pointer), (unsigned char)value, bytes));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaMemsetAsync(void *pointer, int value, size_t bytes, cudaStream_t stream)
{
    cudaError_t error = simrt_enter(SIMRT_CALL(cudaMemsetAsync), SIMRT_CONTEXT);

    if (error == cudaSuccess && bytes > 0)
        error = simrt_error(SIMRT_DRIVER.cuMemsetD8Async(simrt_address(pointer),
                                                         (unsigned char)value, bytes, stream));
    return simrt_leave(error);
}
