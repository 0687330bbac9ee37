/* SPDX-License-Identifier: MIT
 * capture_api.c - stream capture in the driver API. */
#include <stdlib.h>

#include "capture.h"
#include "context.h"
#include "lock.h"
#include "stream.h"

struct begin {
    enum sim_call call;
    CUstream stream;
    bool per_thread;
    CUstreamCaptureMode mode;
    bool to_graph;
    CUgraph graph;
    const CUgraphNode *nodes;
    size_t count;
};

static CUresult begin_locked(struct sim_context *context, const struct begin *begin)
{
    struct sim_graph *graph = sim_handle_find_locked(begin->graph, SIM_GRAPH);
    struct sim_nodes needs = {0};
    struct sim_stream *stream;
    CUresult status = sim_stream_find_locked(context, begin->stream, begin->per_thread, &stream);

    if (status != CUDA_SUCCESS)
        return status;
    if (begin->to_graph &&
        (!graph || !sim_nodes_view_locked(&needs, graph, begin->nodes, begin->count)))
        return CUDA_ERROR_INVALID_VALUE;
    return sim_capture_begin_locked(stream, begin->mode, graph, &needs);
}

static CUresult begin(const struct begin *what)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(what->call, &context);

    if (status != CUDA_SUCCESS)
        return status;
    if ((what->mode != CU_STREAM_CAPTURE_MODE_GLOBAL &&
         what->mode != CU_STREAM_CAPTURE_MODE_THREAD_LOCAL &&
         what->mode != CU_STREAM_CAPTURE_MODE_RELAXED) ||
        (what->count > 0 && !what->nodes))
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    status = begin_locked(context, what);
    sim_unlock();
    return status;
}

