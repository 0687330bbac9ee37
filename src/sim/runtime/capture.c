/* SPDX-License-Identifier: MIT
 * capture.c - whether a stream is being captured. Captures are not modelled: no stream ever is.
 * Compiled twice (call.h). */
#include "abi.h"
#include "call.h"

/* Only the status is defined for a stream that is not capturing: other outputs are not touched. */
static cudaError_t answer(enum simrt_call call, enum cudaStreamCaptureStatus *status)
{
    cudaError_t error = simrt_enter(call, SIMRT_CONTEXT);

    if (error == cudaSuccess && status == NULL)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        *status = cudaStreamCaptureStatusNone;
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaStreamIsCapturing(cudaStream_t stream,
                                            enum cudaStreamCaptureStatus *status)
{
    (void)stream;
    return answer(SIMRT_CALL(cudaStreamIsCapturing), status);
}

#if SIMRT_VERSION >= 13000
SIMRT_API cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream,
                                               enum cudaStreamCaptureStatus *status,
                                               unsigned long long *id, cudaGraph_t *graph,
                                               const cudaGraphNode_t **dependencies,
                                               const cudaGraphEdgeData **edges, size_t *count)
{
    (void)stream;
    (void)id;
    (void)graph;
    (void)dependencies;
    (void)edges;
    (void)count;
    return answer(SIMRT_CALL(cudaStreamGetCaptureInfo), status);
}
#else
/* One name each time a parameter was added: the id; the graph, the dependencies and their count;
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
    (void)stream;
    (void)id;
    return answer(SIMRT_CALL(cudaStreamGetCaptureInfo), status);
}

SIMRT_API cudaError_t simrt_get_capture_info_2(cudaStream_t stream,
                                               enum cudaStreamCaptureStatus *status,
                                               unsigned long long *id, cudaGraph_t *graph,
                                               const cudaGraphNode_t **dependencies, size_t *count)
{
    (void)stream;
    (void)id;
    (void)graph;
    (void)dependencies;
    (void)count;
    return answer(SIMRT_CALL(SIMRT_TWIN(cudaStreamGetCaptureInfo_v2)), status);
}

SIMRT_API cudaError_t simrt_get_capture_info_3(cudaStream_t stream,
                                               enum cudaStreamCaptureStatus *status,
                                               unsigned long long *id, cudaGraph_t *graph,
                                               const cudaGraphNode_t **dependencies,
                                               const cudaGraphEdgeData **edges, size_t *count)
{
    (void)stream;
    (void)id;
    (void)graph;
    (void)dependencies;
    (void)edges;
    (void)count;
    return answer(SIMRT_CALL(SIMRT_TWIN(cudaStreamGetCaptureInfo_v3)), status);
}
#endif
