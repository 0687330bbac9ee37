/* SPDX-License-Identifier: MIT
 * graph_api.c - graphs in the driver API: what they are made of, and running them.
 *
 * Graphs come from captures. Of the calls that build or edit one by hand only those are modelled
 * that need no parameters of a node. */
#include <stdlib.h>

#include "context.h"
#include "graph.h"
#include "lock.h"
#include "stream.h"

CUresult cuGraphCreate(CUgraph *phGraph, unsigned int flags)
{
    CUresult status = sim_enter_ready(CALL_cuGraphCreate);
    struct sim_graph *graph;

    if (status != CUDA_SUCCESS)
        return status;
    if (!phGraph || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    graph = sim_graph_new_locked();
    sim_unlock();
    if (!graph)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *phGraph = (CUgraph)graph;
    return CUDA_SUCCESS;
}

/* While a capture adds to it, a graph is not the program's to destroy. */
CUresult cuGraphDestroy(CUgraph hGraph)
{
    CUresult status = sim_enter_ready(CALL_cuGraphDestroy);
    struct sim_graph *graph;

    if (status != CUDA_SUCCESS)
        return status;
    sim_lock();
    graph = sim_handle_find_locked(hGraph, SIM_GRAPH);
    if (graph && !graph->capturing)
        sim_graph_free_locked(graph);
    else
        status = CUDA_ERROR_INVALID_VALUE;
    sim_unlock();
    return status;
}

static CUresult add_empty_locked(CUgraphNode *out, CUgraph handle, const CUgraphNode *needs,
                                 size_t count)
{
    struct sim_graph *graph = sim_handle_find_locked(handle, SIM_GRAPH);
    struct sim_nodes given;
    struct sim_node *made;

    if (!graph || !sim_nodes_view_locked(&given, graph, needs, count))
        return CUDA_ERROR_INVALID_VALUE;
    made = sim_graph_add_locked(graph, CU_GRAPH_NODE_TYPE_EMPTY, NULL, &given);
    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *out = (CUgraphNode)made;
    return CUDA_SUCCESS;
}

CUresult cuGraphAddEmptyNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                             const CUgraphNode *dependencies, size_t numDependencies)
{
    CUresult status = sim_enter_ready(CALL_cuGraphAddEmptyNode);

    if (status != CUDA_SUCCESS)
        return status;
    if (!phGraphNode || (numDependencies > 0 && !dependencies))
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    status = add_empty_locked(phGraphNode, hGraph, dependencies, numDependencies);
    sim_unlock();
    return status;
}

/* Lists are handed out as CUDA does it: without an array the count alone; else as many as there is
 * room for, with NULL behind the last and the count of those. */
struct list {
    CUgraphNode *nodes;
    CUgraphNode *others; /* a second array, of edges' other ends; may be NULL */
    CUgraphEdgeData *data;
    size_t room, count;
};

static void put(struct list *list, const struct sim_node *node, const struct sim_node *other)
{
    if (list->nodes && list->count < list->room) {
        list->nodes[list->count] = (CUgraphNode)node;
        if (list->others)
            list->others[list->count] = (CUgraphNode)other;
        if (list->data)
            list->data[list->count] = (CUgraphEdgeData){0};
    } else if (list->nodes) {
        return;
    }
    list->count++;
}

static void finish(struct list *list, size_t *count)
{
    for (size_t i = list->count; list->nodes && i < list->room; i++) {
        list->nodes[i] = NULL;
        if (list->others)
            list->others[i] = NULL;
    }
    *count = list->count;
}

enum wanted { ALL_NODES, ROOT_NODES, EDGES };

static CUresult list_graph(enum sim_call call, CUgraph handle, enum wanted wanted, struct list list,
                           size_t *count)
{
    CUresult status = sim_enter_ready(call);
    const struct sim_graph *graph;

    if (status != CUDA_SUCCESS)
        return status;
    if (!count)
        return CUDA_ERROR_INVALID_VALUE;
    list.room = *count;
    sim_lock();
    graph = sim_handle_find_locked(handle, SIM_GRAPH);
    for (size_t i = 0; graph && i < graph->nodes.count; i++) {
        const struct sim_node *node = graph->nodes.items[i];

        if (wanted == ALL_NODES || (wanted == ROOT_NODES && node->needs.count == 0))
            put(&list, node, NULL);
        for (size_t j = 0; wanted == EDGES && j < node->needs.count; j++)
            put(&list, node->needs.items[j], node);
    }
    sim_unlock();
    if (!graph)
        return CUDA_ERROR_INVALID_VALUE;
    finish(&list, count);
    return CUDA_SUCCESS;
}

