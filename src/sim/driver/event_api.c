/* SPDX-License-Identifier: MIT
 * event_api.c - events of the driver API. */
#include <stdlib.h>

#include "context.h"
#include "event.h"
#include "lock.h"
#include "pool.h"
#include "stream.h"

#define EVENT_FLAGS                                                                                \
    ((unsigned)CU_EVENT_BLOCKING_SYNC | (unsigned)CU_EVENT_DISABLE_TIMING |                        \
     (unsigned)CU_EVENT_INTERPROCESS)

static void close_event(struct sim_object *object)
{
    sim_event_close_locked((struct sim_event *)object);
}

CUresult cuEventCreate(CUevent *phEvent, unsigned int Flags)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(CALL_cuEventCreate, &context);
    struct sim_event *event;
    bool added;

    if (status != CUDA_SUCCESS)
        return status;
    if (!phEvent || (Flags & ~EVENT_FLAGS) != 0 ||
        ((Flags & CU_EVENT_INTERPROCESS) && !(Flags & CU_EVENT_DISABLE_TIMING)))
        return CUDA_ERROR_INVALID_VALUE;
    event = calloc(1, sizeof *event);
    if (!event)
        return CUDA_ERROR_OUT_OF_MEMORY;
    event->object = (struct sim_object){SIM_EVENT, context, close_event};
    event->flags = Flags;
    sim_lock();
    added = sim_handle_add_locked(&event->object);
    sim_unlock();
    if (!added) {
        free(event);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *phEvent = (CUevent)event;
    return CUDA_SUCCESS;
}

/* A pending record completes later all the same: its operation holds the mark. */
static CUresult destroy(enum sim_call call, CUevent hEvent)
{
    CUresult status = sim_enter_ready(call);
    struct sim_event *event;

    if (status != CUDA_SUCCESS)
        return status;
    sim_lock();
    event = sim_handle_find_locked(hEvent, SIM_EVENT);
    if (event) {
        status = (CUresult)event->object.context->sticky;
        sim_handle_remove_locked(&event->object);
        close_event(&event->object);
    }
    sim_unlock();
    return event ? status : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuEventDestroy(CUevent hEvent)
{
    return destroy(CALL_cuEventDestroy, hEvent);
}

CUresult cuEventDestroy_v2(CUevent hEvent)
{
    return destroy(CALL_cuEventDestroy_v2, hEvent);
}

/* Enqueues an operation that completes a mark, which then is the event's. */
static CUresult mark_locked(struct sim_stream *stream, struct sim_event *event)
{
    struct sim_mark *mark = sim_mark_new();
    struct sim_op *op = sim_op_empty();
    CUresult status;

    if (!mark || !op) {
        free(mark);
        free(op);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    op->record = sim_mark_share_locked(mark);
    status = sim_stream_enqueue_locked(stream, op);
    if (status != CUDA_SUCCESS) {
        sim_mark_drop_locked(mark);
        return status;
    }
    sim_event_give_locked(event, mark);
    return CUDA_SUCCESS;
}

static CUresult add_node_locked(struct sim_stream *stream, struct sim_event *event)
{
    struct sim_op *op = sim_event_node_locked(event, true);

    return op ? sim_stream_enqueue_locked(stream, op) : CUDA_ERROR_OUT_OF_MEMORY;
}

/* An external record is a node of its own; outside a capture it is no record at all. */
static CUresult record_locked(struct sim_context *context, CUevent hEvent, CUstream hStream,
                              bool external, bool per_thread)
{
    struct sim_event *event = sim_handle_find_locked(hEvent, SIM_EVENT);
    struct sim_stream *stream;
    CUresult status;

    if (!event)
        return CUDA_ERROR_INVALID_HANDLE;
    status = sim_stream_find_locked(context, hStream, per_thread, &stream);
    if (status != CUDA_SUCCESS)
        return status;
    if (event->object.context != stream->object.context)
        return CUDA_ERROR_INVALID_HANDLE;
    if (external)
        return stream->part.capture ? add_node_locked(stream, event) : CUDA_ERROR_INVALID_VALUE;
    return stream->part.capture ? sim_capture_record_locked(stream, event)
                                : mark_locked(stream, event);
}

static CUresult record(enum sim_call call, CUevent hEvent, CUstream hStream, unsigned flags,
                       bool per_thread)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(call, &context);

    if (status != CUDA_SUCCESS)
        return status;
    if ((flags & ~(unsigned)CU_EVENT_RECORD_EXTERNAL) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    status = record_locked(context, hEvent, hStream, flags == CU_EVENT_RECORD_EXTERNAL, per_thread);
    sim_unlock();
    return status;
}

CUresult cuEventRecord(CUevent hEvent, CUstream hStream)
{
    return record(CALL_cuEventRecord, hEvent, hStream, 0, false);
}

CUresult cuEventRecord_ptsz(CUevent hEvent, CUstream hStream)
{
    return record(CALL_cuEventRecord_ptsz, hEvent, hStream, 0, true);
}

CUresult cuEventRecordWithFlags(CUevent hEvent, CUstream hStream, unsigned int flags)
{
    return record(CALL_cuEventRecordWithFlags, hEvent, hStream, flags, false);
}

CUresult cuEventRecordWithFlags_ptsz(CUevent hEvent, CUstream hStream, unsigned int flags)
{
    return record(CALL_cuEventRecordWithFlags_ptsz, hEvent, hStream, flags, true);
}

/* An event whose work somebody asks about: an unsafe call, and one that conflicts with the capture
 * it may have been recorded in. */
static CUresult ask_locked(CUevent handle, struct sim_event **event)
{
    CUresult status;

    *event = sim_handle_find_locked(handle, SIM_EVENT);
    if (!*event)
        return CUDA_ERROR_INVALID_HANDLE;
    status = sim_capture_ask_event_locked(*event);
    return status == CUDA_SUCCESS ? sim_capture_unsafe_locked() : status;
}

CUresult cuEventQuery(CUevent hEvent)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(CALL_cuEventQuery, &context);
    struct sim_event *event;

    if (status != CUDA_SUCCESS)
        return status;
    sim_lock();
    status = ask_locked(hEvent, &event);
    if (status == CUDA_SUCCESS && event->mark && !event->mark->done)
        status = CUDA_ERROR_NOT_READY;
    sim_unlock();
    return status;
}

CUresult cuEventSynchronize(CUevent hEvent)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(CALL_cuEventSynchronize, &context);
    struct sim_event *event;

    if (status != CUDA_SUCCESS)
        return status;
    sim_lock();
    status = ask_locked(hEvent, &event);
    if (status == CUDA_SUCCESS && event->mark) {
        struct sim_mark *mark = sim_mark_share_locked(event->mark);

        while (!mark->done)
            sim_wait_locked();
        sim_mark_drop_locked(mark);
    }
    sim_pools_settle_locked();
    sim_unlock();
    return status == CUDA_SUCCESS ? (CUresult)context->sticky : status;
}

