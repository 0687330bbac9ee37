/* SPDX-License-Identifier: MIT
 * stream.c - making and destroying streams. A cudaStream_t is the driver's CUstream, the special
 * values included. */
#include "call.h"

/* The program's own handle, not one of the three that always exist. */
static bool is_created(cudaStream_t stream)
{
    return stream != NULL && stream != cudaStreamLegacy && stream != cudaStreamPerThread;
}

static cudaError_t create(cudaStream_t *stream, unsigned flags)
{
    CUstream made = NULL;
    cudaError_t error;

    if (stream == NULL || (flags & ~(unsigned)cudaStreamNonBlocking) != 0)
        return cudaErrorInvalidValue;
    error = simrt_error(simrt_driver_table.cuStreamCreate(&made, flags));
    if (error == cudaSuccess)
        *stream = made;
    return error;
}

SIMRT_API cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaStreamCreate, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = create(stream, cudaStreamDefault);
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaStreamCreateWithFlags, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = create(stream, flags);
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags,
                                                   int priority)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaStreamCreateWithPriority, SIMRT_CONTEXT);
    CUstream made = NULL;

    if (error == cudaSuccess && (stream == NULL || (flags & ~(unsigned)cudaStreamNonBlocking) != 0))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuStreamCreateWithPriority(&made, flags, priority));
    if (error == cudaSuccess)
        *stream = made;
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaStreamDestroy, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = is_created(stream) ? simrt_error(simrt_driver_table.cuStreamDestroy(stream))
                                   : cudaErrorInvalidResourceHandle;
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
    cudaError_t error =
        simrt_enter(SIMRT_CALL_cudaThreadExchangeStreamCaptureMode, SIMRT_INITIALISED);

    if (error == cudaSuccess)
        error = mode == NULL ? cudaErrorInvalidValue
                             : simrt_error(simrt_driver_table.cuThreadExchangeStreamCaptureMode(
                                   (CUstreamCaptureMode *)mode)); /* the same three values */
    return simrt_leave(error);
}
