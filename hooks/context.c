/* SPDX-License-Identifier: MIT
 * context.c - hooks on the life of contexts.
 *
 * A context's memory dies with it, so the engine forgets its blocks first: a handle's value may
 * be used again by the next context. */
#include "capture.h"
#include "engine/engine.h"
#include "real.h"

static void ends(const sc_real *real, CUcontext context)
{
    if (context != NULL && sc_real_is_watched(real))
        sc_engine_context_ends((sc_context)context);
}

static CUresult ended(CUcontext context, CUresult result)
{
    if (context != NULL && result == CUDA_SUCCESS)
        sc_capture_context_ended(context);
    return result;
}

static bool is_active(const sc_real *real, CUdevice device)
{
    unsigned int flags = 0;
    int active = 0;

    return real->cuDevicePrimaryCtxGetState(device, &flags, &active) == CUDA_SUCCESS && active != 0;
}

/* The device's primary context if it has one. No call names it without taking a reference, which
 * is given back. */
static CUcontext primary_of(const sc_real *real, CUdevice device)
{
    CUcontext context = NULL;

    if (!sc_real_is_watched(real) || !is_active(real, device) ||
        real->cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS)
        return NULL;
    (void)real->cuDevicePrimaryCtxRelease_v2(device);
    return context;
}

CUresult cuCtxDestroy(CUcontext context)
{
    const sc_real *real = sc_real_find();

    ends(real, context);
    return ended(context, real->cuCtxDestroy(context));
}

CUresult cuCtxDestroy_v2(CUcontext context)
{
    const sc_real *real = sc_real_find();

    ends(real, context);
    return ended(context, real->cuCtxDestroy_v2(context));
}

CUresult cuCtxDetach(CUcontext context)
{
    const sc_real *real = sc_real_find();

    ends(real, context);
    return ended(context, real->cuCtxDetach(context));
}

/* A primary context that was not there is a new one, whatever we knew under its handle. */
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    const sc_real *real = sc_real_find();
    const bool was_there = !sc_real_is_watched(real) || is_active(real, device);
    const CUresult result = real->cuDevicePrimaryCtxRetain(context, device);

    if (result == CUDA_SUCCESS && !was_there)
        ends(real, *context);
    return result;
}

CUresult cuDevicePrimaryCtxReset(CUdevice device)
{
    const sc_real *real = sc_real_find();
    CUcontext context = primary_of(real, device);

    ends(real, context);
    return ended(context, real->cuDevicePrimaryCtxReset(device));
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device)
{
    const sc_real *real = sc_real_find();
    CUcontext context = primary_of(real, device);

    ends(real, context);
    return ended(context, real->cuDevicePrimaryCtxReset_v2(device));
}

/* Only the last release ends a context, and only afterwards can one tell that it was the last.
 * Whoever retains it anew in between is caught in cuDevicePrimaryCtxRetain. */
static CUresult released(const sc_real *real, CUdevice device, CUcontext context, CUresult result)
{
    if (result == CUDA_SUCCESS && context != NULL && !is_active(real, device)) {
        ends(real, context);
        return ended(context, result);
    }
    return result;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
    const sc_real *real = sc_real_find();
    CUcontext context = primary_of(real, device);

    return released(real, device, context, real->cuDevicePrimaryCtxRelease(device));
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    const sc_real *real = sc_real_find();
    CUcontext context = primary_of(real, device);

    return released(real, device, context, real->cuDevicePrimaryCtxRelease_v2(device));
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags)
{
    const sc_real *real = sc_real_find();
    const CUresult result = real->cuCtxEnablePeerAccess(peer, flags);

    if ((result == CUDA_SUCCESS || result == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) &&
        sc_real_is_watched(real))
        sc_engine_peer_enabled();
    return result;
}
