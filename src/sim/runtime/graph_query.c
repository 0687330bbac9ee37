/* SPDX-License-Identifier: MIT
 * graph_query.c - what a graph is made of. */
#include "abi.h"
#include "call.h"

SIMRT_API cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                            const cudaGraphNode_t *dependencies, size_t count)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaGraphAddEmptyNode, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error =
            simrt_error(simrt_driver_table.cuGraphAddEmptyNode(node, graph, dependencies, count));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaGraphGetNodes, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuGraphGetNodes(graph, nodes, count));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *nodes,
                                            size_t *count)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaGraphGetRootNodes, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuGraphGetRootNodes(graph, nodes, count));
    return simrt_leave(error);
}

/* The runtime's types of nodes are the driver's. */
SIMRT_API cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *type)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaGraphNodeGetType, SIMRT_CONTEXT);
    CUgraphNodeType found = CU_GRAPH_NODE_TYPE_EMPTY;

    if (error == cudaSuccess)
        error = type == NULL ? cudaErrorInvalidValue
                             : simrt_error(simrt_driver_table.cuGraphNodeGetType(node, &found));
    if (error == cudaSuccess)
        *type = (enum cudaGraphNodeType)found;
    return simrt_leave(error);
}

#if SIMRT_VERSION >= 12000
SIMRT_API cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t executable, unsigned long long *flags)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaGraphExecGetFlags, SIMRT_CONTEXT);
    cuuint64_t found = 0;

    if (error == cudaSuccess)
        error = flags == NULL
                    ? cudaErrorInvalidValue
                    : simrt_error(simrt_driver_table.cuGraphExecGetFlags(executable, &found));
    if (error == cudaSuccess)
        *flags = found;
    return simrt_leave(error);
}
#endif

static cudaError_t get_edges(enum simrt_call call, cudaGraph_t graph, cudaGraphNode_t *from,
                             cudaGraphNode_t *to, cudaGraphEdgeData *edges, size_t *count)
{
    cudaError_t error = simrt_enter(call, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = simrt_error(
            simrt_driver_table.cuGraphGetEdges(graph, from, to, (CUgraphEdgeData *)edges, count));
    return simrt_leave(error);
}

static cudaError_t get_dependencies(enum simrt_call call, cudaGraphNode_t node,
                                    cudaGraphNode_t *nodes, cudaGraphEdgeData *edges, size_t *count)
{
    cudaError_t error = simrt_enter(call, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuGraphNodeGetDependencies(
            node, nodes, (CUgraphEdgeData *)edges, count));
    return simrt_leave(error);
}

static cudaError_t get_dependents(enum simrt_call call, cudaGraphNode_t node,
                                  cudaGraphNode_t *nodes, cudaGraphEdgeData *edges, size_t *count)
{
    cudaError_t error = simrt_enter(call, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuGraphNodeGetDependentNodes(
            node, nodes, (CUgraphEdgeData *)edges, count));
    return simrt_leave(error);
}

#if SIMRT_VERSION >= 13000
SIMRT_API cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from,
                                        cudaGraphNode_t *to, cudaGraphEdgeData *edges,
                                        size_t *count)
{
    return get_edges(SIMRT_CALL_cudaGraphGetEdges, graph, from, to, edges, count);
}

SIMRT_API cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *nodes,
                                                   cudaGraphEdgeData *edges, size_t *count)
{
    return get_dependencies(SIMRT_CALL_cudaGraphNodeGetDependencies, node, nodes, edges, count);
}

SIMRT_API cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *nodes,
                                                     cudaGraphEdgeData *edges, size_t *count)
{
    return get_dependents(SIMRT_CALL_cudaGraphNodeGetDependentNodes, node, nodes, edges, count);
}
#else
/* Until CUDA 13 without edges; with them under another name, which 11 does not export. */
cudaError_t simrt_get_edges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
                            size_t *count) SIMRT_AS(cudaGraphGetEdges);
cudaError_t simrt_get_edges_2(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
                              cudaGraphEdgeData *edges, size_t *count)
    SIMRT_AS(cudaGraphGetEdges_v2);
cudaError_t simrt_get_dependencies(cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *count)
    SIMRT_AS(cudaGraphNodeGetDependencies);
cudaError_t simrt_get_dependencies_2(cudaGraphNode_t node, cudaGraphNode_t *nodes,
                                     cudaGraphEdgeData *edges, size_t *count)
    SIMRT_AS(cudaGraphNodeGetDependencies_v2);
cudaError_t simrt_get_dependents(cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *count)
    SIMRT_AS(cudaGraphNodeGetDependentNodes);
cudaError_t simrt_get_dependents_2(cudaGraphNode_t node, cudaGraphNode_t *nodes,
                                   cudaGraphEdgeData *edges, size_t *count)
    SIMRT_AS(cudaGraphNodeGetDependentNodes_v2);

SIMRT_API cudaError_t simrt_get_edges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
                                      size_t *count)
{
    return get_edges(SIMRT_CALL_cudaGraphGetEdges, graph, from, to, NULL, count);
}

SIMRT_API cudaError_t simrt_get_edges_2(cudaGraph_t graph, cudaGraphNode_t *from,
                                        cudaGraphNode_t *to, cudaGraphEdgeData *edges,
                                        size_t *count)
{
    return get_edges(SIMRT_CALL_cudaGraphGetEdges_v2, graph, from, to, edges, count);
}

SIMRT_API cudaError_t simrt_get_dependencies(cudaGraphNode_t node, cudaGraphNode_t *nodes,
                                             size_t *count)
{
    return get_dependencies(SIMRT_CALL_cudaGraphNodeGetDependencies, node, nodes, NULL, count);
}

SIMRT_API cudaError_t simrt_get_dependencies_2(cudaGraphNode_t node, cudaGraphNode_t *nodes,
                                               cudaGraphEdgeData *edges, size_t *count)
{
    return get_dependencies(SIMRT_CALL_cudaGraphNodeGetDependencies_v2, node, nodes, edges, count);
}

SIMRT_API cudaError_t simrt_get_dependents(cudaGraphNode_t node, cudaGraphNode_t *nodes,
                                           size_t *count)
{
    return get_dependents(SIMRT_CALL_cudaGraphNodeGetDependentNodes, node, nodes, NULL, count);
}

SIMRT_API cudaError_t simrt_get_dependents_2(cudaGraphNode_t node, cudaGraphNode_t *nodes,
                                             cudaGraphEdgeData *edges, size_t *count)
{
    return get_dependents(SIMRT_CALL_cudaGraphNodeGetDependentNodes_v2, node, nodes, edges, count);
}
#endif
