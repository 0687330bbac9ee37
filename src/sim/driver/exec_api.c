/* SPDX-License-Identifier: MIT
 * exec_api.c - executable graphs in the driver API.
 *
 * A launch is one operation of its stream, and runs the nodes in the order of their creation.
 * Launches of one executable follow one another, whatever their streams. */
#include <stdlib.h>

#include "context.h"
#include "event.h"
#include "graph.h"
#include "lock.h"
#include "stream.h"

#define FLAGS                                                                                      \
    ((unsigned long long)CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |                         \
     (unsigned long long)CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |                                      \
     (unsigned long long)CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY)

struct graph_op {
    struct sim_op op;
    struct sim_program *program;
};

static CUresult new_exec_locked(CUgraph handle, unsigned long long flags, struct sim_exec **out)
{
    const struct sim_graph *graph = sim_handle_find_locked(handle, SIM_GRAPH);
    struct sim_exec *exec;

    if (!graph || graph->capturing)
        return CUDA_ERROR_INVALID_VALUE;
    exec = calloc(1, sizeof *exec);
    if (!exec)
        return CUDA_ERROR_OUT_OF_MEMORY;
    exec->object.kind = SIM_EXEC;
    exec->graph = graph;
    exec->flags = flags;
    exec->program = sim_program_new_locked(graph);
    if (exec->program && sim_handle_add_locked(&exec->object)) {
        *out = exec;
        return CUDA_SUCCESS;
    }
    if (exec->program)
        sim_program_drop_locked(exec->program);
    free(exec);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

/* Launches from a kernel are not modelled, so an executable for them is refused. */
static CUresult instantiate(enum sim_call call, CUgraphExec *out, CUgraph graph,
                            unsigned long long flags)
{
    CUresult status = sim_enter_ready(call);
    struct sim_exec *exec;

    if (status != CUDA_SUCCESS)
        return status;
    if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (!out || (flags & ~FLAGS) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    status = new_exec_locked(graph, flags, &exec);
    sim_unlock();
    if (status == CUDA_SUCCESS)
        *out = (CUgraphExec)exec;
    return status;
}

/* The older ones tell of an error in words. */
#define INSTANTIATE_OLD(function)                                                                  \
    CUresult function(CUgraphExec *phGraphExec, CUgraph hGraph, CUgraphNode *phErrorNode,          \
                      char *logBuffer, size_t bufferSize)                                          \
    {                                                                                              \
        if (phErrorNode)                                                                           \
            *phErrorNode = NULL;                                                                   \
        if (logBuffer && bufferSize > 0)                                                           \
            *logBuffer = '\0';                                                                     \
        return instantiate(CALL_##function, phGraphExec, hGraph, 0);                               \
    }

INSTANTIATE_OLD(cuGraphInstantiate)
INSTANTIATE_OLD(cuGraphInstantiate_v2)

CUresult cuGraphInstantiateWithFlags(CUgraphExec *phGraphExec, CUgraph hGraph,
                                     unsigned long long flags)
{
    return instantiate(CALL_cuGraphInstantiateWithFlags, phGraphExec, hGraph, flags);
}

#define INSTANTIATE_PARAMS(function)                                                               \
    CUresult function(CUgraphExec *phGraphExec, CUgraph hGraph,                                    \
                      CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams)                            \
    {                                                                                              \
        CUresult status;                                                                           \
                                                                                                   \
        if (!instantiateParams)                                                                    \
            return instantiate(CALL_##function, NULL, hGraph, 0);                                  \
        status = instantiate(CALL_##function, phGraphExec, hGraph, instantiateParams->flags);      \
        instantiateParams->hErrNode_out = NULL;                                                    \
        instantiateParams->result_out = status == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS    \
                                                               : CUDA_GRAPH_INSTANTIATE_ERROR;     \
        return status;                                                                             \
    }

INSTANTIATE_PARAMS(cuGraphInstantiateWithParams)
INSTANTIATE_PARAMS(cuGraphInstantiateWithParams_ptsz)

/* What was launched still runs: it shares the program. */
CUresult cuGraphExecDestroy(CUgraphExec hGraphExec)
{
    CUresult status = sim_enter_ready(CALL_cuGraphExecDestroy);
    struct sim_exec *exec;

    if (status != CUDA_SUCCESS)
        return status;
    sim_lock();
    exec = sim_handle_find_locked(hGraphExec, SIM_EXEC);
    if (exec) {
        sim_handle_remove_locked(&exec->object);
        sim_program_drop_locked(exec->program);
        if (exec->last)
            sim_mark_drop_locked(exec->last);
        free(exec);
    }
    sim_unlock();
    return exec ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphExecGetFlags(CUgraphExec hGraphExec, cuuint64_t *flags)
{
    CUresult status = sim_enter_ready(CALL_cuGraphExecGetFlags);
    const struct sim_exec *exec;

    if (status != CUDA_SUCCESS)
        return status;
    if (!flags)
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    exec = sim_handle_find_locked(hGraphExec, SIM_EXEC);
    if (exec)
        *flags = exec->flags;
    sim_unlock();
    return exec ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static void run_graph(struct sim_op *op, const struct sim_claim *claims)
{
    const struct sim_program *program = ((struct graph_op *)op)->program;

    for (size_t i = 0; i < program->count; i++) {
        struct sim_op *step = program->steps[i]->op;

        sim_op_run(step, claims);
        if (step->touch_count > 0)
            claims += step->touch_count;
    }
}

static void release_graph(struct sim_op *op)
{
    sim_program_drop_locked(((struct graph_op *)op)->program);
    free(op);
}

/* Orders the launch behind the executable's last one and makes it the last. Not one that is
 * captured: it happens when its graph does. */
static bool order(struct sim_exec *exec, struct sim_op *op)
{
    struct sim_mark *mark = sim_mark_new();

    if (!mark)
        return false;
    op->record = sim_mark_share_locked(mark);
    op->wait = exec->last;
    exec->last = mark;
    return true;
}

/* The events that a launch records are not done from now on. */
static void expect(const struct sim_program *program)
{
    for (size_t i = 0; i < program->count; i++)
        if (program->steps[i]->op->node == CU_GRAPH_NODE_TYPE_EVENT_RECORD)
            sim_event_expect_locked(program->steps[i]->op);
}

static CUresult launch_locked(struct sim_context *context, CUgraphExec handle, CUstream hStream,
                              bool per_thread)
{
    struct sim_exec *exec = sim_handle_find_locked(handle, SIM_EXEC);
    struct sim_stream *stream;
    struct graph_op *graph;
    CUresult status;

    if (!exec)
        return CUDA_ERROR_INVALID_VALUE;
    status = sim_stream_find_locked(context, hStream, per_thread, &stream);
    if (status != CUDA_SUCCESS)
        return status;
    graph = malloc(sizeof *graph);
    if (!graph)
        return CUDA_ERROR_OUT_OF_MEMORY;
    graph->op = (struct sim_op){.run = run_graph,
                                .release = release_graph,
                                .node = CU_GRAPH_NODE_TYPE_GRAPH,
                                .touches = exec->program->touches,
                                .touch_count = exec->program->touch_count};
    graph->program = exec->program;
    exec->program->references++;
    if (!stream->part.capture && !order(exec, &graph->op)) {
        sim_op_drop_locked(&graph->op);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    status = sim_stream_enqueue_locked(stream, &graph->op);
    if (status == CUDA_SUCCESS && !stream->part.capture)
        expect(exec->program);
    return status;
}

static CUresult launch(enum sim_call call, CUgraphExec handle, CUstream hStream, bool per_thread)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(call, &context);

    if (status != CUDA_SUCCESS)
        return status;
    sim_lock();
    status = launch_locked(context, handle, hStream, per_thread);
    sim_unlock();
    return status;
}

CUresult cuGraphLaunch(CUgraphExec hGraph, CUstream hStream)
{
    return launch(CALL_cuGraphLaunch, hGraph, hStream, false);
}

CUresult cuGraphLaunch_ptsz(CUgraphExec hGraph, CUstream hStream)
{
    return launch(CALL_cuGraphLaunch_ptsz, hGraph, hStream, true);
}

/* There is nothing to upload; it takes its place in stream order. */
static CUresult upload(enum sim_call call, CUgraphExec handle, CUstream hStream, bool per_thread)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(call, &context);
    struct sim_op *op;
    bool found;

    if (status != CUDA_SUCCESS)
        return status;
    sim_lock();
    found = sim_handle_find_locked(handle, SIM_EXEC) != NULL;
    sim_unlock();
    if (!found)
        return CUDA_ERROR_INVALID_VALUE;
    op = sim_op_empty();
    if (op)
        op->immediate = true;
    return sim_enqueue(context, hStream, per_thread, op, false);
}

CUresult cuGraphUpload(CUgraphExec hGraph, CUstream hStream)
{
    return upload(CALL_cuGraphUpload, hGraph, hStream, false);
}

CUresult cuGraphUpload_ptsz(CUgraphExec hGraph, CUstream hStream)
{
    return upload(CALL_cuGraphUpload_ptsz, hGraph, hStream, true);
}
