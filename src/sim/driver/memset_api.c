/* SPDX-License-Identifier: MIT
 * memset_api.c - memory fills of the driver API.
 *
 * Also the functions without "Async" return before the bytes are set, unless these are pinned host
 * memory: so CUDA documents it. */
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "memory.h"
#include "pointer.h"
#include "stream.h"

struct fill_op {
    struct sim_op op;
    enum sim_call call;
    uintptr_t to;
    uint32_t value;
    size_t width; /* of one element, in bytes */
    size_t count;
};

static void run_fill(struct sim_op *op)
{
    const struct fill_op *fill = (const struct fill_op *)op;

    if (!sim_memory_check(sim_calls_name(fill->call), true, fill->to, fill->count * fill->width))
        return;
    if (fill->width == 1) {
        memset(sim_pointer(fill->to), (int)fill->value, fill->count);
    } else if (fill->width == 2) {
        uint16_t *to = sim_pointer(fill->to);

        for (size_t i = 0; i < fill->count; i++)
            to[i] = (uint16_t)fill->value;
    } else {
        uint32_t *to = sim_pointer(fill->to);

        for (size_t i = 0; i < fill->count; i++)
            to[i] = fill->value;
    }
}

static void release_fill(struct sim_op *op)
{
    free(op);
}

static CUresult fill(const struct fill_op *what, CUstream stream, bool per_thread, bool async)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(what->call, &context);
    struct fill_op *copy;

    if (status != CUDA_SUCCESS || what->count == 0)
        return status;
    if (!sim_memory_plausible(what->to) || what->to % what->width != 0 ||
        what->count > SIZE_MAX / what->width)
        return CUDA_ERROR_INVALID_VALUE;
    copy = malloc(sizeof *copy);
    if (!copy)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *copy = *what;
    copy->op = (struct sim_op){.run = run_fill, .release = release_fill};
    return sim_enqueue(context, stream, per_thread, &copy->op,
                       !async && !sim_memory_on_device(what->to));
}

#define WHAT(function, size)                                                                       \
    &(struct fill_op)                                                                              \
    {                                                                                              \
        .call = CALL_##function, .to = (uintptr_t)dstDevice, .value = value, .width = (size),      \
        .count = N                                                                                 \
    }

#define FILL(function, type, size)                                                                 \
    CUresult function##_v2(CUdeviceptr dstDevice, type value, size_t N)                            \
    {                                                                                              \
        return fill(WHAT(function##_v2, size), NULL, false, false);                                \
    }                                                                                              \
    CUresult function##_v2_ptds(CUdeviceptr dstDevice, type value, size_t N)                       \
    {                                                                                              \
        return fill(WHAT(function##_v2_ptds, size), NULL, true, false);                            \
    }                                                                                              \
    CUresult function##Async(CUdeviceptr dstDevice, type value, size_t N, CUstream hStream)        \
    {                                                                                              \
        return fill(WHAT(function##Async, size), hStream, false, true);                            \
    }                                                                                              \
    CUresult function##Async_ptsz(CUdeviceptr dstDevice, type value, size_t N, CUstream hStream)   \
    {                                                                                              \
        return fill(WHAT(function##Async_ptsz, size), hStream, true, true);                        \
    }

FILL(cuMemsetD8, unsigned char, 1)
FILL(cuMemsetD16, unsigned short, 2)
FILL(cuMemsetD32, unsigned int, 4)
