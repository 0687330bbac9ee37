/* SPDX-License-Identifier: MIT
 * peer_api.c - access between devices, and copies between contexts.
 *
 * All memory is the process's own, so every device could reach every other's. What is kept is who
 * said so: a pair of contexts is enabled until it is disabled or either of the two ends. */
#include <stdlib.h>

#include "context.h"
#include "copy.h"
#include "device.h"
#include "lock.h"
#include "stream.h"

/* One context may use another's memory. */
struct peering {
    struct peering *next;
    const struct sim_context *from, *to;
    uint64_t from_id, to_id; /* of their lives in which it was enabled */
};

static struct peering *peerings;

CUresult cuDeviceCanAccessPeer(int *canAccessPeer, CUdevice dev, CUdevice peerDev)
{
    CUresult status = sim_enter_ready(CALL_cuDeviceCanAccessPeer);

    if (status != CUDA_SUCCESS)
        return status;
    if (!canAccessPeer)
        return CUDA_ERROR_INVALID_VALUE;
    if (!sim_device_find(dev) || !sim_device_find(peerDev))
        return CUDA_ERROR_INVALID_DEVICE;
    *canAccessPeer = dev != peerDev;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attrib, CUdevice srcDevice,
                                 CUdevice dstDevice)
{
    CUresult status = sim_enter_ready(CALL_cuDeviceGetP2PAttribute);

    if (status != CUDA_SUCCESS)
        return status;
    if (!value || attrib < CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK ||
        attrib > CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED)
        return CUDA_ERROR_INVALID_VALUE;
    if (!sim_device_find(srcDevice) || !sim_device_find(dstDevice) || srcDevice == dstDevice)
        return CUDA_ERROR_INVALID_DEVICE;
    *value = attrib == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED;
    return CUDA_SUCCESS;
}

static bool is_over(const struct peering *peering)
{
    return !peering->from->alive || !peering->to->alive || peering->from->id != peering->from_id ||
           peering->to->id != peering->to_id;
}

/* Where the pair is linked, or the NULL at the end of the list; forgets those that are over. */
static struct peering **find_locked(const struct sim_context *from, const struct sim_context *to)
{
    struct peering **link = &peerings;

    while (*link) {
        struct peering *peering = *link;

        if (is_over(peering)) {
            *link = peering->next;
            free(peering);
        } else if (peering->from == from && peering->to == to) {
            break;
        } else {
            link = &peering->next;
        }
    }
    return link;
}

static CUresult enable_locked(const struct sim_context *from, const struct sim_context *to)
{
    struct peering **link = find_locked(from, to);

    if (*link)
        return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    *link = malloc(sizeof **link);
    if (!*link)
        return CUDA_ERROR_OUT_OF_MEMORY;
    **link = (struct peering){NULL, from, to, from->id, to->id};
    return CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(CUcontext peerContext, unsigned int Flags)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(CALL_cuCtxEnablePeerAccess, &context);
    struct sim_context *peer;

    if (status != CUDA_SUCCESS)
        return status;
    if (Flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    peer = sim_context_find(peerContext);
    if (!peer || peer == context)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (peer->device == context->device)
        return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    sim_lock();
    status = enable_locked(context, peer);
    sim_unlock();
    return status;
}

CUresult cuCtxDisablePeerAccess(CUcontext peerContext)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(CALL_cuCtxDisablePeerAccess, &context);
    struct sim_context *peer;
    struct peering **link;

    if (status != CUDA_SUCCESS)
        return status;
    peer = sim_context_find(peerContext);
    if (!peer)
        return CUDA_ERROR_INVALID_CONTEXT;
    sim_lock();
    link = find_locked(context, peer);
    if (*link) {
        struct peering *over = *link;

        *link = over->next;
        free(over);
    } else {
        status = CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
    }
    sim_unlock();
    return status;
}

/* A copy between contexts comes after the work of both; `what` has everything but its size. */
static CUresult copy(struct sim_copy what, CUcontext dstContext, CUcontext srcContext, size_t bytes)
{
    struct sim_context *context, *to, *from;
    CUresult status = sim_enter_context(what.call, &context);

    if (status != CUDA_SUCCESS)
        return status;
    to = sim_context_find(dstContext);
    from = sim_context_find(srcContext);
    if (!to || !from)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (bytes == 0)
        return CUDA_SUCCESS;
    if (!sim_copy_end_valid(what.to.address, true) || !sim_copy_end_valid(what.from.address, true))
        return CUDA_ERROR_INVALID_VALUE;
    if (!what.async) {
        sim_lock();
        sim_context_drain_locked(to);
        sim_context_drain_locked(from);
        sim_unlock();
    }
    what.width = bytes;
    what.height = what.depth = 1;
    what.finish = !what.async;
    return sim_copy(context, &what);
}

#define SYNC(function, thread)                                                                     \
    CUresult function(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,          \
                      CUcontext srcContext, size_t ByteCount)                                      \
    {                                                                                              \
        return copy((struct sim_copy){.call = CALL_##function,                                     \
                                      .to = {.address = (uintptr_t)dstDevice},                     \
                                      .from = {.address = (uintptr_t)srcDevice},                   \
                                      .per_thread = (thread)},                                     \
                    dstContext, srcContext, ByteCount);                                            \
    }

#define ASYNC(function, thread)                                                                    \
    CUresult function(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,          \
                      CUcontext srcContext, size_t ByteCount, CUstream hStream)                    \
    {                                                                                              \
        return copy((struct sim_copy){.call = CALL_##function,                                     \
                                      .to = {.address = (uintptr_t)dstDevice},                     \
                                      .from = {.address = (uintptr_t)srcDevice},                   \
                                      .stream = hStream,                                           \
                                      .per_thread = (thread),                                      \
                                      .async = true},                                              \
                    dstContext, srcContext, ByteCount);                                            \
    }

SYNC(cuMemcpyPeer, false)
SYNC(cuMemcpyPeer_ptds, true)
ASYNC(cuMemcpyPeerAsync, false)
ASYNC(cuMemcpyPeerAsync_ptsz, true)
