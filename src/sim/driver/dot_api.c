/* SPDX-License-Identifier: MIT
 * dot_api.c - a graph written down for people, in Graphviz's language.
 *
 * A node's text is its number in the order of creation, its kind and what it does. The text is made
 * under the lock and written without it. */
#include <stdio.h>
#include <stdlib.h>

#include "graph.h"
#include "lock.h"
#include "stream.h"

static const char *kind_of(CUgraphNodeType type)
{
    switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        return "KERNEL";
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return "MEMCPY";
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return "MEMSET";
    case CU_GRAPH_NODE_TYPE_HOST:
        return "HOST";
    case CU_GRAPH_NODE_TYPE_GRAPH:
        return "GRAPH";
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return "EVENT_RECORD";
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return "EVENT_WAIT";
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        return "MEM_ALLOC";
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        return "MEM_FREE";
    default:
        return "EMPTY";
    }
}

static size_t number_of(const struct sim_graph *graph, const struct sim_node *node)
{
    size_t i = 0;

    while (graph->nodes.items[i] != node)
        i++;
    return i;
}

/* What a kernel is called comes from the program's image, so its quotes are made harmless. */
static void print_node(FILE *out, size_t number, const struct sim_node *node)
{
    const char *what = node->step ? node->step->op->what : NULL;

    fprintf(out, "\"node_%zu\"[shape=\"box\" label=\"%zu\\n%s", number, number,
            kind_of(node->type));
    if (what)
        fputs("\\n", out);
    for (; what && *what; what++)
        fputc(*what == '"' || *what == '\\' ? '\'' : *what, out);
    fputs("\"];\n", out);
}

static void print_locked(FILE *out, const struct sim_graph *graph)
{
    fputs("digraph dot {\n", out);
    for (size_t i = 0; i < graph->nodes.count; i++)
        print_node(out, i, graph->nodes.items[i]);
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const struct sim_nodes *needs = &graph->nodes.items[i]->needs;

        for (size_t j = 0; j < needs->count; j++)
            fprintf(out, "\"node_%zu\" -> \"node_%zu\";\n", number_of(graph, needs->items[j]), i);
    }
    fputs("}\n", out);
}

static CUresult write_text(const char *path, const char *text, size_t bytes)
{
    FILE *file = fopen(path, "we");
    size_t written;

    if (!file)
        return CUDA_ERROR_OPERATING_SYSTEM;
    written = fwrite(text, 1, bytes, file);
    return fclose(file) == 0 && written == bytes ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
}

CUresult cuGraphDebugDotPrint(CUgraph hGraph, const char *path, unsigned int flags)
{
    CUresult status = sim_enter_ready(CALL_cuGraphDebugDotPrint);
    const struct sim_graph *graph;
    char *text = NULL;
    size_t bytes = 0;
    FILE *out;

    (void)flags; /* how much is told: this is little in any case */
    if (status != CUDA_SUCCESS)
        return status;
    if (!path)
        return CUDA_ERROR_INVALID_VALUE;
    out = open_memstream(&text, &bytes);
    if (!out)
        return CUDA_ERROR_OUT_OF_MEMORY;
    sim_lock();
    graph = sim_handle_find_locked(hGraph, SIM_GRAPH);
    if (graph)
        print_locked(out, graph);
    sim_unlock();
    status = fclose(out) == 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (!graph)
        status = CUDA_ERROR_INVALID_VALUE;
    if (status == CUDA_SUCCESS)
        status = write_text(path, text, bytes);
    free(text);
    return status;
}
