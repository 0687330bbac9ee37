/* SPDX-License-Identifier: MIT
 * graph_launch.c - running a graph in a stream. Compiled twice (call.h). */
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
