/* SPDX-License-Identifier: MIT */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

#include "stream.h"

bool sim_nodes_include(const struct sim_nodes *set, const struct sim_node *node)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->items[i] == node)
            return true;
    return false;
}

static bool reserve(struct sim_nodes *set, size_t count)
{
    size_t capacity = set->capacity > 0 ? set->capacity : 4;
    struct sim_node **items;

    if (count <= set->capacity)
        return true;
    while (capacity < count)
        capacity *= 2;
    items = realloc(set->items, capacity * sizeof(struct sim_node *));
    if (!items)
        return false;
    set->items = items;
    set->capacity = capacity;
    return true;
}

bool sim_nodes_add(struct sim_nodes *set, struct sim_node *node)
{
    if (sim_nodes_include(set, node))
        return true;
    if (!reserve(set, set->count + 1))
        return false;
    set->items[set->count++] = node;
    return true;
}

bool sim_nodes_copy(struct sim_nodes *to, const struct sim_nodes *from)
{
    if (!reserve(to, from->count))
        return false;
    if (from->count > 0)
        memcpy(to->items, from->items, from->count * sizeof(struct sim_node *));
    to->count = from->count;
    return true;
}

void sim_nodes_clear(struct sim_nodes *set)
{
    free(set->items);
    *set = (struct sim_nodes){0};
}

bool sim_nodes_view_locked(struct sim_nodes *set, const struct sim_graph *graph,
                           const CUgraphNode *nodes, size_t count)
{
    *set = (struct sim_nodes){.count = count};
    memcpy(&set->items, &nodes, sizeof nodes);
    for (size_t i = 0; i < count; i++) {
        const struct sim_node *node = sim_handle_find_locked(nodes[i], SIM_NODE);

        if (!node || node->graph != graph)
            return false;
    }
    return true;
}

struct sim_graph *sim_graph_new_locked(void)
{
    struct sim_graph *graph = calloc(1, sizeof *graph);

    if (!graph)
        return NULL;
    graph->object.kind = SIM_GRAPH;
    if (!sim_handle_add_locked(&graph->object)) {
        free(graph);
        return NULL;
    }
    return graph;
}

static void drop_step(struct sim_step *step)
{
    if (--step->references > 0)
        return;
    sim_op_drop_locked(step->op);
    free(step);
}

static void free_node(struct sim_node *node)
{
    if (node->step)
        drop_step(node->step);
    sim_nodes_clear(&node->needs);
    free(node);
}

void sim_graph_free_locked(struct sim_graph *graph)
{
    for (size_t i = 0; i < graph->nodes.count; i++) {
        sim_handle_remove_locked(&graph->nodes.items[i]->object);
        free_node(graph->nodes.items[i]);
    }
    sim_nodes_clear(&graph->nodes);
    sim_keeps_clear_locked(&graph->keeps);
    sim_handle_remove_locked(&graph->object);
    free(graph);
}

/* The node's step, which owns `op`; false: out of memory. */
static bool give_step(struct sim_node *node, struct sim_op *op)
{
    if (!op)
        return true;
    node->step = malloc(sizeof *node->step);
    if (!node->step) {
        sim_op_drop_locked(op);
        return false;
    }
    *node->step = (struct sim_step){.references = 1, .op = op};
    return true;
}

struct sim_node *sim_graph_add_locked(struct sim_graph *graph, CUgraphNodeType type,
                                      struct sim_op *op, const struct sim_nodes *needs)
{
    struct sim_node *node = calloc(1, sizeof *node);

    if (!node) {
        if (op)
            sim_op_drop_locked(op);
        return NULL;
    }
    node->object.kind = SIM_NODE;
    node->graph = graph;
    node->type = type;
    if (!give_step(node, op) || !sim_nodes_copy(&node->needs, needs) ||
        !reserve(&graph->nodes, graph->nodes.count + 1) || !sim_handle_add_locked(&node->object)) {
        free_node(node);
        return NULL;
    }
    graph->nodes.items[graph->nodes.count++] = node;
    return node;
}

