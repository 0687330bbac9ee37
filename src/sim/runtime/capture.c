/* SPDX-License-Identifier: MIT
 * capture.c - beginning and ending a stream's capture, and asking about it. Compiled twice
 * (call.h).
 */
#include "abi.h"
#include "call.h"

SIMRT_API cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    cudaError_t error = simrt_enter(SIMRT_CALL(cudaStreamBeginCapture), SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = simrt_error(SIMRT_DRIVER.cuStreamBeginCapture(stream, (CUstreamCaptureMode)mode));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
                                                    const cudaGraphNode_t *dependencies,
                                                    const cudaGraphEdgeData *edges, size_t count,
                                                    enum cudaStreamCaptureMode mode)
{
    cudaError_t error = simrt_enter(SIMRT_CALL(cudaStreamBeginCaptureToGraph), SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = simrt_error(SIMRT_DRIVER.cuStreamBeginCaptureToGraph(
            stream, graph, dependencies, (const CUgraphEdgeData *)edges, count,
            (CUstreamCaptureMode)mode));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    cudaError_t error = simrt_enter(SIMRT_CALL(cudaStreamEndCapture), SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = simrt_error(SIMRT_DRIVER.cuStreamEndCapture(stream, graph));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaStreamIsCapturing(cudaStream_t stream,
                                            enum cudaStreamCaptureStatus *status)
{
    cudaError_t error = simrt_enter(SIMRT_CALL(cudaStreamIsCapturing), SIMRT_CONTEXT);
    CUstreamCaptureStatus found = CU_STREAM_CAPTURE_STATUS_NONE;

    if (error == cudaSuccess)
        error = status == NULL ? cudaErrorInvalidValue
                               : simrt_error(SIMRT_DRIVER.cuStreamIsCapturing(stream, &found));
    if (error == cudaSuccess)
        *status = (enum cudaStreamCaptureStatus)found;
    return simrt_leave(error);
}

/* What a stream's capture is made of: every output but the status may be NULL. */
typedef struct info {
    enum cudaStreamCaptureStatus *status;
    unsigned long long *id;
    cudaGraph_t *graph;
    const cudaGraphNode_t **dependencies;
    const cudaGraphEdgeData **edges;
    size_t *count;
} info;

static cudaError_t get_info(enum simrt_call call, cudaStream_t stream, info out)
{
    cudaError_t error = simrt_enter(call, SIMRT_CONTEXT);
    CUstreamCaptureStatus found = CU_STREAM_CAPTURE_STATUS_NONE;

    if (error == cudaSuccess && out.status == NULL)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = simrt_error(SIMRT_DRIVER.cuStreamGetCaptureInfo(
            stream, &found, (cuuint64_t *)out.id, out.graph, out.dependencies,
            (const CUgraphEdgeData **)out.edges, out.count)); /* the same eight bytes each */
    if (error == cudaSuccess)
        *out.status = (enum cudaStreamCaptureStatus)found;
    return simrt_leave(error);
}

#if SIMRT_VERSION >= 13000
SIMRT_API cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream,
                                               enum cudaStreamCaptureStatus *status,
                                               unsigned long long *id, cudaGraph_t *graph,
                                               const cudaGraphNode_t **dependencies,
                                               const cudaGraphEdgeData **edges, size_t *count)
{
    return get_info(SIMRT_CALL(cudaStreamGetCaptureInfo), stream,
                    (info){status, id, graph, dependencies, edges, count});
}
#else
/* One name each time parameters were added: the id; the graph, the dependencies and their count;
 * the edges before the count. */
cudaError_t simrt_get_capture_info(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                   unsigned long long *id) SIMRT_AS(cudaStreamGetCaptureInfo);
cudaError_t simrt_get_capture_info_2(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                     unsigned long long *id, cudaGraph_t *graph,
                                     const cudaGraphNode_t **dependencies, size_t *count)
    SIMRT_AS(SIMRT_TWIN(cudaStreamGetCaptureInfo_v2));
cudaError_t simrt_get_capture_info_3(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                     unsigned long long *id, cudaGraph_t *graph,
                                     const cudaGraphNode_t **dependencies,
                                     const cudaGraphEdgeData **edges, size_t *count)
    SIMRT_AS(SIMRT_TWIN(cudaStreamGetCaptureInfo_v3));

SIMRT_API cudaError_t simrt_get_capture_info(cudaStream_t stream,
                                             enum cudaStreamCaptureStatus *status,
                                             unsigned long long *id)
{
    return get_info(SIMRT_CALL(cudaStreamGetCaptureInfo), stream,
                    (info){.status = status, .id = id});
}

SIMRT_API cudaError_t simrt_get_capture_info_2(cudaStream_t stream,
                                               enum cudaStreamCaptureStatus *status,
                                               unsigned long long *id, cudaGraph_t *graph,
                                               const cudaGraphNode_t **dependencies, size_t *count)
{
    return get_info(SIMRT_CALL(SIMRT_TWIN(cudaStreamGetCaptureInfo_v2)), stream,
                    (info){status, id, graph, dependencies, NULL, count});
}

SIMRT_API cudaError_t simrt_get_capture_info_3(cudaStream_t stream,
                                               enum cudaStreamCaptureStatus *status,
                                               unsigned long long *id, cudaGraph_t *graph,
                                               const cudaGraphNode_t **dependencies,
                                               const cudaGraphEdgeData **edges, size_t *count)
{
    return get_info(SIMRT_CALL(SIMRT_TWIN(cudaStreamGetCaptureInfo_v3)), stream,
                    (info){status, id, graph, dependencies, edges, count});
}
#endif

static cudaError_t update(enum simrt_call call, cudaStream_t stream, cudaGraphNode_t *dependencies,
                          const cudaGraphEdgeData *edges, size_t count, unsigned flags)
{
    cudaError_t error = simrt_enter(call, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = simrt_error(SIMRT_DRIVER.cuStreamUpdateCaptureDependencies(
            stream, dependencies, (const CUgraphEdgeData *)edges, count, flags));
    return simrt_leave(error);
}

#if SIMRT_VERSION >= 13000
SIMRT_API cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream,
                                                          cudaGraphNode_t *dependencies,
                                                          const cudaGraphEdgeData *edges,
                                                          size_t count, unsigned int flags)
{
    return update(SIMRT_CALL(cudaStreamUpdateCaptureDependencies), stream, dependencies, edges,
                  count, flags);
}
#else
/* The edges came under another name. */
cudaError_t simrt_update_capture(cudaStream_t stream, cudaGraphNode_t *dependencies, size_t count,
                                 unsigned int flags)
    SIMRT_AS(SIMRT_TWIN(cudaStreamUpdateCaptureDependencies));
cudaError_t simrt_update_capture_2(cudaStream_t stream, cudaGraphNode_t *dependencies,
                                   const cudaGraphEdgeData *edges, size_t count, unsigned int flags)
    SIMRT_AS(SIMRT_TWIN(cudaStreamUpdateCaptureDependencies_v2));

SIMRT_API cudaError_t simrt_update_capture(cudaStream_t stream, cudaGraphNode_t *dependencies,
                                           size_t count, unsigned int flags)
{
    return update(SIMRT_CALL(cudaStreamUpdateCaptureDependencies), stream, dependencies, NULL,
                  count, flags);
}

SIMRT_API cudaError_t simrt_update_capture_2(cudaStream_t stream, cudaGraphNode_t *dependencies,
                                             const cudaGraphEdgeData *edges, size_t count,
                                             unsigned int flags)
{
    return update(SIMRT_CALL(SIMRT_TWIN(cudaStreamUpdateCaptureDependencies_v2)), stream,
                  dependencies, edges, count, flags);
}
#endif
