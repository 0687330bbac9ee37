/* SPDX-License-Identifier: MIT
 * async_api.c - allocation and freeing in stream order. */
#include "clock.h"
#include "context.h"
#include "device.h"
#include "graph_memory.h"
#include "lock.h"
#include "pool.h"
#include "settings.h"
#include "stream.h"

struct alloc_call {
    enum sim_call call;
    CUdeviceptr *out;
    size_t bytes;
    bool from_pool; /* `pool`, not the device's current one */
    CUmemoryPool pool;
    CUstream stream;
    bool per_thread;
};

static CUresult alloc_locked(struct sim_context *context, const struct alloc_call *call,
                             struct sim_given *given)
{
    struct sim_stream *stream;
    struct sim_pool *pool;
    CUresult status = sim_stream_find_locked(context, call->stream, call->per_thread, &stream);

    if (status != CUDA_SUCCESS)
        return status;
    pool = call->from_pool ? sim_pool_find_locked(call->pool)
                           : sim_pool_current_locked(stream->object.context->device);
    if (!pool)
        return call->from_pool ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
    if (stream->part.capture)
        return sim_graph_memory_alloc_locked(pool->device, stream, call->bytes, &given->address);
    return sim_pool_alloc_locked(pool, stream, call->bytes, given);
}

static CUresult alloc(const struct alloc_call *call)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(call->call, &context);
    struct sim_given given = {0};

    if (status != CUDA_SUCCESS)
        return status;
    if (!call->out || call->bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    status = alloc_locked(context, call, &given);
    sim_unlock();
    if (given.grown)
        sim_spend_ns(sim_settings()->malloc_ns);
    if (status == CUDA_SUCCESS)
        *call->out = (CUdeviceptr)given.address;
    return status;
}

#define ALLOC(function, thread)                                                                    \
    CUresult function(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)                        \
    {                                                                                              \
        return alloc(&(struct alloc_call){.call = CALL_##function,                                 \
                                          .out = dptr,                                             \
                                          .bytes = bytesize,                                       \
                                          .stream = hStream,                                       \
                                          .per_thread = (thread)});                                \
    }

#define ALLOC_FROM(function, thread)                                                               \
    CUresult function(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream)     \
    {                                                                                              \
        return alloc(&(struct alloc_call){.call = CALL_##function,                                 \
                                          .out = dptr,                                             \
                                          .bytes = bytesize,                                       \
                                          .from_pool = true,                                       \
                                          .pool = pool,                                            \
                                          .stream = hStream,                                       \
                                          .per_thread = (thread)});                                \
    }

ALLOC(cuMemAllocAsync, false)
ALLOC(cuMemAllocAsync_ptsz, true)
ALLOC_FROM(cuMemAllocFromPoolAsync, false)
ALLOC_FROM(cuMemAllocFromPoolAsync_ptsz, true)

static CUresult free_async(enum sim_call call, CUdeviceptr address, CUstream handle,
                           bool per_thread)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(call, &context);
    struct sim_stream *stream;

    if (status != CUDA_SUCCESS)
        return status;
    sim_lock();
    status = sim_stream_find_locked(context, handle, per_thread, &stream);
    if (status == CUDA_SUCCESS)
        status = stream->part.capture ? sim_graph_memory_free_locked((uintptr_t)address, stream)
                                      : sim_pool_free_locked((uintptr_t)address, stream);
    sim_unlock();
    return status;
}

CUresult cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream)
{
    return free_async(CALL_cuMemFreeAsync, dptr, hStream, false);
}

CUresult cuMemFreeAsync_ptsz(CUdeviceptr dptr, CUstream hStream)
{
    return free_async(CALL_cuMemFreeAsync_ptsz, dptr, hStream, true);
}
