/* SPDX-License-Identifier: MIT
 * memset_api.c - memory fills of the driver API.
 *
 * Also the functions without "Async" return before the bytes are set, unless these are pinned host
 * memory or said to synchronise: so CUDA documents it. */
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "copy.h"
#include "memory.h"
#include "pointer.h"
#include "stream.h"

struct fill_op {
    struct sim_op op;
    enum sim_call call;
    uintptr_t to;
    size_t pitch; /* bytes from row to row */
    uint32_t value;
    size_t size;          /* of one element, in bytes */
    size_t width, height; /* elements, rows */
    struct sim_touch touch;
};

static void fill_row(const struct fill_op *fill, uintptr_t at)
{
    if (fill->size == 1) {
        memset(sim_pointer(at), (int)fill->value, fill->width);
    } else if (fill->size == 2) {
        uint16_t *to = sim_pointer(at);

        for (size_t i = 0; i < fill->width; i++)
            to[i] = (uint16_t)fill->value;
    } else {
        uint32_t *to = sim_pointer(at);

        for (size_t i = 0; i < fill->width; i++)
            to[i] = fill->value;
    }
}

static void run_fill(struct sim_op *op, const struct sim_claim *claims)
{
    const struct fill_op *fill = (const struct fill_op *)op;

    (void)claims;
    for (size_t y = 0; y < fill->height; y++)
        fill_row(fill, fill->to + y * fill->pitch);
}

static void release_fill(struct sim_op *op)
{
    free(op);
}

/* Rows do not overlap, elements lie where theirs may, and no size overflows. */
static bool is_valid(const struct fill_op *fill)
{
    size_t bytes;

    if (!sim_memory_plausible(fill->to) || fill->to % fill->size != 0 ||
        __builtin_mul_overflow(fill->width, fill->size, &bytes))
        return false;
    if (fill->height == 1)
        return true;
    return fill->pitch >= bytes && fill->pitch % fill->size == 0 &&
           !__builtin_mul_overflow(fill->pitch, fill->height, &bytes);
}

static CUresult fill(const struct fill_op *what, CUstream stream, bool per_thread, bool async)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(what->call, &context);
    struct sim_end end = {.address = what->to, .pitch = what->pitch};
    struct fill_op *copy;

    if (status != CUDA_SUCCESS || what->width == 0 || what->height == 0)
        return status;
    if (!is_valid(what))
        return CUDA_ERROR_INVALID_VALUE;
    copy = malloc(sizeof *copy);
    if (!copy)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *copy = *what;
    copy->touch = (struct sim_touch){
        what->to, sim_box_extent(&end, what->width * what->size, what->height, 1), true};
    copy->op = (struct sim_op){.run = run_fill,
                               .release = release_fill,
                               .node = CU_GRAPH_NODE_TYPE_MEMSET,
                               .immediate = !async,
                               .what = sim_calls_name(what->call),
                               .touches = &copy->touch,
                               .touch_count = 1};
    return sim_enqueue(context, stream, per_thread, &copy->op,
                       !async &&
                           (!sim_memory_on_device(what->to) || sim_memory_synchronises(what->to)));
}

#define ROW(function, bytes)                                                                       \
    &(struct fill_op)                                                                              \
    {                                                                                              \
        .call = CALL_##function, .to = (uintptr_t)dstDevice, .value = value, .size = (bytes),      \
        .width = N, .height = 1                                                                    \
    }

#define ROWS(function, bytes)                                                                      \
    &(struct fill_op)                                                                              \
    {                                                                                              \
        .call = CALL_##function, .to = (uintptr_t)dstDevice, .pitch = dstPitch, .value = value,    \
        .size = (bytes), .width = Width, .height = Height                                          \
    }

#define FILL(function, type, bytes)                                                                \
    CUresult function##_v2(CUdeviceptr dstDevice, type value, size_t N)                            \
    {                                                                                              \
        return fill(ROW(function##_v2, bytes), NULL, false, false);                                \
    }                                                                                              \
    CUresult function##_v2_ptds(CUdeviceptr dstDevice, type value, size_t N)                       \
    {                                                                                              \
        return fill(ROW(function##_v2_ptds, bytes), NULL, true, false);                            \
    }                                                                                              \
    CUresult function##Async(CUdeviceptr dstDevice, type value, size_t N, CUstream hStream)        \
    {                                                                                              \
        return fill(ROW(function##Async, bytes), hStream, false, true);                            \
    }                                                                                              \
    CUresult function##Async_ptsz(CUdeviceptr dstDevice, type value, size_t N, CUstream hStream)   \
    {                                                                                              \
        return fill(ROW(function##Async_ptsz, bytes), hStream, true, true);                        \
    }

#define FILL_2D(function, type, bytes)                                                             \
    CUresult function##_v2(CUdeviceptr dstDevice, size_t dstPitch, type value, size_t Width,       \
                           size_t Height)                                                          \
    {                                                                                              \
        return fill(ROWS(function##_v2, bytes), NULL, false, false);                               \
    }                                                                                              \
    CUresult function##_v2_ptds(CUdeviceptr dstDevice, size_t dstPitch, type value, size_t Width,  \
                                size_t Height)                                                     \
    {                                                                                              \
        return fill(ROWS(function##_v2_ptds, bytes), NULL, true, false);                           \
    }                                                                                              \
    CUresult function##Async(CUdeviceptr dstDevice, size_t dstPitch, type value, size_t Width,     \
                             size_t Height, CUstream hStream)                                      \
    {                                                                                              \
        return fill(ROWS(function##Async, bytes), hStream, false, true);                           \
    }                                                                                              \
    CUresult function##Async_ptsz(CUdeviceptr dstDevice, size_t dstPitch, type value,              \
                                  size_t Width, size_t Height, CUstream hStream)                   \
    {                                                                                              \
        return fill(ROWS(function##Async_ptsz, bytes), hStream, true, true);                       \
    }

FILL(cuMemsetD8, unsigned char, 1)
FILL(cuMemsetD16, unsigned short, 2)
FILL(cuMemsetD32, unsigned int, 4)
FILL_2D(cuMemsetD2D8, unsigned char, 1)
FILL_2D(cuMemsetD2D16, unsigned short, 2)
FILL_2D(cuMemsetD2D32, unsigned int, 4)
