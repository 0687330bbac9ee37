/* SPDX-License-Identifier: MIT
 * box.c - copies and memsets of two and three dimensions. Compiled twice (call.h). */
#include "copy.h"
#include "device.h"

/* The types that a kind names; cudaMemcpyDefault leaves it to the addresses. */
static CUmemorytype type_to(enum cudaMemcpyKind kind)
{
    if (kind == cudaMemcpyDefault)
        return CU_MEMORYTYPE_UNIFIED;
    return kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice ? CU_MEMORYTYPE_DEVICE
                                                                              : CU_MEMORYTYPE_HOST;
}

static CUmemorytype type_from(enum cudaMemcpyKind kind)
{
    if (kind == cudaMemcpyDefault)
        return CU_MEMORYTYPE_UNIFIED;
    return kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice ? CU_MEMORYTYPE_DEVICE
                                                                              : CU_MEMORYTYPE_HOST;
}

typedef struct rows {
    void *to;
    const void *from;
    size_t to_pitch, from_pitch, width, height;
    enum cudaMemcpyKind kind;
} rows;

/* Fills *copy; false: there is nothing to copy, or *error says why it cannot be. */
static bool prepare_2d(const rows *call, CUDA_MEMCPY2D *copy, cudaError_t *error)
{
    *error = simrt_copy_check(call->kind);
    if (*error != cudaSuccess || call->width == 0 || call->height == 0)
        return false;
    if (call->width > call->to_pitch || call->width > call->from_pitch) {
        *error = cudaErrorInvalidPitchValue;
        return false;
    }
    *copy = (CUDA_MEMCPY2D){.srcMemoryType = type_from(call->kind),
                            .srcHost = call->from,
                            .srcDevice = simrt_address(call->from),
                            .srcPitch = call->from_pitch,
                            .dstMemoryType = type_to(call->kind),
                            .dstHost = call->to,
                            .dstDevice = simrt_address(call->to),
                            .dstPitch = call->to_pitch,
                            .WidthInBytes = call->width,
                            .Height = call->height};
    return true;
}

SIMRT_API cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                                   size_t width, size_t height, enum cudaMemcpyKind kind)
{
    cudaError_t error = simrt_enter(SIMRT_CALL(cudaMemcpy2D), SIMRT_CONTEXT);
    rows call = {to, from, to_pitch, from_pitch, width, height, kind};
    CUDA_MEMCPY2D copy;

    if (error == cudaSuccess && prepare_2d(&call, &copy, &error))
        error = simrt_error(SIMRT_DRIVER.cuMemcpy2DUnaligned(&copy));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from,
                                        size_t from_pitch, size_t width, size_t height,
                                        enum cudaMemcpyKind kind, cudaStream_t stream)
{
    cudaError_t error = simrt_enter(SIMRT_CALL(cudaMemcpy2DAsync), SIMRT_CONTEXT);
    rows call = {to, from, to_pitch, from_pitch, width, height, kind};
    CUDA_MEMCPY2D copy;

    if (error == cudaSuccess && prepare_2d(&call, &copy, &error))
        error = simrt_error(SIMRT_DRIVER.cuMemcpy2DAsync(&copy, stream));
    return simrt_leave(error);
}

/* Without arrays an element is a byte. */
static bool prepare_3d(const struct cudaMemcpy3DParms *call, CUDA_MEMCPY3D *copy,
                       cudaError_t *error)
{
    *error = call == NULL ? cudaErrorInvalidValue : simrt_copy_check(call->kind);
    if (*error != cudaSuccess)
        return false;
    *copy = (CUDA_MEMCPY3D){
        .srcXInBytes = call->srcPos.x,
        .srcY = call->srcPos.y,
        .srcZ = call->srcPos.z,
        .srcMemoryType = call->srcArray ? CU_MEMORYTYPE_ARRAY : type_from(call->kind),
        .srcHost = call->srcPtr.ptr,
        .srcDevice = simrt_address(call->srcPtr.ptr),
        .srcPitch = call->srcPtr.pitch,
        .srcHeight = call->srcPtr.ysize,
        .dstXInBytes = call->dstPos.x,
        .dstY = call->dstPos.y,
        .dstZ = call->dstPos.z,
        .dstMemoryType = call->dstArray ? CU_MEMORYTYPE_ARRAY : type_to(call->kind),
        .dstHost = call->dstPtr.ptr,
        .dstDevice = simrt_address(call->dstPtr.ptr),
        .dstPitch = call->dstPtr.pitch,
        .dstHeight = call->dstPtr.ysize,
        .WidthInBytes = call->extent.width,
        .Height = call->extent.height,
        .Depth = call->extent.depth,
    };
    return true;
}

SIMRT_API cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *call)
{
    cudaError_t error = simrt_enter(SIMRT_CALL(cudaMemcpy3D), SIMRT_CONTEXT);
    CUDA_MEMCPY3D copy;

    if (error == cudaSuccess && prepare_3d(call, &copy, &error))
        error = simrt_error(SIMRT_DRIVER.cuMemcpy3D(&copy));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *call, cudaStream_t stream)
{
    cudaError_t error = simrt_enter(SIMRT_CALL(cudaMemcpy3DAsync), SIMRT_CONTEXT);
    CUDA_MEMCPY3D copy;

    if (error == cudaSuccess && prepare_3d(call, &copy, &error))
        error = simrt_error(SIMRT_DRIVER.cuMemcpy3DAsync(&copy, stream));
    return simrt_leave(error);
}