void sim_graph_reach_locked(struct sim_graph *graph, const struct sim_nodes *from)
{
    for (size_t i = 0; i < graph->nodes.count; i++)
        graph->nodes.items[i]->reached = graph->nodes.items[i]->excused;
    for (size_t i = 0; i < from->count; i++)
        from->items[i]->reached = true;
    for (size_t i = graph->nodes.count; i > 0; i--) {
        const struct sim_node *node = graph->nodes.items[i - 1];

        for (size_t j = 0; node->reached && j < node->needs.count; j++)
            node->needs.items[j]->reached = true;
    }
}

static bool gather_touches(struct sim_program *program)
{
    struct sim_touch *to;

    if (program->touch_count == 0)
        return true;
    to = program->touches = malloc(program->touch_count * sizeof *to);
    for (size_t i = 0; to && i < program->count; i++) {
        const struct sim_op *op = program->steps[i]->op;

        if (op->touch_count > 0)
            memcpy(to, op->touches, op->touch_count * sizeof *to);
        to += op->touch_count;
    }
    return to != NULL;
}

struct sim_program *sim_program_new_locked(const struct sim_graph *graph)
{
    size_t count = graph->nodes.count;
    struct sim_program *program = malloc(sizeof *program + count * sizeof(struct sim_step *));

    if (!program)
        return NULL;
    *program = (struct sim_program){.references = 1};
    for (size_t i = 0; i < count; i++) {
        struct sim_step *step = graph->nodes.items[i]->step;

        if (!step)
            continue;
        step->references++;
        program->steps[program->count++] = step;
        program->touch_count += step->op->touch_count;
    }
    if (gather_touches(program) && sim_keeps_copy_locked(&program->keeps, &graph->keeps))
        return program;
    sim_program_drop_locked(program);
    return NULL;
}

void sim_program_drop_locked(struct sim_program *program)
{
    if (--program->references > 0)
        return;
    for (size_t i = 0; i < program->count; i++)
        drop_step(program->steps[i]);
    sim_keeps_clear_locked(&program->keeps);
    free(program->touches);
    free(program);
}

CUresult sim_node_replace_locked(struct sim_node *node, struct sim_op *op)
{
    struct sim_step *old = node->step;

    if (!old || old->op->node != op->node) {
        sim_op_drop_locked(op);
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (!give_step(node, op)) {
        node->step = old;
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    drop_step(old);
    return CUDA_SUCCESS;
}

/* Where the steps of a node's graph have its own. */
static size_t step_index(const struct sim_node *node)
{
    size_t index = 0;

    for (size_t i = 0; node->graph->nodes.items[i] != node; i++)
        index += node->graph->nodes.items[i]->step != NULL;
    return index;
}

/* The same program but for one step. */
static struct sim_program *copy_but(const struct sim_program *from, size_t index,
                                    struct sim_step *step)
{
    struct sim_program *program = malloc(sizeof *program + from->count * sizeof(struct sim_step *));

    if (!program)
        return NULL;
    *program = (struct sim_program){.references = 1, .count = from->count};
    for (size_t i = 0; i < from->count; i++) {
        program->steps[i] = i == index ? step : from->steps[i];
        program->steps[i]->references++;
        program->touch_count += program->steps[i]->op->touch_count;
    }
    if (gather_touches(program) && sim_keeps_copy_locked(&program->keeps, &from->keeps))
        return program;
    sim_program_drop_locked(program);
    return NULL;
}

CUresult sim_exec_replace_locked(struct sim_exec *exec, const struct sim_node *node,
                                 struct sim_op *op)
{
    struct sim_node holder = {0};
    struct sim_program *program;
    size_t index = step_index(node);

    if (exec->graph != node->graph || index >= exec->program->count ||
        exec->program->steps[index]->op->node != op->node) {
        sim_op_drop_locked(op);
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (!give_step(&holder, op))
        return CUDA_ERROR_OUT_OF_MEMORY;
    program = copy_but(exec->program, index, holder.step);
    drop_step(holder.step);
    if (!program)
        return CUDA_ERROR_OUT_OF_MEMORY;
    sim_program_drop_locked(exec->program);
    exec->program = program;
    return CUDA_SUCCESS;
}
