/* SPDX-License-Identifier: MIT
 * copy_api.c - memory copies of the driver API.
 *
 * The bytes move when the stream gets there. What the host waits for is what CUDA documents ("API
 * synchronization behavior"): a synchronous copy waits unless both ends are device memory; an
 * asynchronous one from pageable memory is staged first, so that the source may change at once; one
 * to pageable memory, or from host to host, returns when it is done. */
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "memory.h"
#include "pointer.h"
#include "stream.h"

struct copy_op {
    struct sim_op op;
    enum sim_call call;
    uintptr_t to, from; /* from: the staged bytes, where there are some */
    size_t bytes;
    unsigned char staged[];
};

enum end { END_ANY, END_DEVICE }; /* what the function's parameter must be */

struct copy_call {
    enum sim_call call;
    uintptr_t to, from;
    size_t bytes;
    enum end to_end, from_end;
    CUstream stream;
    bool per_thread;
    bool async;
};

static void run_copy(struct sim_op *op)
{
    struct copy_op *copy = (struct copy_op *)op;
    const char *name = sim_calls_name(copy->call);
    bool readable = sim_memory_check(name, false, copy->from, copy->bytes);

    if (sim_memory_check(name, true, copy->to, copy->bytes) && readable)
        memmove(sim_pointer(copy->to), sim_pointer(copy->from), copy->bytes);
}

static void release_copy(struct sim_op *op)
{
    free(op);
}

static struct sim_op *new_copy(const struct copy_call *call, bool stage)
{
    struct copy_op *copy = malloc(sizeof *copy + (stage ? call->bytes : 0));

    if (!copy)
        return NULL;
    copy->op = (struct sim_op){.run = run_copy, .release = release_copy};
    copy->call = call->call;
    copy->to = call->to;
    copy->from = call->from;
    copy->bytes = call->bytes;
    if (stage) {
        memcpy(copy->staged, sim_pointer(call->from), call->bytes);
        copy->from = (uintptr_t)copy->staged;
    }
    return &copy->op;
}

static bool end_valid(uintptr_t address, enum end end)
{
    return address != 0 && (end == END_ANY || sim_memory_plausible(address));
}

static CUresult copy(const struct copy_call *call)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(call->call, &context);
    bool to_device, from_device, stage, wait;

    if (status != CUDA_SUCCESS || call->bytes == 0)
        return status;
    if (!end_valid(call->to, call->to_end) || !end_valid(call->from, call->from_end))
        return CUDA_ERROR_INVALID_VALUE;
    to_device = sim_memory_on_device(call->to);
    from_device = sim_memory_on_device(call->from);
    stage = call->async && to_device && sim_memory_pageable(call->from);
    if (call->async)
        wait = !to_device && (!from_device || sim_memory_pageable(call->to));
    else
        wait = !to_device || !from_device;
    return sim_enqueue(context, call->stream, call->per_thread, new_copy(call, stage), wait);
}

#define SYNC(function, suffix, thread, to_type, to_kind, from_type, from_kind)                     \
    CUresult function##suffix(to_type to, from_type from, size_t ByteCount)                        \
    {                                                                                              \
        return copy(&(struct copy_call){.call = CALL_##function##suffix,                           \
                                        .to = (uintptr_t)to,                                       \
                                        .from = (uintptr_t)from,                                   \
                                        .bytes = ByteCount,                                        \
                                        .to_end = (to_kind),                                       \
                                        .from_end = (from_kind),                                   \
                                        .per_thread = (thread)});                                  \
    }

#define ASYNC(function, suffix, thread, to_type, to_kind, from_type, from_kind)                    \
    CUresult function##suffix(to_type to, from_type from, size_t ByteCount, CUstream hStream)      \
    {                                                                                              \
        return copy(&(struct copy_call){.call = CALL_##function##suffix,                           \
                                        .to = (uintptr_t)to,                                       \
                                        .from = (uintptr_t)from,                                   \
                                        .bytes = ByteCount,                                        \
                                        .to_end = (to_kind),                                       \
                                        .from_end = (from_kind),                                   \
                                        .stream = hStream,                                         \
                                        .per_thread = (thread),                                    \
                                        .async = true});                                           \
    }

#define BOTH_SYNC(function, ...)                                                                   \
    SYNC(function, , false, __VA_ARGS__)                                                           \
    SYNC(function, _ptds, true, __VA_ARGS__)
#define BOTH_ASYNC(function, ...)                                                                  \
    ASYNC(function, , false, __VA_ARGS__)                                                          \
    ASYNC(function, _ptsz, true, __VA_ARGS__)

BOTH_SYNC(cuMemcpy, CUdeviceptr, END_ANY, CUdeviceptr, END_ANY)
BOTH_SYNC(cuMemcpyHtoD_v2, CUdeviceptr, END_DEVICE, const void *, END_ANY)
BOTH_SYNC(cuMemcpyDtoH_v2, void *, END_ANY, CUdeviceptr, END_DEVICE)
BOTH_SYNC(cuMemcpyDtoD_v2, CUdeviceptr, END_DEVICE, CUdeviceptr, END_DEVICE)
BOTH_ASYNC(cuMemcpyAsync, CUdeviceptr, END_ANY, CUdeviceptr, END_ANY)
BOTH_ASYNC(cuMemcpyHtoDAsync_v2, CUdeviceptr, END_DEVICE, const void *, END_ANY)
BOTH_ASYNC(cuMemcpyDtoHAsync_v2, void *, END_ANY, CUdeviceptr, END_DEVICE)
BOTH_ASYNC(cuMemcpyDtoDAsync_v2, CUdeviceptr, END_DEVICE, CUdeviceptr, END_DEVICE)
