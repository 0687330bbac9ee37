/* SPDX-License-Identifier: MIT
 * graph.h - graphs: operations that were captured instead of run, and what runs them again.
 *
 * A graph is a list of nodes; a node names earlier nodes of its graph only, so the order of
 * creation is one in which the nodes may run. What a node does is an operation as streams queue
 * them (stream.h), which running leaves as it was. Instantiating shares the operations with an
 * executable graph and a launch shares them once more, so that each of the three may end first. A
 * launch is one operation of its stream and runs the nodes one after the other.
 *
 * Graphs, nodes and executables belong to the process, not to a context. All of it is guarded by
 * the lock. */
#ifndef SC_SIM_GRAPH_H
#define SC_SIM_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api.h"
#include "handle.h"
#include "user_object.h"

struct sim_mark;
struct sim_op;
struct sim_touch;

/* A set of nodes of one graph, which owns them. */
struct sim_nodes {
    struct sim_node **items;
    size_t count;
    size_t capacity;
};

/* An operation that several may run. */
struct sim_step {
    unsigned references;
    struct sim_op *op;
};

struct sim_node {
    struct sim_object object;
    struct sim_graph *graph;
    CUgraphNodeType type;
    struct sim_step *step; /* NULL: it does nothing */
    struct sim_nodes needs;
    uint64_t capture; /* the sequence it was captured in, 0: added by hand */
    bool excused;     /* taken from a stream's dependencies by hand: nobody need join it */
    bool reached;     /* for sim_graph_reach_locked() */
};

struct sim_graph {
    struct sim_object object;
    struct sim_nodes nodes; /* in the order of their creation */
    struct sim_keeps keeps;
    bool capturing; /* a capture sequence is adding to it */
};

/* The operations of a graph as it was when it was instantiated. */
struct sim_program {
    unsigned references;
    struct sim_keeps keeps;
    struct sim_touch *touches; /* of the steps, one after the other */
    size_t touch_count;
    size_t count;
    struct sim_step *steps[];
};

struct sim_exec {
    struct sim_object object;
    struct sim_program *program;
    const struct sim_graph *graph; /* it was made of; to compare, it may have ended */
    unsigned long long flags;
    struct sim_mark *last; /* of its latest launch, which the next one waits for; NULL: none yet */
};

/* Adds a node if it is not there yet; false: out of memory. */
bool sim_nodes_add(struct sim_nodes *set, struct sim_node *node);
bool sim_nodes_copy(struct sim_nodes *to, const struct sim_nodes *from); /* replaces what it held */
bool sim_nodes_include(const struct sim_nodes *set, const struct sim_node *node);
void sim_nodes_clear(struct sim_nodes *set); /* frees its memory */

/* The array of a program's call as a set, which stays the program's; false: not all of them are
 * nodes of `graph`. */
bool sim_nodes_view_locked(struct sim_nodes *set, const struct sim_graph *graph,
                           const CUgraphNode *nodes, size_t count);

/* Both NULL: out of memory. */
struct sim_graph *sim_graph_new_locked(void);
void sim_graph_free_locked(struct sim_graph *graph);

/* A new node that depends on `needs` and does `op`, which it owns from then on, also on failure;
 * NULL op: nothing. */
struct sim_node *sim_graph_add_locked(struct sim_graph *graph, CUgraphNodeType type,
                                      struct sim_op *op, const struct sim_nodes *needs);

/* Gives a node, or what an executable graph runs for it, another operation of the kind it has,
 * which is owned from then on, also on failure. `node` is of the graph that was instantiated.
 * Launches that are queued keep what they had. */
CUresult sim_node_replace_locked(struct sim_node *node, struct sim_op *op);
CUresult sim_exec_replace_locked(struct sim_exec *exec, const struct sim_node *node,
                                 struct sim_op *op);

/* Sets `reached` of exactly those nodes that are in `from`, are excused, or are depended on by such
 * a node. */
void sim_graph_reach_locked(struct sim_graph *graph, const struct sim_nodes *from);

struct sim_program *sim_program_new_locked(const struct sim_graph *graph);
void sim_program_drop_locked(struct sim_program *program);

#endif
