/* SPDX-License-Identifier: MIT
 * stream.c - streams. A cudaStream_t is the driver's CUstream, the special values included.
 * Captures are not modelled: no stream is ever capturing. */
#include "call.h"

#include <stdlib.h>

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

SIMRT_API cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaStreamQuery, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuStreamQuery(stream));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaStreamSynchronize, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuStreamSynchronize(stream));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                          unsigned int flags)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaStreamWaitEvent, SIMRT_CONTEXT);

    if (error == cudaSuccess && event == NULL)
        error = cudaErrorInvalidResourceHandle;
    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuStreamWaitEvent(stream, event, flags));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int *flags)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaStreamGetFlags, SIMRT_CONTEXT);
    unsigned found = 0;

    if (error == cudaSuccess)
        error = flags == NULL ? cudaErrorInvalidValue
                              : simrt_error(simrt_driver_table.cuStreamGetFlags(stream, &found));
    if (error == cudaSuccess)
        *flags = found;
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaStreamGetPriority, SIMRT_CONTEXT);
    int found = 0;

    if (error == cudaSuccess)
        error = priority == NULL
                    ? cudaErrorInvalidValue
                    : simrt_error(simrt_driver_table.cuStreamGetPriority(stream, &found));
    if (error == cudaSuccess)
        *priority = found;
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long *id)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaStreamGetId, SIMRT_CONTEXT);
    unsigned long long found = 0;

    if (error == cudaSuccess)
        error = id == NULL ? cudaErrorInvalidValue
                           : simrt_error(simrt_driver_table.cuStreamGetId(stream, &found));
    if (error == cudaSuccess)
        *id = found;
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaStreamGetDevice(cudaStream_t stream, int *ordinal)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaStreamGetDevice, SIMRT_CONTEXT);
    CUdevice handle = 0;

    if (error == cudaSuccess)
        error = ordinal == NULL
                    ? cudaErrorInvalidValue
                    : simrt_error(simrt_driver_table.cuStreamGetDevice(stream, &handle));
    if (error == cudaSuccess)
        *ordinal = (int)handle;
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaLaunchHostFunc, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = function == NULL
                    ? cudaErrorInvalidValue
                    : simrt_error(simrt_driver_table.cuLaunchHostFunc(stream, function, data));
    return simrt_leave(error);
}

/* cudaStreamAddCallback() tells the callback its stream, which a host function is not told. */
typedef struct callback {
    cudaStreamCallback_t function;
    cudaStream_t stream;
    void *data;
} callback;

static void run_callback(void *data)
{
    callback call = *(callback *)data;

    free(data);
    call.function(call.stream, cudaSuccess, call.data);
}

static cudaError_t add_callback(callback call)
{
    callback *queued = malloc(sizeof(*queued));
    cudaError_t error;

    if (queued == NULL)
        return cudaErrorMemoryAllocation;
    *queued = call;
    error = simrt_error(simrt_driver_table.cuLaunchHostFunc(call.stream, run_callback, queued));
    if (error != cudaSuccess)
        free(queued);
    return error;
}

SIMRT_API cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function,
                                            void *data, unsigned int flags)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaStreamAddCallback, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = function == NULL || flags != 0 ? cudaErrorInvalidValue
                                               : add_callback((callback){function, stream, data});
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaStreamIsCapturing(cudaStream_t stream,
                                            enum cudaStreamCaptureStatus *status)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaStreamIsCapturing, SIMRT_CONTEXT);

    (void)stream;
    if (error == cudaSuccess && status == NULL)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        *status = cudaStreamCaptureStatusNone;
    return simrt_leave(error);
}

/* Only the status is defined for a stream that is not capturing: the other outputs are not touched.
 */
SIMRT_API cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream,
                                               enum cudaStreamCaptureStatus *status,
                                               unsigned long long *id, cudaGraph_t *graph,
                                               const cudaGraphNode_t **dependencies,
                                               const cudaGraphEdgeData **edges, size_t *count)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaStreamGetCaptureInfo, SIMRT_CONTEXT);

    (void)stream;
    (void)id;
    (void)graph;
    (void)dependencies;
    (void)edges;
    (void)count;
    if (error == cudaSuccess && status == NULL)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        *status = cudaStreamCaptureStatusNone;
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
    static _Thread_local enum cudaStreamCaptureMode current = cudaStreamCaptureModeGlobal;
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaThreadExchangeStreamCaptureMode, SIMRT_NOTHING);
    enum cudaStreamCaptureMode wanted;

    if (error == cudaSuccess &&
        (mode == NULL || (unsigned)*mode > (unsigned)cudaStreamCaptureModeRelaxed))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess) {
        wanted = *mode;
        *mode = current;
        current = wanted;
    }
    return simrt_leave(error);
}
