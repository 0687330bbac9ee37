/* SPDX-License-Identifier: MIT
 * graph.c - graphs, as far as captured ones need it. A cudaGraph_t is the driver's CUgraph. */
#include "abi.h"
#include "call.h"

SIMRT_API cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned int flags)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaGraphCreate, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuGraphCreate(graph, flags));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaGraphDestroy, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuGraphDestroy(graph));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaGraphExecDestroy, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuGraphExecDestroy(executable));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char *path,
                                             unsigned int flags)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaGraphDebugDotPrint, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuGraphDebugDotPrint(graph, path, flags));
    return simrt_leave(error);
}

static cudaError_t instantiate(enum simrt_call call, cudaGraphExec_t *executable, cudaGraph_t graph,
                               unsigned long long flags)
{
    cudaError_t error = simrt_enter(call, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error =
            simrt_error(simrt_driver_table.cuGraphInstantiateWithFlags(executable, graph, flags));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *executable, cudaGraph_t graph,
                                                    unsigned long long flags)
{
    return instantiate(SIMRT_CALL_cudaGraphInstantiateWithFlags, executable, graph, flags);
}

#if SIMRT_VERSION >= 12000
SIMRT_API cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph,
                                           unsigned long long flags)
{
    return instantiate(SIMRT_CALL_cudaGraphInstantiate, executable, graph, flags);
}
#else
/* The node at fault and a text about it are never told. */
cudaError_t simrt_graph_instantiate(cudaGraphExec_t *executable, cudaGraph_t graph,
                                    cudaGraphNode_t *node, char *text, size_t bytes)
    SIMRT_AS(cudaGraphInstantiate);

SIMRT_API cudaError_t simrt_graph_instantiate(cudaGraphExec_t *executable, cudaGraph_t graph,
                                              cudaGraphNode_t *node, char *text, size_t bytes)
{
    if (node != NULL)
        *node = NULL;
    if (text != NULL && bytes > 0)
        *text = '\0';
    return instantiate(SIMRT_CALL_cudaGraphInstantiate, executable, graph, 0);
}
#endif
