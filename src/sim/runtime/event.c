/* SPDX-License-Identifier: MIT
 * event.c - events. A cudaEvent_t is the driver's CUevent. */
#include "event.h"

#include "call.h"

static cudaError_t create(cudaEvent_t *event, unsigned flags)
{
    const unsigned known =
        cudaEventBlockingSync | cudaEventDisableTiming | (unsigned)cudaEventInterprocess;
    CUevent made = NULL;
    cudaError_t error;

    if (event == NULL || (flags & ~known) != 0)
        return cudaErrorInvalidValue;
    error = simrt_error(simrt_driver_table.cuEventCreate(&made, flags));
    if (error == cudaSuccess)
        *event = made;
    return error;
}

SIMRT_API cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaEventCreate, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = create(event, cudaEventDefault);
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaEventCreateWithFlags, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = create(event, flags);
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaEventQuery(cudaEvent_t event)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaEventQuery, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = event == NULL ? cudaErrorInvalidResourceHandle
                              : simrt_error(simrt_driver_table.cuEventQuery(event));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaEventSynchronize, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = event == NULL ? cudaErrorInvalidResourceHandle
                              : simrt_error(simrt_driver_table.cuEventSynchronize(event));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaEventDestroy, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = event == NULL ? cudaErrorInvalidResourceHandle
                              : simrt_error(simrt_driver_table.cuEventDestroy(event));
    return simrt_leave(error);
}

cudaError_t simrt_event_elapsed_time(enum simrt_call call, float *milliseconds, cudaEvent_t start,
                                     cudaEvent_t end)
{
    cudaError_t error = simrt_enter(call, SIMRT_CONTEXT);
    float found = 0;

    if (error == cudaSuccess && milliseconds == NULL)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess && (start == NULL || end == NULL))
        error = cudaErrorInvalidResourceHandle;
    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuEventElapsedTime(&found, start, end));
    if (error == cudaSuccess)
        *milliseconds = found;
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end)
{
    return simrt_event_elapsed_time(SIMRT_CALL_cudaEventElapsedTime, milliseconds, start, end);
}
