/* SPDX-License-Identifier: MIT
 * copy_api.c - copies of one row of bytes in the driver API. */
#include "context.h"
#include "copy.h"
#include "lock.h"
#include "stream.h"

/* What the function's parameter must be. */
#define END_ANY    false
#define END_DEVICE true

struct copy_call {
    enum sim_call call;
    uintptr_t to, from;
    size_t bytes;
    bool to_device, from_device;
    CUstream stream;
    bool per_thread;
    bool async;
};

static CUresult copy(const struct copy_call *call)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(call->call, &context);

    if (status != CUDA_SUCCESS || call->bytes == 0)
        return status;
    if (!sim_copy_end_valid(call->to, call->to_device) ||
        !sim_copy_end_valid(call->from, call->from_device))
        return CUDA_ERROR_INVALID_VALUE;
    return sim_copy(context, &(struct sim_copy){.call = call->call,
                                                .to = {.address = call->to},
                                                .from = {.address = call->from},
                                                .width = call->bytes,
                                                .height = 1,
                                                .depth = 1,
                                                .stream = call->stream,
                                                .per_thread = call->per_thread,
                                                .async = call->async});
}

#define SYNC(function, suffix, thread, to_type, to_kind, from_type, from_kind)                     \
    CUresult function##suffix(to_type to, from_type from, size_t ByteCount)                        \
    {                                                                                              \
        return copy(&(struct copy_call){.call = CALL_##function##suffix,                           \
                                        .to = (uintptr_t)to,                                       \
                                        .from = (uintptr_t)from,                                   \
                                        .bytes = ByteCount,                                        \
                                        .to_device = (to_kind),                                    \
                                        .from_device = (from_kind),                                \
                                        .per_thread = (thread)});                                  \
    }

#define ASYNC(function, suffix, thread, to_type, to_kind, from_type, from_kind)                    \
    CUresult function##suffix(to_type to, from_type from, size_t ByteCount, CUstream hStream)      \
    {                                                                                              \
        return copy(&(struct copy_call){.call = CALL_##function##suffix,                           \
                                        .to = (uintptr_t)to,                                       \
                                        .from = (uintptr_t)from,                                   \
                                        .bytes = ByteCount,                                        \
                                        .to_device = (to_kind),                                    \
                                        .from_device = (from_kind),                                \
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
