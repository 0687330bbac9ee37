/* SPDX-License-Identifier: MIT
 * user_object.c - what a program hands to graphs to be kept. A cudaUserObject_t is the driver's
 * CUuserObject. */
#include "call.h"

SIMRT_API cudaError_t cudaUserObjectCreate(cudaUserObject_t *object, void *data,
                                           cudaHostFn_t destroy, unsigned int references,
                                           unsigned int flags)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaUserObjectCreate, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = simrt_error(
            simrt_driver_table.cuUserObjectCreate(object, data, destroy, references, flags));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned int count)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaUserObjectRetain, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuUserObjectRetain(object, count));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned int count)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaUserObjectRelease, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuUserObjectRelease(object, count));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object,
                                                unsigned int count, unsigned int flags)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaGraphRetainUserObject, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error =
            simrt_error(simrt_driver_table.cuGraphRetainUserObject(graph, object, count, flags));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object,
                                                 unsigned int count)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaGraphReleaseUserObject, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuGraphReleaseUserObject(graph, object, count));
    return simrt_leave(error);
}
