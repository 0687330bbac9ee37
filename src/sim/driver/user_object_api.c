/* SPDX-License-Identifier: MIT
 * user_object_api.c - user objects in the driver API. */
#include <limits.h>
#include <stdlib.h>

#include "graph.h"
#include "lock.h"
#include "user_object.h"

static bool is_count(unsigned count)
{
    return count > 0 && count <= INT_MAX;
}

CUresult cuUserObjectCreate(CUuserObject *object_out, void *ptr, CUhostFn destroy,
                            unsigned int initialRefcount, unsigned int flags)
{
    CUresult status = sim_enter_ready(CALL_cuUserObjectCreate);
    struct sim_user_object *object;
    bool added;

    if (status != CUDA_SUCCESS)
        return status;
    if (!object_out || !destroy || !is_count(initialRefcount) ||
        flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
        return CUDA_ERROR_INVALID_VALUE;
    object = malloc(sizeof *object);
    if (!object)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *object = (struct sim_user_object){.object = {.kind = SIM_USER_OBJECT},
                                       .references = initialRefcount,
                                       .destroy = destroy,
                                       .data = ptr};
    sim_lock();
    added = sim_handle_add_locked(&object->object);
    sim_unlock();
    if (!added) {
        free(object);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *object_out = (CUuserObject)object;
    return CUDA_SUCCESS;
}

CUresult cuUserObjectRetain(CUuserObject object, unsigned int count)
{
    CUresult status = sim_enter_ready(CALL_cuUserObjectRetain);
    struct sim_user_object *found;

    if (status != CUDA_SUCCESS)
        return status;
    if (!is_count(count))
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    found = sim_handle_find_locked(object, SIM_USER_OBJECT);
    if (found)
        found->references += count;
    sim_unlock();
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuUserObjectRelease(CUuserObject object, unsigned int count)
{
    CUresult status = sim_enter_ready(CALL_cuUserObjectRelease);
    struct sim_user_object *found;

    if (status != CUDA_SUCCESS)
        return status;
    if (!is_count(count))
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    found = sim_handle_find_locked(object, SIM_USER_OBJECT);
    if (found && count <= found->references)
        sim_user_object_drop_locked(found, count);
    else
        status = CUDA_ERROR_INVALID_VALUE;
    sim_unlock();
    return status;
}

CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count,
                                 unsigned int flags)
{
    CUresult status = sim_enter_ready(CALL_cuGraphRetainUserObject);
    struct sim_graph *keeper;
    struct sim_user_object *found;

    if (status != CUDA_SUCCESS)
        return status;
    if (!is_count(count) || (flags & ~(unsigned)CU_GRAPH_USER_OBJECT_MOVE) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    keeper = sim_handle_find_locked(graph, SIM_GRAPH);
    found = sim_handle_find_locked(object, SIM_USER_OBJECT);
    if (!keeper || !found)
        status = CUDA_ERROR_INVALID_VALUE;
    else if (!sim_keeps_add_locked(&keeper->keeps, found, count))
        status = CUDA_ERROR_OUT_OF_MEMORY;
    else if (flags != CU_GRAPH_USER_OBJECT_MOVE)
        found->references += count;
    sim_unlock();
    return status;
}

CUresult cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned int count)
{
    CUresult status = sim_enter_ready(CALL_cuGraphReleaseUserObject);
    struct sim_graph *keeper;
    struct sim_user_object *found;

    if (status != CUDA_SUCCESS)
        return status;
    if (!is_count(count))
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    keeper = sim_handle_find_locked(graph, SIM_GRAPH);
    found = sim_handle_find_locked(object, SIM_USER_OBJECT);
    if (!keeper || !found || !sim_keeps_drop_locked(&keeper->keeps, found, count))
        status = CUDA_ERROR_INVALID_VALUE;
    sim_unlock();
    return status;
}
