/* SPDX-License-Identifier: MIT
 * peer.c - access between devices: the runtime names devices where the driver names their primary
 * contexts. */
#include "call.h"
#include "device.h"
#include "pointer.h"

static cudaError_t find_pair(int ordinal, int peer, CUdevice *handle, CUdevice *peer_handle)
{
    CUresult result = simrt_driver_table.cuDeviceGet(handle, ordinal);

    if (result == CUDA_SUCCESS)
        result = simrt_driver_table.cuDeviceGet(peer_handle, peer);
    return simrt_error(result);
}

SIMRT_API cudaError_t cudaDeviceCanAccessPeer(int *can, int ordinal, int peer)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaDeviceCanAccessPeer, SIMRT_INITIALISED);
    CUdevice handle = 0;
    CUdevice peer_handle = 0;

    if (error == cudaSuccess)
        error =
            can == NULL ? cudaErrorInvalidValue : find_pair(ordinal, peer, &handle, &peer_handle);
    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuDeviceCanAccessPeer(can, handle, peer_handle));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr attribute,
                                                int ordinal, int peer)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaDeviceGetP2PAttribute, SIMRT_INITIALISED);
    CUdevice handle = 0;
    CUdevice peer_handle = 0;

    if (error == cudaSuccess)
        error =
            value == NULL ? cudaErrorInvalidValue : find_pair(ordinal, peer, &handle, &peer_handle);
    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuDeviceGetP2PAttribute(
            value, (CUdevice_P2PAttribute)attribute, handle, peer_handle));
    return simrt_leave(error);
}

/* A device is no peer of itself. */
static cudaError_t find_peer(int peer, CUcontext *context)
{
    if (peer == simrt_device_current())
        return cudaErrorInvalidDevice;
    return simrt_device_context(peer, context);
}

SIMRT_API cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaDeviceEnablePeerAccess, SIMRT_CONTEXT);
    CUcontext context = NULL;

    if (error == cudaSuccess)
        error = find_peer(peer, &context);
    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuCtxEnablePeerAccess(context, flags));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaDeviceDisablePeerAccess(int peer)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaDeviceDisablePeerAccess, SIMRT_CONTEXT);
    CUcontext context = NULL;

    if (error == cudaSuccess)
        error = find_peer(peer, &context);
    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuCtxDisablePeerAccess(context));
    return simrt_leave(error);
}

static cudaError_t find_contexts(int to_device, int from_device, CUcontext *to, CUcontext *from)
{
    cudaError_t error = simrt_device_context(to_device, to);

    return error == cudaSuccess ? simrt_device_context(from_device, from) : error;
}

SIMRT_API cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device,
                                     size_t bytes)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaMemcpyPeer, SIMRT_CONTEXT);
    CUcontext to_context = NULL;
    CUcontext from_context = NULL;

    if (error == cudaSuccess)
        error = find_contexts(to_device, from_device, &to_context, &from_context);
    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuMemcpyPeer(
            simrt_address(to), to_context, simrt_address(from), from_context, bytes));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from,
                                          int from_device, size_t bytes, cudaStream_t stream)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaMemcpyPeerAsync, SIMRT_CONTEXT);
    CUcontext to_context = NULL;
    CUcontext from_context = NULL;

    if (error == cudaSuccess)
        error = find_contexts(to_device, from_device, &to_context, &from_context);
    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuMemcpyPeerAsync(
            simrt_address(to), to_context, simrt_address(from), from_context, bytes, stream));
    return simrt_leave(error);
}
