/* SPDX-License-Identifier: MIT
 * graph_launch.c - making a graph executable and running it, in a stream. Compiled twice
 * (call.h). */
#include "call.h"

SIMRT_API cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream)
{
    cudaError_t error = simrt_enter(SIMRT_CALL(cudaGraphLaunch), SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = simrt_error(SIMRT_DRIVER.cuGraphLaunch(executable, stream));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream)
{
    cudaError_t error = simrt_enter(SIMRT_CALL(cudaGraphUpload), SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = simrt_error(SIMRT_DRIVER.cuGraphUpload(executable, stream));
    return simrt_leave(error);
}

/* The two structures are one: flags, a stream, and what went wrong. */
SIMRT_API cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t *executable, cudaGraph_t graph,
                                                     cudaGraphInstantiateParams *params)
{
    cudaError_t error = simrt_enter(SIMRT_CALL(cudaGraphInstantiateWithParams), SIMRT_CONTEXT);

    _Static_assert(sizeof(*params) == sizeof(CUDA_GRAPH_INSTANTIATE_PARAMS), "they are one");
    if (error == cudaSuccess)
        error = simrt_error(SIMRT_DRIVER.cuGraphInstantiateWithParams(
            executable, graph, (CUDA_GRAPH_INSTANTIATE_PARAMS *)params));
    return simrt_leave(error);
}
