/* SPDX-License-Identifier: MIT
 * box_api.c - copies of two and three dimensions in the driver API.
 *
 * Arrays are not modelled, so a copy from or to one is answered with "not supported". */
#include "context.h"
#include "copy.h"
#include "memory.h"

/* What a caller says of one end. */
struct box_end {
    CUmemorytype type;
    const void *host;
    CUdeviceptr device;
    size_t x, y, z, lod;
    size_t pitch, height; /* 0: as the box itself */
    CUcontext context;    /* of a copy between peers */
};

struct box {
    struct box_end to, from;
    size_t width, height, depth;
    bool peers;
};

/* Sizes and offsets that no memory has, and whose sums and products would overflow. */
static bool is_absurd(const struct box_end *end, const struct box *box)
{
    const size_t most = (size_t)1 << 46;
    size_t bytes = 0;

    return end->x > most || box->width > most || end->pitch > most || end->y > most ||
           box->height > most || end->height > most || end->z > most || box->depth > most ||
           __builtin_mul_overflow(end->pitch + end->x + box->width,
                                  end->height + end->y + box->height, &bytes) ||
           __builtin_mul_overflow(bytes, end->z + box->depth, &bytes);
}

/* Where the box begins at one end, and how it lies there. */
static CUresult resolve(const struct box_end *end, const struct box *box, struct sim_end *out)
{
    size_t pitch = end->pitch > 0 ? end->pitch : end->x + box->width;
    size_t height = end->height > 0 ? end->height : end->y + box->height;
    uintptr_t base = (uintptr_t)end->device;

    if (end->type == CU_MEMORYTYPE_ARRAY)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (box->peers && !sim_context_find(end->context))
        return CUDA_ERROR_INVALID_CONTEXT;
    if (is_absurd(end, box))
        return CUDA_ERROR_INVALID_VALUE;
    if (end->type == CU_MEMORYTYPE_HOST)
        base = (uintptr_t)end->host;
    else if (end->type != CU_MEMORYTYPE_DEVICE && end->type != CU_MEMORYTYPE_UNIFIED)
        return CUDA_ERROR_INVALID_VALUE;
    if (end->lod != 0 || pitch < end->x + box->width || height < end->y + box->height ||
        !sim_copy_end_valid(base, end->type == CU_MEMORYTYPE_DEVICE))
        return CUDA_ERROR_INVALID_VALUE;
    *out =
        (struct sim_end){base + (end->z * height + end->y) * pitch + end->x, pitch, pitch * height};
    return CUDA_SUCCESS;
}

/* `what` has everything but the ends and the size. */
static CUresult copy(const struct box *box, struct sim_copy what)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(what.call, &context);

    if (status != CUDA_SUCCESS)
        return status;
    if (!box)
        return CUDA_ERROR_INVALID_VALUE;
    if (box->width == 0 || box->height == 0 || box->depth == 0)
        return CUDA_SUCCESS;
    status = resolve(&box->to, box, &what.to);
    if (status == CUDA_SUCCESS)
        status = resolve(&box->from, box, &what.from);
    if (status != CUDA_SUCCESS)
        return status;
    what.width = box->width;
    what.height = box->height;
    what.depth = box->depth;
    return sim_copy(context, &what);
}

static struct box box_2d(const CUDA_MEMCPY2D *call)
{
    return (struct box){.to = {.type = call->dstMemoryType,
                               .host = call->dstHost,
                               .device = call->dstDevice,
                               .x = call->dstXInBytes,
                               .y = call->dstY,
                               .pitch = call->dstPitch},
                        .from = {.type = call->srcMemoryType,
                                 .host = call->srcHost,
                                 .device = call->srcDevice,
                                 .x = call->srcXInBytes,
                                 .y = call->srcY,
                                 .pitch = call->srcPitch},
                        .width = call->WidthInBytes,
                        .height = call->Height,
                        .depth = 1};
}

/* The two structs of three dimensions share these names. */
#define BOX_3D(call)                                                                               \
    (struct box)                                                                                   \
    {                                                                                              \
        .to = {.type = (call)->dstMemoryType,                                                      \
               .host = (call)->dstHost,                                                            \
               .device = (call)->dstDevice,                                                        \
               .x = (call)->dstXInBytes,                                                           \
               .y = (call)->dstY,                                                                  \
               .z = (call)->dstZ,                                                                  \
               .lod = (call)->dstLOD,                                                              \
               .pitch = (call)->dstPitch,                                                          \
               .height = (call)->dstHeight},                                                       \
        .from = {.type = (call)->srcMemoryType,                                                    \
                 .host = (call)->srcHost,                                                          \
                 .device = (call)->srcDevice,                                                      \
                 .x = (call)->srcXInBytes,                                                         \
                 .y = (call)->srcY,                                                                \
                 .z = (call)->srcZ,                                                                \
                 .lod = (call)->srcLOD,                                                            \
                 .pitch = (call)->srcPitch,                                                        \
                 .height = (call)->srcHeight},                                                     \
        .width = (call)->WidthInBytes, .height = (call)->Height, .depth = (call)->Depth            \
    }

static struct box box_3d(const CUDA_MEMCPY3D *call)
{
    return BOX_3D(call);
}

static struct box box_peer(const CUDA_MEMCPY3D_PEER *call)
{
    struct box box = BOX_3D(call);

    box.to.context = call->dstContext;
    box.from.context = call->srcContext;
    box.peers = true;
    return box;
}

#define COPY(function, make, ...)                                                                  \
    {                                                                                              \
        struct box box = {0};                                                                      \
                                                                                                   \
        if (pCopy)                                                                                 \
            box = make(pCopy);                                                                     \
        return copy(pCopy ? &box : NULL, (struct sim_copy){.call = CALL_##function, __VA_ARGS__}); \
    }

#define SYNC(function, type, make, ...)                                                            \
    CUresult function(const type *pCopy) COPY(function, make, .per_thread = false, __VA_ARGS__)    \
        CUresult function##_ptds(const type *pCopy)                                                \
            COPY(function##_ptds, make, .per_thread = true, __VA_ARGS__)

#define ASYNC(function, type, make)                                                                \
    CUresult function(const type *pCopy, CUstream hStream)                                         \
        COPY(function, make, .stream = hStream, .per_thread = false, .async = true)                \
            CUresult function##_ptsz(const type *pCopy, CUstream hStream)                          \
                COPY(function##_ptsz, make, .stream = hStream, .per_thread = true, .async = true)

SYNC(cuMemcpy2D_v2, CUDA_MEMCPY2D, box_2d, .finish = false)
SYNC(cuMemcpy2DUnaligned_v2, CUDA_MEMCPY2D, box_2d, .finish = false)
SYNC(cuMemcpy3D_v2, CUDA_MEMCPY3D, box_3d, .finish = false)
SYNC(cuMemcpy3DPeer, CUDA_MEMCPY3D_PEER, box_peer, .finish = true)
ASYNC(cuMemcpy2DAsync_v2, CUDA_MEMCPY2D, box_2d)
ASYNC(cuMemcpy3DAsync_v2, CUDA_MEMCPY3D, box_3d)
ASYNC(cuMemcpy3DPeerAsync, CUDA_MEMCPY3D_PEER, box_peer)