static CUresult elapsed_locked(float *ms, CUevent hStart, CUevent hEnd)
{
    struct sim_event *start = sim_handle_find_locked(hStart, SIM_EVENT);
    struct sim_event *end = sim_handle_find_locked(hEnd, SIM_EVENT);
    CUresult status = CUDA_SUCCESS;

    if (start && end)
        status = sim_capture_ask_event_locked(start);
    if (start && end && status == CUDA_SUCCESS)
        status = sim_capture_ask_event_locked(end);
    if (status != CUDA_SUCCESS)
        return status;
    if (!start || !end || !start->mark || !end->mark ||
        ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING) ||
        start->object.context != end->object.context)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!start->mark->done || !end->mark->done)
        return CUDA_ERROR_NOT_READY;
    *ms = (float)((double)(int64_t)(end->mark->time_ns - start->mark->time_ns) / 1e6);
    return CUDA_SUCCESS;
}

static CUresult elapsed(enum sim_call call, float *ms, CUevent hStart, CUevent hEnd)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(call, &context);

    if (status != CUDA_SUCCESS)
        return status;
    if (!ms)
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    status = elapsed_locked(ms, hStart, hEnd);
    sim_unlock();
    return status;
}

CUresult cuEventElapsedTime(float *pMilliseconds, CUevent hStart, CUevent hEnd)
{
    return elapsed(CALL_cuEventElapsedTime, pMilliseconds, hStart, hEnd);
}

CUresult cuEventElapsedTime_v2(float *pMilliseconds, CUevent hStart, CUevent hEnd)
{
    return elapsed(CALL_cuEventElapsedTime_v2, pMilliseconds, hStart, hEnd);
}
