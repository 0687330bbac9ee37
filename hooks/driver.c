/* SPDX-License-Identifier: MIT
 * driver.c - hooks on memory and exports.
 *
 * Each makes the program's call, or lets the engine make it, and answers with the driver's own
 * number. While the engine itself is calling, or there is none, a hook is the real function. */
#include "engine/engine.h"
#include "real.h"

/* Allocation and free: the engine serves them. */

static CUresult alloc(CUdeviceptr *address, size_t bytes, const void *caller)
{
    const sc_real *real = sc_real_find();
    sc_address given = 0;
    int result;

    if (!sc_real_is_watched(real) || address == NULL || bytes == 0)
        return real->cuMemAlloc_v2(address, bytes);
    result = sc_engine_alloc(&given, bytes, caller);
    if (result == SC_CUDA_SUCCESS)
        *address = given;
    return (CUresult)result;
}

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes)
{
    sc_engine_door(SC_DOOR_ELF);
    return alloc(address, bytes, __builtin_return_address(0));
}

CUresult sc_found_cuMemAlloc_v2(CUdeviceptr *address, size_t bytes)
{
    return alloc(address, bytes, __builtin_return_address(0));
}

CUresult cuMemFree_v2(CUdeviceptr address)
{
    const sc_real *real = sc_real_find();

    if (!sc_real_is_watched(real) || address == 0)
        return real->cuMemFree_v2(address);
    return (CUresult)sc_engine_free(address);
}

static const sc_real *frees(CUdeviceptr address)
{
    const sc_real *real = sc_real_find();

    if (sc_real_is_watched(real))
        sc_engine_frees_elsewhere(address);
    return real;
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream)
{
    return frees(address)->cuMemFreeAsync(address, stream);
}

CUresult cuMemFreeAsync_ptsz(CUdeviceptr address, CUstream stream)
{
    return frees(address)->cuMemFreeAsync_ptsz(address, stream);
}

/* Exports. */

static CUresult exported(const sc_real *real, CUdeviceptr address, CUresult result)
{
    if (result == CUDA_SUCCESS && sc_real_is_watched(real))
        sc_engine_exported(address);
    return result;
}

CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr address)
{
    const sc_real *real = sc_real_find();

    return exported(real, address, real->cuIpcGetMemHandle(handle, address));
}

CUresult cuMemGetHandleForAddressRange(void *handle, CUdeviceptr address, size_t bytes,
                                       CUmemRangeHandleType type, unsigned long long flags)
{
    const sc_real *real = sc_real_find();

    return exported(real, address,
                    real->cuMemGetHandleForAddressRange(handle, address, bytes, type, flags));
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr address)
{
    const sc_real *real = sc_real_find();
    const CUresult result = real->cuPointerGetAttribute(data, attribute, address);

    return attribute == CU_POINTER_ATTRIBUTE_P2P_TOKENS ? exported(real, address, result) : result;
}

CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute,
                               CUdeviceptr address)
{
    const sc_real *real = sc_real_find();
    const CUresult result = real->cuPointerSetAttribute(value, attribute, address);

    return attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS ? exported(real, address, result) : result;
}

/* Other allocators: what we keep idle must not be what they lack. */

static bool made_room(const sc_real *real, CUresult result)
{
    if (result == CUDA_SUCCESS)
        sc_engine_granted();
    return result == CUDA_ERROR_OUT_OF_MEMORY && sc_real_is_watched(real) && sc_engine_make_room();
}

CUresult cuMemAllocAsync(CUdeviceptr *address, size_t bytes, CUstream stream)
{
    const sc_real *real = sc_real_find();
    const CUresult result = real->cuMemAllocAsync(address, bytes, stream);

    return made_room(real, result) ? real->cuMemAllocAsync(address, bytes, stream) : result;
}

CUresult cuMemAllocAsync_ptsz(CUdeviceptr *address, size_t bytes, CUstream stream)
{
    const sc_real *real = sc_real_find();
    const CUresult result = real->cuMemAllocAsync_ptsz(address, bytes, stream);

    return made_room(real, result) ? real->cuMemAllocAsync_ptsz(address, bytes, stream) : result;
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t bytes, CUmemoryPool pool,
                                 CUstream stream)
{
    const sc_real *real = sc_real_find();
    const CUresult result = real->cuMemAllocFromPoolAsync(address, bytes, pool, stream);

    return made_room(real, result) ? real->cuMemAllocFromPoolAsync(address, bytes, pool, stream)
                                   : result;
}

CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *address, size_t bytes, CUmemoryPool pool,
                                      CUstream stream)
{
    const sc_real *real = sc_real_find();
    const CUresult result = real->cuMemAllocFromPoolAsync_ptsz(address, bytes, pool, stream);

    return made_room(real, result)
               ? real->cuMemAllocFromPoolAsync_ptsz(address, bytes, pool, stream)
               : result;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes,
                     const CUmemAllocationProp *properties, unsigned long long flags)
{
    const sc_real *real = sc_real_find();
    const CUresult result = real->cuMemCreate(handle, bytes, properties, flags);

    return made_room(real, result) ? real->cuMemCreate(handle, bytes, properties, flags) : result;
}

CUresult cuMemAllocManaged(CUdeviceptr *address, size_t bytes, unsigned int flags)
{
    const sc_real *real = sc_real_find();
    const CUresult result = real->cuMemAllocManaged(address, bytes, flags);

    return made_room(real, result) ? real->cuMemAllocManaged(address, bytes, flags) : result;
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *address, size_t *pitch, size_t width, size_t height,
                            unsigned int element)
{
    const sc_real *real = sc_real_find();
    const CUresult result = real->cuMemAllocPitch_v2(address, pitch, width, height, element);

    return made_room(real, result)
               ? real->cuMemAllocPitch_v2(address, pitch, width, height, element)
               : result;
}

CUresult cuArrayCreate_v2(CUarray *array, const CUDA_ARRAY_DESCRIPTOR *description)
{
    const sc_real *real = sc_real_find();
    const CUresult result = real->cuArrayCreate_v2(array, description);

    return made_room(real, result) ? real->cuArrayCreate_v2(array, description) : result;
}

CUresult cuArray3DCreate_v2(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *description)
{
    const sc_real *real = sc_real_find();
    const CUresult result = real->cuArray3DCreate_v2(array, description);

    return made_room(real, result) ? real->cuArray3DCreate_v2(array, description) : result;
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray *array, const CUDA_ARRAY3D_DESCRIPTOR *description,
                                unsigned int levels)
{
    const sc_real *real = sc_real_find();
    const CUresult result = real->cuMipmappedArrayCreate(array, description, levels);

    return made_room(real, result) ? real->cuMipmappedArrayCreate(array, description, levels)
                                   : result;
}