static bool prepare_peer(const struct cudaMemcpy3DPeerParms *call, CUDA_MEMCPY3D_PEER *copy,
                         cudaError_t *error)
{
    CUcontext to = NULL;
    CUcontext from = NULL;

    *error = call == NULL ? cudaErrorInvalidValue : simrt_device_context(call->dstDevice, &to);
    if (*error == cudaSuccess)
        *error = simrt_device_context(call->srcDevice, &from);
    if (*error != cudaSuccess)
        return false;
    *copy = (CUDA_MEMCPY3D_PEER){
        .srcXInBytes = call->srcPos.x,
        .srcY = call->srcPos.y,
        .srcZ = call->srcPos.z,
        .srcMemoryType = call->srcArray ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_UNIFIED,
        .srcDevice = simrt_address(call->srcPtr.ptr),
        .srcContext = from,
        .srcPitch = call->srcPtr.pitch,
        .srcHeight = call->srcPtr.ysize,
        .dstXInBytes = call->dstPos.x,
        .dstY = call->dstPos.y,
        .dstZ = call->dstPos.z,
        .dstMemoryType = call->dstArray ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_UNIFIED,
        .dstDevice = simrt_address(call->dstPtr.ptr),
        .dstContext = to,
        .dstPitch = call->dstPtr.pitch,
        .dstHeight = call->dstPtr.ysize,
        .WidthInBytes = call->extent.width,
        .Height = call->extent.height,
        .Depth = call->extent.depth,
    };
    return true;
}

SIMRT_API cudaError_t cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms *call)
{
    cudaError_t error = simrt_enter(SIMRT_CALL(cudaMemcpy3DPeer), SIMRT_CONTEXT);
    CUDA_MEMCPY3D_PEER copy;

    if (error == cudaSuccess && prepare_peer(call, &copy, &error))
        error = simrt_error(SIMRT_DRIVER.cuMemcpy3DPeer(&copy));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms *call,
                                            cudaStream_t stream)
{
    cudaError_t error = simrt_enter(SIMRT_CALL(cudaMemcpy3DPeerAsync), SIMRT_CONTEXT);
    CUDA_MEMCPY3D_PEER copy;

    if (error == cudaSuccess && prepare_peer(call, &copy, &error))
        error = simrt_error(SIMRT_DRIVER.cuMemcpy3DPeerAsync(&copy, stream));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaMemset2D(void *pointer, size_t pitch, int value, size_t width,
                                   size_t height)
{
    cudaError_t error = simrt_enter(SIMRT_CALL(cudaMemset2D), SIMRT_CONTEXT);

    if (error == cudaSuccess && width > 0 && height > 0)
        error = simrt_error(SIMRT_DRIVER.cuMemsetD2D8(simrt_address(pointer), pitch,
                                                      (unsigned char)value, width, height));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaMemset2DAsync(void *pointer, size_t pitch, int value, size_t width,
                                        size_t height, cudaStream_t stream)
{
    cudaError_t error = simrt_enter(SIMRT_CALL(cudaMemset2DAsync), SIMRT_CONTEXT);

    if (error == cudaSuccess && width > 0 && height > 0)
        error = simrt_error(SIMRT_DRIVER.cuMemsetD2D8Async(
            simrt_address(pointer), pitch, (unsigned char)value, width, height, stream));
    return simrt_leave(error);
}

/* Slice by slice; the driver has no fill of three dimensions. stream: NULL for the synchronous. */
static cudaError_t set_slices(const struct cudaPitchedPtr *to, int value,
                              const struct cudaExtent *extent, const cudaStream_t *stream)
{
    CUresult result = CUDA_SUCCESS;

    if (extent->width == 0 || extent->height == 0)
        return cudaSuccess;
    for (size_t z = 0; z < extent->depth && result == CUDA_SUCCESS; z++) {
        CUdeviceptr slice = simrt_address(to->ptr) + z * to->ysize * to->pitch;
        unsigned char byte = (unsigned char)value;

        result = stream ? SIMRT_DRIVER.cuMemsetD2D8Async(slice, to->pitch, byte, extent->width,
                                                         extent->height, *stream)
                        : SIMRT_DRIVER.cuMemsetD2D8(slice, to->pitch, byte, extent->width,
                                                    extent->height);
    }
    return simrt_error(result);
}

SIMRT_API cudaError_t cudaMemset3D(struct cudaPitchedPtr to, int value, struct cudaExtent extent)
{
    cudaError_t error = simrt_enter(SIMRT_CALL(cudaMemset3D), SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = set_slices(&to, value, &extent, NULL);
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr to, int value,
                                        struct cudaExtent extent, cudaStream_t stream)
{
    cudaError_t error = simrt_enter(SIMRT_CALL(cudaMemset3DAsync), SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = set_slices(&to, value, &extent, &stream);
    return simrt_leave(error);
}
