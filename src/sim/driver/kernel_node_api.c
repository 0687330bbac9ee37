/* SPDX-License-Identifier: MIT
 * kernel_node_api.c - kernels as nodes of graphs that are built by hand, in the driver API. */
#include "context.h"
#include "graph.h"
#include "launch.h"
#include "lock.h"
#include "stream.h"

/* A node's parameters as a launch; the newer structure names a CUkernel where it has no function.
 */
static CUresult op_of(const CUDA_KERNEL_NODE_PARAMS_v2 *params, struct sim_op **op)
{
    struct sim_kernel_call call;

    if (!params)
        return CUDA_ERROR_INVALID_VALUE;
    call = (struct sim_kernel_call){
        .function = params->func ? (const void *)params->func : (const void *)params->kern,
        .launch = {{params->gridDimX, params->gridDimY, params->gridDimZ},
                   {params->blockDimX, params->blockDimY, params->blockDimZ},
                   params->sharedMemBytes},
        .parameters = params->kernelParams,
        .extra = params->extra};
    return sim_launch_new(&call, op);
}

/* The older structure is the beginning of the newer one. */
static CUresult op_of_old(const CUDA_KERNEL_NODE_PARAMS_v1 *params, struct sim_op **op)
{
    CUDA_KERNEL_NODE_PARAMS_v2 newer = {0};

    if (!params)
        return CUDA_ERROR_INVALID_VALUE;
    newer.func = params->func;
    newer.gridDimX = params->gridDimX;
    newer.gridDimY = params->gridDimY;
    newer.gridDimZ = params->gridDimZ;
    newer.blockDimX = params->blockDimX;
    newer.blockDimY = params->blockDimY;
    newer.blockDimZ = params->blockDimZ;
    newer.sharedMemBytes = params->sharedMemBytes;
    newer.kernelParams = params->kernelParams;
    newer.extra = params->extra;
    return op_of(&newer, op);
}

static CUresult add(CUgraphNode *out, CUgraph handle, const CUgraphNode *needs, size_t count,
                    struct sim_op *op)
{
    CUresult status = CUDA_ERROR_INVALID_VALUE;
    struct sim_graph *graph;
    struct sim_nodes given;
    struct sim_node *made;

    sim_lock();
    graph = sim_handle_find_locked(handle, SIM_GRAPH);
    if (out && graph && (count == 0 || needs) &&
        sim_nodes_view_locked(&given, graph, needs, count)) {
        made = sim_graph_add_locked(graph, CU_GRAPH_NODE_TYPE_KERNEL, op, &given);
        status = made ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
        if (made)
            *out = (CUgraphNode)made;
    } else {
        sim_op_drop_locked(op);
    }
    sim_unlock();
    return status;
}

static CUresult set(CUgraphNode handle, struct sim_op *op)
{
    CUresult status = CUDA_ERROR_INVALID_VALUE;
    struct sim_node *node;

    sim_lock();
    node = sim_handle_find_locked(handle, SIM_NODE);
    if (node)
        status = sim_node_replace_locked(node, op);
    else
        sim_op_drop_locked(op);
    sim_unlock();
    return status;
}

static CUresult set_in(CUgraphExec executable, CUgraphNode handle, struct sim_op *op)
{
    CUresult status = CUDA_ERROR_INVALID_VALUE;
    const struct sim_node *node;
    struct sim_exec *exec;

    sim_lock();
    exec = sim_handle_find_locked(executable, SIM_EXEC);
    node = sim_handle_find_locked(handle, SIM_NODE);
    if (exec && node)
        status = sim_exec_replace_locked(exec, node, op);
    else
        sim_op_drop_locked(op);
    sim_unlock();
    return status;
}

#define KERNEL_NODES(version, params_type, op_from)                                                \
    CUresult cuGraphAddKernelNode##version(CUgraphNode *phGraphNode, CUgraph hGraph,               \
                                           const CUgraphNode *dependencies,                        \
                                           size_t numDependencies, const params_type *nodeParams)  \
    {                                                                                              \
        CUresult status = sim_enter_ready(CALL_cuGraphAddKernelNode##version);                     \
        struct sim_op *op = NULL;                                                                  \
                                                                                                   \
        if (status == CUDA_SUCCESS)                                                                \
            status = op_from(nodeParams, &op);                                                     \
        return status == CUDA_SUCCESS                                                              \
                   ? add(phGraphNode, hGraph, dependencies, numDependencies, op)                   \
                   : status;                                                                       \
    }                                                                                              \
                                                                                                   \
    CUresult cuGraphKernelNodeSetParams##version(CUgraphNode hNode, const params_type *nodeParams) \
    {                                                                                              \
        CUresult status = sim_enter_ready(CALL_cuGraphKernelNodeSetParams##version);               \
        struct sim_op *op = NULL;                                                                  \
                                                                                                   \
        if (status == CUDA_SUCCESS)                                                                \
            status = op_from(nodeParams, &op);                                                     \
        return status == CUDA_SUCCESS ? set(hNode, op) : status;                                   \
    }                                                                                              \
                                                                                                   \
    CUresult cuGraphExecKernelNodeSetParams##version(CUgraphExec hGraphExec, CUgraphNode hNode,    \
                                                     const params_type *nodeParams)                \
    {                                                                                              \
        CUresult status = sim_enter_ready(CALL_cuGraphExecKernelNodeSetParams##version);           \
        struct sim_op *op = NULL;                                                                  \
                                                                                                   \
        if (status == CUDA_SUCCESS)                                                                \
            status = op_from(nodeParams, &op);                                                     \
        return status == CUDA_SUCCESS ? set_in(hGraphExec, hNode, op) : status;                    \
    }

KERNEL_NODES(, CUDA_KERNEL_NODE_PARAMS_v1, op_of_old)
KERNEL_NODES(_v2, CUDA_KERNEL_NODE_PARAMS_v2, op_of)
