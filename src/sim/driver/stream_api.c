/* SPDX-License-Identifier: MIT
 * stream_api.c - streams and host functions of the driver API. */
#include <stdlib.h>

#include "context.h"
#include "device.h"
#include "event.h"
#include "lock.h"
#include "pool.h"
#include "stream.h"

static CUresult create(enum sim_call call, CUstream *phStream, unsigned flags, int priority)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(call, &context);
    struct sim_stream *stream;

    if (status != CUDA_SUCCESS)
        return status;
    if (!phStream || (flags & ~(unsigned)CU_STREAM_NON_BLOCKING) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (priority > SIM_PRIORITY_LEAST)
        priority = SIM_PRIORITY_LEAST;
    if (priority < SIM_PRIORITY_GREATEST)
        priority = SIM_PRIORITY_GREATEST;
    sim_lock();
    stream =
        context->alive ? sim_stream_new_locked(context, SIM_STREAM_CREATED, flags, priority) : NULL;
    sim_unlock();
    if (!stream)
        return context->alive ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_CONTEXT_IS_DESTROYED;
    *phStream = (CUstream)stream;
    return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream *phStream, unsigned int Flags)
{
    return create(CALL_cuStreamCreate, phStream, Flags, SIM_PRIORITY_LEAST);
}

CUresult cuStreamCreateWithPriority(CUstream *phStream, unsigned int flags, int priority)
{
    return create(CALL_cuStreamCreateWithPriority, phStream, flags, priority);
}

/* Returns at once; what is queued still runs. The default streams cannot be destroyed. */
static CUresult destroy(enum sim_call call, CUstream hStream)
{
    CUresult status = sim_enter_ready(call);
    struct sim_stream *stream;

    if (status != CUDA_SUCCESS)
        return status;
    sim_lock();
    stream = sim_handle_find_locked(hStream, SIM_STREAM);
    if (stream) {
        status = (CUresult)stream->object.context->sticky;
        sim_handle_remove_locked(&stream->object);
        sim_stream_close_locked(stream);
    }
    sim_unlock();
    return stream ? status : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuStreamDestroy(CUstream hStream)
{
    return destroy(CALL_cuStreamDestroy, hStream);
}

CUresult cuStreamDestroy_v2(CUstream hStream)
{
    return destroy(CALL_cuStreamDestroy_v2, hStream);
}

static CUresult query(enum sim_call call, CUstream hStream, bool per_thread)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(call, &context);
    struct sim_stream *stream;

    if (status != CUDA_SUCCESS)
        return status;
    sim_lock();
    status = sim_stream_find_locked(context, hStream, per_thread, &stream);
    if (status == CUDA_SUCCESS)
        status = sim_capture_ask_stream_locked(stream);
    if (status == CUDA_SUCCESS && !sim_stream_past_locked(stream, sim_ticket_locked()))
        status = CUDA_ERROR_NOT_READY;
    sim_unlock();
    return status;
}

CUresult cuStreamQuery(CUstream hStream)
{
    return query(CALL_cuStreamQuery, hStream, false);
}

CUresult cuStreamQuery_ptsz(CUstream hStream)
{
    return query(CALL_cuStreamQuery_ptsz, hStream, true);
}

static CUresult synchronise(enum sim_call call, CUstream hStream, bool per_thread)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(call, &context);
    struct sim_stream *stream;

    if (status != CUDA_SUCCESS)
        return status;
    sim_lock();
    status = sim_stream_find_locked(context, hStream, per_thread, &stream);
    if (status == CUDA_SUCCESS)
        status = sim_capture_ask_stream_locked(stream);
    if (status == CUDA_SUCCESS)
        sim_stream_wait_locked(stream, sim_ticket_locked());
    sim_pools_settle_locked();
    sim_unlock();
    return status == CUDA_SUCCESS ? (CUresult)context->sticky : status;
}

CUresult cuStreamSynchronize(CUstream hStream)
{
    return synchronise(CALL_cuStreamSynchronize, hStream, false);
}

CUresult cuStreamSynchronize_ptsz(CUstream hStream)
{
    return synchronise(CALL_cuStreamSynchronize_ptsz, hStream, true);
}

/* An event that was never recorded is one that has happened. An external wait is a node of the
 * graph; outside a capture there is none. */
static CUresult wait_event_locked(struct sim_context *context, CUstream hStream, CUevent hEvent,
                                  bool external, bool per_thread)
{
    struct sim_event *event = sim_handle_find_locked(hEvent, SIM_EVENT);
    struct sim_stream *stream;
    struct sim_op *op;
    CUresult status = sim_stream_find_locked(context, hStream, per_thread, &stream);

    if (status != CUDA_SUCCESS)
        return status;
    if (!event)
        return CUDA_ERROR_INVALID_HANDLE;
    if (external && !stream->part.capture)
        return CUDA_ERROR_INVALID_VALUE;
    if (external) {
        op = sim_event_node_locked(event, false);
        return op ? sim_stream_enqueue_locked(stream, op) : CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (stream->part.capture || event->part.capture)
        return sim_capture_wait_locked(stream, event);
    if (!event->mark || event->mark->done)
        return CUDA_SUCCESS;
    op = sim_op_empty();
    if (!op)
        return CUDA_ERROR_OUT_OF_MEMORY;
    op->wait = sim_mark_share_locked(event->mark);
    return sim_stream_enqueue_locked(stream, op);
}

static CUresult wait_event(enum sim_call call, CUstream hStream, CUevent hEvent, unsigned flags,
                           bool per_thread)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(call, &context);

    if (status != CUDA_SUCCESS)
        return status;
    if ((flags & ~(unsigned)CU_EVENT_WAIT_EXTERNAL) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    status =
        wait_event_locked(context, hStream, hEvent, flags == CU_EVENT_WAIT_EXTERNAL, per_thread);
    sim_unlock();
    return status;
}

CUresult cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags)
{
    return wait_event(CALL_cuStreamWaitEvent, hStream, hEvent, Flags, false);
}

