/* SPDX-License-Identifier: MIT
 * symbol_copy.c - copies to and from __device__ and __constant__ variables. Compiled twice
 * (call.h). */
#include "copy.h"
#include "symbol.h"

/* A symbol's side of a copy is the device's; the other one decides. */
static cudaError_t check_direction(enum cudaMemcpyKind kind, enum cudaMemcpyKind with_host)
{
    return kind == with_host || kind == cudaMemcpyDeviceToDevice || kind == cudaMemcpyDefault
               ? cudaSuccess
               : cudaErrorInvalidMemcpyDirection;
}

SIMRT_API cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *from, size_t count,
                                         size_t offset, enum cudaMemcpyKind kind)
{
    cudaError_t error = simrt_enter(SIMRT_CALL(cudaMemcpyToSymbol), SIMRT_CONTEXT);
    char *to = NULL;

    if (error == cudaSuccess)
        error = check_direction(kind, cudaMemcpyHostToDevice);
    if (error == cudaSuccess)
        error = simrt_symbol_locate(symbol, count, offset, &to);
    if (error == cudaSuccess)
        error = simrt_copy(to, from, count, kind);
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaMemcpyFromSymbol(void *to, const void *symbol, size_t count,
                                           size_t offset, enum cudaMemcpyKind kind)
{
    cudaError_t error = simrt_enter(SIMRT_CALL(cudaMemcpyFromSymbol), SIMRT_CONTEXT);
    char *from = NULL;

    if (error == cudaSuccess)
        error = check_direction(kind, cudaMemcpyDeviceToHost);
    if (error == cudaSuccess)
        error = simrt_symbol_locate(symbol, count, offset, &from);
    if (error == cudaSuccess)
        error = simrt_copy(to, from, count, kind);
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t count,
                                              size_t offset, enum cudaMemcpyKind kind,
                                              cudaStream_t stream)
{
    cudaError_t error = simrt_enter(SIMRT_CALL(cudaMemcpyToSymbolAsync), SIMRT_CONTEXT);
    char *to = NULL;

    if (error == cudaSuccess)
        error = check_direction(kind, cudaMemcpyHostToDevice);
    if (error == cudaSuccess)
        error = simrt_symbol_locate(symbol, count, offset, &to);
    if (error == cudaSuccess)
        error = simrt_copy_async(to, from, count, kind, stream);
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t count,
                                                size_t offset, enum cudaMemcpyKind kind,
                                                cudaStream_t stream)
{
    cudaError_t error = simrt_enter(SIMRT_CALL(cudaMemcpyFromSymbolAsync), SIMRT_CONTEXT);
    char *from = NULL;

    if (error == cudaSuccess)
        error = check_direction(kind, cudaMemcpyDeviceToHost);
    if (error == cudaSuccess)
        error = simrt_symbol_locate(symbol, count, offset, &from);
    if (error == cudaSuccess)
        error = simrt_copy_async(to, from, count, kind, stream);
    return simrt_leave(error);
}
