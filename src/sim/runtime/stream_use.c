/* SPDX-License-Identifier: MIT
 * stream_use.c - waiting for a stream, asking about it, and host functions in it. Compiled twice
 * (call.h). */
#include "call.h"

#include <stdlib.h>

SIMRT_API cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    cudaError_t error = simrt_enter(SIMRT_CALL(cudaStreamQuery), SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = simrt_error(SIMRT_DRIVER.cuStreamQuery(stream));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    cudaError_t error = simrt_enter(SIMRT_CALL(cudaStreamSynchronize), SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = simrt_error(SIMRT_DRIVER.cuStreamSynchronize(stream));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                          unsigned int flags)
{
    cudaError_t error = simrt_enter(SIMRT_CALL(cudaStreamWaitEvent), SIMRT_CONTEXT);

    if (error == cudaSuccess && event == NULL)
        error = cudaErrorInvalidResourceHandle;
    if (error == cudaSuccess)
        error = simrt_error(SIMRT_DRIVER.cuStreamWaitEvent(stream, event, flags));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int *flags)
{
    cudaError_t error = simrt_enter(SIMRT_CALL(cudaStreamGetFlags), SIMRT_CONTEXT);
    unsigned found = 0;

    if (error == cudaSuccess)
        error = flags == NULL ? cudaErrorInvalidValue
                              : simrt_error(SIMRT_DRIVER.cuStreamGetFlags(stream, &found));
    if (error == cudaSuccess)
        *flags = found;
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority)
{
    cudaError_t error = simrt_enter(SIMRT_CALL(cudaStreamGetPriority), SIMRT_CONTEXT);
    int found = 0;

    if (error == cudaSuccess)
        error = priority == NULL ? cudaErrorInvalidValue
                                 : simrt_error(SIMRT_DRIVER.cuStreamGetPriority(stream, &found));
    if (error == cudaSuccess)
        *priority = found;
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long *id)
{
    cudaError_t error = simrt_enter(SIMRT_CALL(cudaStreamGetId), SIMRT_CONTEXT);
    unsigned long long found = 0;

    if (error == cudaSuccess)
        error = id == NULL ? cudaErrorInvalidValue
                           : simrt_error(SIMRT_DRIVER.cuStreamGetId(stream, &found));
    if (error == cudaSuccess)
        *id = found;
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaStreamGetDevice(cudaStream_t stream, int *ordinal)
{
    cudaError_t error = simrt_enter(SIMRT_CALL(cudaStreamGetDevice), SIMRT_CONTEXT);
    CUdevice handle = 0;

    if (error == cudaSuccess)
        error = ordinal == NULL ? cudaErrorInvalidValue
                                : simrt_error(SIMRT_DRIVER.cuStreamGetDevice(stream, &handle));
    if (error == cudaSuccess)
        *ordinal = (int)handle;
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data)
{
    cudaError_t error = simrt_enter(SIMRT_CALL(cudaLaunchHostFunc), SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = function == NULL
                    ? cudaErrorInvalidValue
                    : simrt_error(SIMRT_DRIVER.cuLaunchHostFunc(stream, function, data));
    return simrt_leave(error);
}

/* The driver's callback takes the driver's error. */
typedef struct callback {
    cudaStreamCallback_t function;
    void *data;
} callback;

static void run_callback(CUstream stream, CUresult status, void *data)
{
    callback call = *(callback *)data;

    free(data);
    call.function(stream, simrt_error(status), call.data);
}

static cudaError_t add_callback(cudaStream_t stream, callback call, unsigned flags)
{
    callback *queued = malloc(sizeof(*queued));
    cudaError_t error;

    if (queued == NULL)
        return cudaErrorMemoryAllocation;
    *queued = call;
    error = simrt_error(SIMRT_DRIVER.cuStreamAddCallback(stream, run_callback, queued, flags));
    if (error != cudaSuccess)
        free(queued);
    return error;
}

SIMRT_API cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function,
                                            void *data, unsigned int flags)
{
    cudaError_t error = simrt_enter(SIMRT_CALL(cudaStreamAddCallback), SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = function == NULL ? cudaErrorInvalidValue
                                 : add_callback(stream, (callback){function, data}, flags);
    return simrt_leave(error);
}