/* Before CUDA 10.1 there was one mode. */
#define BEGIN_V1(function, thread)                                                                 \
    CUresult function(CUstream hStream)                                                            \
    {                                                                                              \
        return begin(                                                                              \
            &(struct begin){.call = CALL_##function, .stream = hStream, .per_thread = (thread)});  \
    }

#define BEGIN(function, thread)                                                                    \
    CUresult function(CUstream hStream, CUstreamCaptureMode mode)                                  \
    {                                                                                              \
        return begin(&(struct begin){                                                              \
            .call = CALL_##function, .stream = hStream, .per_thread = (thread), .mode = mode});    \
    }

/* Edges carry data for programmatic launches only, which are not modelled. */
#define BEGIN_TO_GRAPH(function, thread)                                                           \
    CUresult function(CUstream hStream, CUgraph hGraph, const CUgraphNode *dependencies,           \
                      const CUgraphEdgeData *dependencyData, size_t numDependencies,               \
                      CUstreamCaptureMode mode)                                                    \
    {                                                                                              \
        (void)dependencyData;                                                                      \
        return begin(&(struct begin){.call = CALL_##function,                                      \
                                     .stream = hStream,                                            \
                                     .per_thread = (thread),                                       \
                                     .mode = mode,                                                 \
                                     .to_graph = true,                                             \
                                     .graph = hGraph,                                              \
                                     .nodes = dependencies,                                        \
                                     .count = numDependencies});                                   \
    }

BEGIN_V1(cuStreamBeginCapture, false)
BEGIN_V1(cuStreamBeginCapture_ptsz, true)
BEGIN(cuStreamBeginCapture_v2, false)
BEGIN(cuStreamBeginCapture_v2_ptsz, true)
BEGIN_TO_GRAPH(cuStreamBeginCaptureToGraph, false)
BEGIN_TO_GRAPH(cuStreamBeginCaptureToGraph_ptsz, true)

static CUresult end(enum sim_call call, CUstream hStream, CUgraph *phGraph, bool per_thread)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(call, &context);
    struct sim_graph *graph = NULL;
    struct sim_stream *stream;

    if (status != CUDA_SUCCESS)
        return status;
    if (!phGraph)
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    status = sim_stream_find_locked(context, hStream, per_thread, &stream);
    if (status == CUDA_SUCCESS)
        status = sim_capture_end_locked(stream, &graph);
    sim_unlock();
    *phGraph = (CUgraph)graph;
    return status;
}

CUresult cuStreamEndCapture(CUstream hStream, CUgraph *phGraph)
{
    return end(CALL_cuStreamEndCapture, hStream, phGraph, false);
}

CUresult cuStreamEndCapture_ptsz(CUstream hStream, CUgraph *phGraph)
{
    return end(CALL_cuStreamEndCapture_ptsz, hStream, phGraph, true);
}

/* What a question about a stream's capture may want to know; each is optional but the status. */
struct question {
    enum sim_call call;
    CUstream stream;
    bool per_thread;
    CUstreamCaptureStatus *status;
    cuuint64_t *id;
    CUgraph *graph;
    const CUgraphNode **nodes;
    const CUgraphEdgeData **edges;
    size_t *count;
};

static CUstreamCaptureStatus status_of(const struct sim_part *part)
{
    if (!part->capture)
        return CU_STREAM_CAPTURE_STATUS_NONE;
    return part->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                  : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

/* Our edges carry no data: as many zeros as the stream has dependencies. */
static bool make_edges(struct sim_part *part)
{
    CUgraphEdgeData *edges = calloc(part->nodes.count + 1, sizeof *edges);

    if (!edges)
        return false;
    free(part->edges);
    part->edges = edges;
    return true;
}

static CUresult answer_locked(struct sim_context *context, const struct question *question)
{
    struct sim_stream *stream;
    CUresult status =
        sim_stream_find_locked(context, question->stream, question->per_thread, &stream);
    struct sim_part *part;

    if (status != CUDA_SUCCESS)
        return status;
    if (stream->role == SIM_STREAM_LEGACY && sim_capture_covers_locked(stream->object.context))
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    part = &stream->part;
    *question->status = status_of(part);
    if (*question->status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
        return CUDA_SUCCESS;
    if (question->edges && !make_edges(part))
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (question->id)
        *question->id = part->capture->id;
    if (question->graph)
        *question->graph = (CUgraph)part->capture->graph;
    if (question->nodes)
        *question->nodes = (const CUgraphNode *)part->nodes.items;
    if (question->edges)
        *question->edges = part->edges;
    if (question->count)
        *question->count = part->nodes.count;
    return CUDA_SUCCESS;
}

static CUresult answer(const struct question *question)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(question->call, &context);

    if (status != CUDA_SUCCESS)
        return status;
    if (!question->status || (question->edges && !question->nodes))
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    status = answer_locked(context, question);
    sim_unlock();
    return status;
}

#define IS_CAPTURING(function, thread)                                                             \
    CUresult function(CUstream hStream, CUstreamCaptureStatus *captureStatus)                      \
    {                                                                                              \
        return answer(&(struct question){.call = CALL_##function,                                  \
                                         .stream = hStream,                                        \
                                         .per_thread = (thread),                                   \
                                         .status = captureStatus});                                \
    }

#define INFO_V1(function, thread)                                                                  \
    CUresult function(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,                  \
                      cuuint64_t *id_out)                                                          \
    {                                                                                              \
        return answer(&(struct question){.call = CALL_##function,                                  \
                                         .stream = hStream,                                        \
                                         .per_thread = (thread),                                   \
                                         .status = captureStatus_out,                              \
                                         .id = id_out});                                           \
    }

#define INFO_V2(function, thread)                                                                  \
    CUresult function(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,                  \
                      cuuint64_t *id_out, CUgraph *graph_out,                                      \
                      const CUgraphNode **dependencies_out, size_t *numDependencies_out)           \
    {                                                                                              \
        return answer(&(struct question){.call = CALL_##function,                                  \
                                         .stream = hStream,                                        \
                                         .per_thread = (thread),                                   \
                                         .status = captureStatus_out,                              \
                                         .id = id_out,                                             \
                                         .graph = graph_out,                                       \
                                         .nodes = dependencies_out,                                \
                                         .count = numDependencies_out});                           \
    }

#define INFO_V3(function, thread)                                                                  \
    CUresult function(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,                  \
                      cuuint64_t *id_out, CUgraph *graph_out,                                      \
                      const CUgraphNode **dependencies_out, const CUgraphEdgeData **edgeData_out,  \
                      size_t *numDependencies_out)                                                 \
    {                                                                                              \
        return answer(&(struct question){.call = CALL_##function,                                  \
                                         .stream = hStream,                                        \
                                         .per_thread = (thread),                                   \
                                         .status = captureStatus_out,                              \
                                         .id = id_out,                                             \
                                         .graph = graph_out,                                       \
                                         .nodes = dependencies_out,                                \
                                         .edges = edgeData_out,                                    \
                                         .count = numDependencies_out});                           \
    }

IS_CAPTURING(cuStreamIsCapturing, false)
IS_CAPTURING(cuStreamIsCapturing_ptsz, true)
INFO_V1(cuStreamGetCaptureInfo, false)
INFO_V1(cuStreamGetCaptureInfo_ptsz, true)
INFO_V2(cuStreamGetCaptureInfo_v2, false)
INFO_V2(cuStreamGetCaptureInfo_v2_ptsz, true)
INFO_V3(cuStreamGetCaptureInfo_v3, false)
INFO_V3(cuStreamGetCaptureInfo_v3_ptsz, true)

struct update {
    enum sim_call call;
    CUstream stream;
    bool per_thread;
    CUgraphNode *nodes;
    size_t count;
    unsigned flags;
};

static CUresult update_locked(struct sim_context *context, const struct update *update)
{
    struct sim_stream *stream;
    CUresult status = sim_stream_find_locked(context, update->stream, update->per_thread, &stream);
    struct sim_nodes given;

    if (status != CUDA_SUCCESS)
        return status;
    if (!stream->part.capture)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (stream->part.capture->invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (!sim_nodes_view_locked(&given, stream->part.capture->graph, update->nodes, update->count))
        return CUDA_ERROR_INVALID_VALUE;
    if (update->flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) {
        for (size_t i = 0; i < stream->part.nodes.count; i++)
            if (!sim_nodes_include(&given, stream->part.nodes.items[i]))
                stream->part.nodes.items[i]->excused = true;
        stream->part.nodes.count = 0;
    }
    for (size_t i = 0; i < given.count; i++)
        if (!sim_nodes_add(&stream->part.nodes, given.items[i]))
            return CUDA_ERROR_OUT_OF_MEMORY;
    return CUDA_SUCCESS;
}

static CUresult update(const struct update *what)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(what->call, &context);

    if (status != CUDA_SUCCESS)
        return status;
    if ((what->count > 0 && !what->nodes) || (what->flags != CU_STREAM_ADD_CAPTURE_DEPENDENCIES &&
                                              what->flags != CU_STREAM_SET_CAPTURE_DEPENDENCIES))
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    status = update_locked(context, what);
    sim_unlock();
    return status;
}

#define UPDATE(function, thread)                                                                   \
    CUresult function(CUstream hStream, CUgraphNode *dependencies, size_t numDependencies,         \
                      unsigned int flags)                                                          \
    {                                                                                              \
        return update(&(struct update){CALL_##function, hStream, thread, dependencies,             \
                                       numDependencies, flags});                                   \
    }

#define UPDATE_V2(function, thread)                                                                \
    CUresult function(CUstream hStream, CUgraphNode *dependencies,                                 \
                      const CUgraphEdgeData *dependencyData, size_t numDependencies,               \
                      unsigned int flags)                                                          \
    {                                                                                              \
        (void)dependencyData;                                                                      \
        return update(&(struct update){CALL_##function, hStream, thread, dependencies,             \
                                       numDependencies, flags});                                   \
    }

UPDATE(cuStreamUpdateCaptureDependencies, false)
UPDATE(cuStreamUpdateCaptureDependencies_ptsz, true)
UPDATE_V2(cuStreamUpdateCaptureDependencies_v2, false)
UPDATE_V2(cuStreamUpdateCaptureDependencies_v2_ptsz, true)

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    CUresult status = sim_enter_ready(CALL_cuThreadExchangeStreamCaptureMode);

    if (status != CUDA_SUCCESS)
        return status;
    if (!mode ||
        (*mode != CU_STREAM_CAPTURE_MODE_GLOBAL && *mode != CU_STREAM_CAPTURE_MODE_THREAD_LOCAL &&
         *mode != CU_STREAM_CAPTURE_MODE_RELAXED))
        return CUDA_ERROR_INVALID_VALUE;
    *mode = sim_capture_exchange(*mode);
    return CUDA_SUCCESS;
}
