/* SPDX-License-Identifier: MIT
 * primary_api.c - primary contexts: one a device, retained and released, what libcudart lives on.
 */
#include "api.h"
#include "context.h"
#include "device.h"
#include "lock.h"

static CUresult enter_device(enum sim_call call, CUdevice dev, struct sim_device **device)
{
    CUresult status = sim_enter_ready(call);

    if (status != CUDA_SUCCESS)
        return status;
    *device = sim_device_find(dev);
    return *device ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
    struct sim_device *device;
    CUresult status = enter_device(CALL_cuDevicePrimaryCtxRetain, dev, &device);
    struct sim_context *context;

    if (status != CUDA_SUCCESS)
        return status;
    if (!pctx)
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    context = device->primary;
    if (!context) {
        context = sim_context_new_locked(device, device->primary_flags, true);
        device->primary = context;
    } else if (!context->alive) {
        sim_context_revive_locked(context, device->primary_flags);
    }
    if (context)
        context->retained++;
    sim_unlock();
    if (!context)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *pctx = (CUcontext)context;
    return CUDA_SUCCESS;
}

static CUresult release(enum sim_call call, CUdevice dev)
{
    struct sim_device *device;
    CUresult status = enter_device(call, dev, &device);
    struct sim_context *context;

    if (status != CUDA_SUCCESS)
        return status;
    sim_lock();
    context = device->primary;
    if (!context || context->retained == 0) {
        sim_unlock();
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    if (--context->retained == 0)
        sim_context_end_and_unlock(context);
    else
        sim_unlock();
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice dev)
{
    return release(CALL_cuDevicePrimaryCtxRelease, dev);
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
    return release(CALL_cuDevicePrimaryCtxRelease_v2, dev);
}

/* Ends what the context owns and releases no retain: who holds one still has to give it back. */
static CUresult reset(enum sim_call call, CUdevice dev)
{
    struct sim_device *device;
    CUresult status = enter_device(call, dev, &device);

    if (status != CUDA_SUCCESS)
        return status;
    sim_lock();
    if (device->primary)
        sim_context_end_and_unlock(device->primary);
    else
        sim_unlock();
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxReset(CUdevice dev)
{
    return reset(CALL_cuDevicePrimaryCtxReset, dev);
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
    return reset(CALL_cuDevicePrimaryCtxReset_v2, dev);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
    struct sim_device *device;
    CUresult status = enter_device(CALL_cuDevicePrimaryCtxGetState, dev, &device);

    if (status != CUDA_SUCCESS)
        return status;
    if (!flags || !active)
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    *active = device->primary && device->primary->alive;
    *flags = device->primary_flags;
    sim_unlock();
    return CUDA_SUCCESS;
}

static CUresult set_flags(enum sim_call call, CUdevice dev, unsigned int flags)
{
    struct sim_device *device;
    CUresult status = enter_device(call, dev, &device);

    if (status != CUDA_SUCCESS)
        return status;
    if (!sim_context_flags_valid(flags))
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    device->primary_flags = flags;
    if (device->primary)
        device->primary->flags = flags;
    sim_unlock();
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags)
{
    return set_flags(CALL_cuDevicePrimaryCtxSetFlags, dev, flags);
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags)
{
    return set_flags(CALL_cuDevicePrimaryCtxSetFlags_v2, dev, flags);
}
