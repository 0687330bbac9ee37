/* SPDX-License-Identifier: MIT
 * waits.c - hooks on calls in which what went wrong on the device comes to light.
 *
 * They wait for the device or ask it, and from an error that no later call survives on, a served
 * request must not succeed where the driver's would fail. Copies that do not wait, memsets and
 * launches may report an earlier error, too, and are not here: whoever issues them meets the same
 * error again in one of these. */
#include "engine/engine.h"
#include "real.h"

static CUresult waited(const sc_real *real, CUresult result)
{
    if (sc_real_is_watched(real))
        sc_engine_result((int)result);
    return result;
}

/* For everything in the context, NULL being the current one. */
static CUresult settled(const sc_real *real, CUresult result, CUcontext context)
{
    if (sc_real_is_watched(real))
        sc_engine_waited((int)result, (sc_context)context);
    return result;
}

CUresult cuCtxSynchronize(void)
{
    const sc_real *real = sc_real_find();

    return settled(real, real->cuCtxSynchronize(), NULL);
}

CUresult cuCtxSynchronize_v2(CUcontext context)
{
    const sc_real *real = sc_real_find();

    return settled(real, real->cuCtxSynchronize_v2(context), context);
}

CUresult cuStreamSynchronize(CUstream stream)
{
    const sc_real *real = sc_real_find();

    return waited(real, real->cuStreamSynchronize(stream));
}

CUresult cuStreamSynchronize_ptsz(CUstream stream)
{
    const sc_real *real = sc_real_find();

    return waited(real, real->cuStreamSynchronize_ptsz(stream));
}

CUresult cuEventSynchronize(CUevent event)
{
    const sc_real *real = sc_real_find();

    return waited(real, real->cuEventSynchronize(event));
}

/* Questions. */

CUresult cuStreamQuery(CUstream stream)
{
    const sc_real *real = sc_real_find();

    return waited(real, real->cuStreamQuery(stream));
}

CUresult cuStreamQuery_ptsz(CUstream stream)
{
    const sc_real *real = sc_real_find();

    return waited(real, real->cuStreamQuery_ptsz(stream));
}

CUresult cuEventQuery(CUevent event)
{
    const sc_real *real = sc_real_find();

    return waited(real, real->cuEventQuery(event));
}

/* Copies that wait. */

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    const sc_real *real = sc_real_find();

    return waited(real, real->cuMemcpy(to, from, bytes));
}

CUresult cuMemcpy_ptds(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    const sc_real *real = sc_real_find();

    return waited(real, real->cuMemcpy_ptds(to, from, bytes));
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes)
{
    const sc_real *real = sc_real_find();

    return waited(real, real->cuMemcpyHtoD_v2(to, from, bytes));
}

CUresult cuMemcpyHtoD_v2_ptds(CUdeviceptr to, const void *from, size_t bytes)
{
    const sc_real *real = sc_real_find();

    return waited(real, real->cuMemcpyHtoD_v2_ptds(to, from, bytes));
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes)
{
    const sc_real *real = sc_real_find();

    return waited(real, real->cuMemcpyDtoH_v2(to, from, bytes));
}

CUresult cuMemcpyDtoH_v2_ptds(void *to, CUdeviceptr from, size_t bytes)
{
    const sc_real *real = sc_real_find();

    return waited(real, real->cuMemcpyDtoH_v2_ptds(to, from, bytes));
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *copy)
{
    const sc_real *real = sc_real_find();

    return waited(real, real->cuMemcpy2D_v2(copy));
}

CUresult cuMemcpy2D_v2_ptds(const CUDA_MEMCPY2D *copy)
{
    const sc_real *real = sc_real_find();

    return waited(real, real->cuMemcpy2D_v2_ptds(copy));
}

CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *copy)
{
    const sc_real *real = sc_real_find();

    return waited(real, real->cuMemcpy2DUnaligned_v2(copy));
}

CUresult cuMemcpy2DUnaligned_v2_ptds(const CUDA_MEMCPY2D *copy)
{
    const sc_real *real = sc_real_find();

    return waited(real, real->cuMemcpy2DUnaligned_v2_ptds(copy));
}

CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *copy)
{
    const sc_real *real = sc_real_find();

    return waited(real, real->cuMemcpy3D_v2(copy));
}

CUresult cuMemcpy3D_v2_ptds(const CUDA_MEMCPY3D *copy)
{
    const sc_real *real = sc_real_find();

    return waited(real, real->cuMemcpy3D_v2_ptds(copy));
}
