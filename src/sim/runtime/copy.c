/* SPDX-License-Identifier: MIT
 * copy.c - copies and memsets.
 *
 * The synchronous ones wait as the driver's do: a copy between devices does not wait for itself,
 * one from pageable memory returns when the source may be reused. A kind names the sides; the
 * driver finds them from the addresses for cudaMemcpyDefault and between two host ranges. */
#include "copy.h"

#include "call.h"
#include "pointer.h"

static CUresult copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    switch (kind) {
    case cudaMemcpyHostToDevice:
        return simrt_driver_table.cuMemcpyHtoD(simrt_address(to), from, bytes);
    case cudaMemcpyDeviceToHost:
        return simrt_driver_table.cuMemcpyDtoH(to, simrt_address(from), bytes);
    case cudaMemcpyDeviceToDevice:
        return simrt_driver_table.cuMemcpyDtoD(simrt_address(to), simrt_address(from), bytes);
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault:
        break;
    }
    return simrt_driver_table.cuMemcpy(simrt_address(to), simrt_address(from), bytes);
}

static CUresult copy_async(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                           cudaStream_t stream)
{
    switch (kind) {
    case cudaMemcpyHostToDevice:
        return simrt_driver_table.cuMemcpyHtoDAsync(simrt_address(to), from, bytes, stream);
    case cudaMemcpyDeviceToHost:
        return simrt_driver_table.cuMemcpyDtoHAsync(to, simrt_address(from), bytes, stream);
    case cudaMemcpyDeviceToDevice:
        return simrt_driver_table.cuMemcpyDtoDAsync(simrt_address(to), simrt_address(from), bytes,
                                                    stream);
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault:
        break;
    }
    return simrt_driver_table.cuMemcpyAsync(simrt_address(to), simrt_address(from), bytes, stream);
}

static cudaError_t check_kind(enum cudaMemcpyKind kind)
{
    return (unsigned)kind > cudaMemcpyDefault ? cudaErrorInvalidMemcpyDirection : cudaSuccess;
}

cudaError_t simrt_copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    cudaError_t error = check_kind(kind);

    if (error == cudaSuccess && bytes > 0)
        error = simrt_error(copy(to, from, bytes, kind));
    return error;
}

cudaError_t simrt_copy_async(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                             cudaStream_t stream)
{
    cudaError_t error = check_kind(kind);

    if (error == cudaSuccess && bytes > 0)
        error = simrt_error(copy_async(to, from, bytes, kind, stream));
    return error;
}

SIMRT_API cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaMemcpy, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = simrt_copy(to, from, bytes, kind);
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                                      enum cudaMemcpyKind kind, cudaStream_t stream)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaMemcpyAsync, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = simrt_copy_async(to, from, bytes, kind, stream);
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaMemset(void *pointer, int value, size_t bytes)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaMemset, SIMRT_CONTEXT);

    if (error == cudaSuccess && bytes > 0)
        error = simrt_error(
            simrt_driver_table.cuMemsetD8(simrt_address(pointer), (unsigned char)value, bytes));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaMemsetAsync(void *pointer, int value, size_t bytes, cudaStream_t stream)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaMemsetAsync, SIMRT_CONTEXT);

    if (error == cudaSuccess && bytes > 0)
        error = simrt_error(simrt_driver_table.cuMemsetD8Async(
            simrt_address(pointer), (unsigned char)value, bytes, stream));
    return simrt_leave(error);
}