CUresult cuGraphGetNodes(CUgraph hGraph, CUgraphNode *nodes, size_t *numNodes)
{
    return list_graph(CALL_cuGraphGetNodes, hGraph, ALL_NODES, (struct list){.nodes = nodes},
                      numNodes);
}

CUresult cuGraphGetRootNodes(CUgraph hGraph, CUgraphNode *rootNodes, size_t *numRootNodes)
{
    return list_graph(CALL_cuGraphGetRootNodes, hGraph, ROOT_NODES,
                      (struct list){.nodes = rootNodes}, numRootNodes);
}

static CUresult list_edges(enum sim_call call, CUgraph handle, struct list list, size_t *count)
{
    if ((list.nodes == NULL) != (list.others == NULL) || (list.data && !list.nodes))
        count = NULL; /* refused below, once the call has been counted */
    return list_graph(call, handle, EDGES, list, count);
}

CUresult cuGraphGetEdges(CUgraph hGraph, CUgraphNode *from, CUgraphNode *to, size_t *numEdges)
{
    return list_edges(CALL_cuGraphGetEdges, hGraph, (struct list){.nodes = from, .others = to},
                      numEdges);
}

CUresult cuGraphGetEdges_v2(CUgraph hGraph, CUgraphNode *from, CUgraphNode *to,
                            CUgraphEdgeData *edgeData, size_t *numEdges)
{
    return list_edges(CALL_cuGraphGetEdges_v2, hGraph,
                      (struct list){.nodes = from, .others = to, .data = edgeData}, numEdges);
}

static CUresult list_node(enum sim_call call, CUgraphNode handle, bool dependents, struct list list,
                          size_t *count)
{
    CUresult status = sim_enter_ready(call);
    const struct sim_node *node;

    if (status != CUDA_SUCCESS)
        return status;
    if (!count || (list.data && !list.nodes))
        return CUDA_ERROR_INVALID_VALUE;
    list.room = *count;
    sim_lock();
    node = sim_handle_find_locked(handle, SIM_NODE);
    for (size_t i = 0; node && !dependents && i < node->needs.count; i++)
        put(&list, node->needs.items[i], NULL);
    for (size_t i = 0; node && dependents && i < node->graph->nodes.count; i++)
        if (sim_nodes_include(&node->graph->nodes.items[i]->needs, node))
            put(&list, node->graph->nodes.items[i], NULL);
    sim_unlock();
    if (!node)
        return CUDA_ERROR_INVALID_VALUE;
    finish(&list, count);
    return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetDependencies(CUgraphNode hNode, CUgraphNode *dependencies,
                                    size_t *numDependencies)
{
    return list_node(CALL_cuGraphNodeGetDependencies, hNode, false,
                     (struct list){.nodes = dependencies}, numDependencies);
}

CUresult cuGraphNodeGetDependencies_v2(CUgraphNode hNode, CUgraphNode *dependencies,
                                       CUgraphEdgeData *edgeData, size_t *numDependencies)
{
    return list_node(CALL_cuGraphNodeGetDependencies_v2, hNode, false,
                     (struct list){.nodes = dependencies, .data = edgeData}, numDependencies);
}

CUresult cuGraphNodeGetDependentNodes(CUgraphNode hNode, CUgraphNode *dependentNodes,
                                      size_t *numDependentNodes)
{
    return list_node(CALL_cuGraphNodeGetDependentNodes, hNode, true,
                     (struct list){.nodes = dependentNodes}, numDependentNodes);
}

CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode hNode, CUgraphNode *dependentNodes,
                                         CUgraphEdgeData *edgeData, size_t *numDependentNodes)
{
    return list_node(CALL_cuGraphNodeGetDependentNodes_v2, hNode, true,
                     (struct list){.nodes = dependentNodes, .data = edgeData}, numDependentNodes);
}

CUresult cuGraphNodeGetType(CUgraphNode hNode, CUgraphNodeType *type)
{
    CUresult status = sim_enter_ready(CALL_cuGraphNodeGetType);
    const struct sim_node *node;

    if (status != CUDA_SUCCESS)
        return status;
    if (!type)
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    node = sim_handle_find_locked(hNode, SIM_NODE);
    if (node)
        *type = node->type;
    sim_unlock();
    return node ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