CUresult cuStreamWaitEvent_ptsz(CUstream hStream, CUevent hEvent, unsigned int Flags)
{
    return wait_event(CALL_cuStreamWaitEvent_ptsz, hStream, hEvent, Flags, true);
}

struct answer {
    unsigned flags;
    int priority;
    unsigned long long id;
    CUcontext context;
    CUdevice device;
};

/* Enters a question about a stream whose answer goes to `out`. */
static CUresult ask(enum sim_call call, CUstream hStream, bool per_thread, const void *out,
                    struct answer *answer)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(call, &context);
    struct sim_stream *stream;

    if (status != CUDA_SUCCESS)
        return status;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    status = sim_stream_find_locked(context, hStream, per_thread, &stream);
    if (status == CUDA_SUCCESS)
        *answer = (struct answer){stream->flags, stream->priority, stream->id,
                                  (CUcontext)stream->object.context,
                                  stream->object.context->device->ordinal};
    sim_unlock();
    return status;
}

/* GETTER(function, type of the answer, its field): both flavours of a question. A type takes no
 * parentheses: NOLINTBEGIN(bugprone-macro-parentheses) */
#define GETTER(function, type, field)                                                              \
    CUresult function(CUstream hStream, type *out)                                                 \
    {                                                                                              \
        struct answer answer;                                                                      \
        CUresult status = ask(CALL_##function, hStream, false, out, &answer);                      \
                                                                                                   \
        if (status == CUDA_SUCCESS)                                                                \
            *out = (answer.field);                                                                 \
        return status;                                                                             \
    }                                                                                              \
    CUresult function##_ptsz(CUstream hStream, type *out)                                          \
    {                                                                                              \
        struct answer answer;                                                                      \
        CUresult status = ask(CALL_##function##_ptsz, hStream, true, out, &answer);                \
                                                                                                   \
        if (status == CUDA_SUCCESS)                                                                \
            *out = (answer.field);                                                                 \
        return status;                                                                             \
    }
/* NOLINTEND(bugprone-macro-parentheses) */

GETTER(cuStreamGetFlags, unsigned int, flags)
GETTER(cuStreamGetPriority, int, priority)
GETTER(cuStreamGetId, unsigned long long, id)
GETTER(cuStreamGetCtx, CUcontext, context)
GETTER(cuStreamGetDevice, CUdevice, device)

struct host_op {
    struct sim_op op;
    struct sim_context *context;
    CUhostFn function;
    CUstreamCallback callback; /* the older kind, which is told stream and status */
    CUstream stream;
    void *data;
};

/* After an error of its context a host function is not called any more; a callback is told. */
static void run_host(struct sim_op *op, const struct sim_claim *claims)
{
    (void)claims;
    struct host_op *host = (struct host_op *)op;
    CUresult status = (CUresult)atomic_load(&host->context->sticky);

    if (host->callback)
        host->callback(host->stream, status, host->data);
    else if (status == CUDA_SUCCESS)
        host->function(host->data);
}

static void release_host(struct sim_op *op)
{
    free(op);
}

static CUresult call_host(enum sim_call call, const struct host_op *what, bool per_thread)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(call, &context);
    struct host_op *host;

    if (status != CUDA_SUCCESS)
        return status;
    if (!what->function && !what->callback)
        return CUDA_ERROR_INVALID_VALUE;
    host = malloc(sizeof *host);
    if (!host)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *host = *what;
    host->context = context;
    host->op = (struct sim_op){.run = run_host,
                               .release = release_host,
                               .node = CU_GRAPH_NODE_TYPE_HOST,
                               .immediate = host->callback != NULL};
    return sim_enqueue(context, what->stream, per_thread, &host->op, false);
}

CUresult cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void *userData)
{
    struct host_op what = {.function = fn, .stream = hStream, .data = userData};

    return call_host(CALL_cuLaunchHostFunc, &what, false);
}

CUresult cuLaunchHostFunc_ptsz(CUstream hStream, CUhostFn fn, void *userData)
{
    struct host_op what = {.function = fn, .stream = hStream, .data = userData};

    return call_host(CALL_cuLaunchHostFunc_ptsz, &what, true);
}

CUresult cuStreamAddCallback(CUstream hStream, CUstreamCallback callback, void *userData,
                             unsigned int flags)
{
    struct host_op what = {.callback = callback, .stream = hStream, .data = userData};

    if (flags != 0)
        what.callback = NULL; /* refused below, once the call has been counted */
    return call_host(CALL_cuStreamAddCallback, &what, false);
}

CUresult cuStreamAddCallback_ptsz(CUstream hStream, CUstreamCallback callback, void *userData,
                                  unsigned int flags)
{
    struct host_op what = {.callback = callback, .stream = hStream, .data = userData};

    if (flags != 0)
        what.callback = NULL;
    return call_host(CALL_cuStreamAddCallback_ptsz, &what, true);
}
