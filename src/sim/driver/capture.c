/* SPDX-License-Identifier: MIT */
#include "capture.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "context.h"
#include "event.h"
#include "lock.h"
#include "process.h"
#include "report.h"
#include "stream.h"

static struct sim_capture *open_captures;
static atomic_uint open_count; /* lets a process without captures skip the lock */
static uint64_t last_id;
static _Thread_local CUstreamCaptureMode thread_mode; /* global at first */

CUstreamCaptureMode sim_capture_exchange(CUstreamCaptureMode mode)
{
    CUstreamCaptureMode old = thread_mode;

    thread_mode = mode;
    return old;
}

static const char *mode_name(CUstreamCaptureMode mode)
{
    return mode == CU_STREAM_CAPTURE_MODE_GLOBAL         ? "global"
           : mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL ? "thread-local"
                                                         : "relaxed";
}

static void invalidate(struct sim_capture *capture)
{
    if (capture->invalid)
        return;
    capture->invalid = true;
    sim_report_locked("capture", "%s invalidates the %s capture of stream %llu, begun by %s thread",
                      sim_calls_current(), mode_name(capture->mode),
                      (unsigned long long)capture->origin->id,
                      capture->thread == sim_process_thread() ? "this" : "another");
}

void sim_part_drop_locked(struct sim_part *part)
{
    struct sim_capture *capture = part->capture;

    sim_nodes_clear(&part->nodes);
    free(part->edges);
    part->edges = NULL;
    part->capture = NULL;
    if (capture && --capture->references == 0 && capture->ended)
        free(capture);
}

/* Joins the sequence, or stays in it, with what comes next depending on `nodes`. */
static bool take_part(struct sim_part *part, struct sim_capture *capture,
                      const struct sim_nodes *nodes)
{
    if (!sim_nodes_copy(&part->nodes, nodes))
        return false;
    if (part->capture == capture)
        return true;
    capture->references++;
    if (part->capture && --part->capture->references == 0 && part->capture->ended)
        free(part->capture);
    part->capture = capture;
    return true;
}

CUresult sim_capture_begin_locked(struct sim_stream *stream, CUstreamCaptureMode mode,
                                  struct sim_graph *graph, const struct sim_nodes *needs)
{
    struct sim_capture *capture;

    if (stream->role == SIM_STREAM_LEGACY)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (stream->part.capture || (graph && graph->capturing))
        return CUDA_ERROR_ILLEGAL_STATE;
    capture = calloc(1, sizeof *capture);
    if (!capture)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *capture = (struct sim_capture){.id = last_id + 1,
                                    .graph = graph ? graph : sim_graph_new_locked(),
                                    .lent = graph != NULL,
                                    .origin = stream,
                                    .mode = mode,
                                    .thread = sim_process_thread()};
    if (!capture->graph || !take_part(&stream->part, capture, needs)) {
        if (capture->graph && !graph)
            sim_graph_free_locked(capture->graph);
        free(capture);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    last_id++;
    capture->graph->capturing = true;
    capture->next = open_captures;
    open_captures = capture;
    atomic_fetch_add(&open_count, 1);
    return CUDA_SUCCESS;
}

/* Every stream leaves the sequence, and the graph goes to the program, or (drop) back to whom it
 * was lent by, or to nobody. Events keep the sequence itself. */
static void close_capture(struct sim_capture *capture, bool drop)
{
    struct sim_capture **link = &open_captures;

    capture->references++; /* by us: it is not to go with its last stream */
    for (struct sim_context *context = sim_contexts_locked(); context; context = context->next)
        for (struct sim_stream *stream = context->streams; stream; stream = stream->next)
            if (stream->part.capture == capture)
                sim_part_drop_locked(&stream->part);
    while (*link != capture)
        link = &(*link)->next;
    *link = capture->next;
    atomic_fetch_sub(&open_count, 1);
    capture->graph->capturing = false;
    if (drop && !capture->lent)
        sim_graph_free_locked(capture->graph);
    capture->ended = true;
    if (--capture->references == 0)
        free(capture);
}

static bool is_joined(const struct sim_capture *capture)
{
    sim_graph_reach_locked(capture->graph, &capture->origin->part.nodes);
    for (size_t i = 0; i < capture->graph->nodes.count; i++) {
        const struct sim_node *node = capture->graph->nodes.items[i];

        if (node->capture == capture->id && !node->reached)
            return false;
    }
    return true;
}

CUresult sim_capture_end_locked(struct sim_stream *stream, struct sim_graph **graph)
{
    struct sim_capture *capture = stream->part.capture;
    CUresult status = CUDA_SUCCESS;

    *graph = NULL;
    if (!capture)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (capture->origin != stream) {
        invalidate(capture);
        return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    }
    if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != sim_process_thread())
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    if (capture->invalid)
        status = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    else if (!is_joined(capture))
        status = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    if (status == CUDA_SUCCESS)
        *graph = capture->graph;
    close_capture(capture, status != CUDA_SUCCESS);
    return status;
}

void sim_capture_leave_locked(struct sim_stream *stream)
{
    struct sim_capture *capture = stream->part.capture;

    if (!capture)
        return;
    if (capture->origin != stream) {
        sim_part_drop_locked(&stream->part);
        return;
    }
    close_capture(capture, true);
}

CUresult sim_capture_take_locked(struct sim_stream *stream, struct sim_op *op)
{
    struct sim_capture *capture = stream->part.capture;
    CUgraphNodeType type = op->node;
    struct sim_node *node;

    if (capture->invalid || op->immediate) {
        CUresult status = capture->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                                           : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;

        sim_op_drop_locked(op);
        invalidate(capture);
        return status;
    }
    node = sim_graph_add_locked(capture->graph, type, op, &stream->part.nodes);
    if (!node)
        return CUDA_ERROR_OUT_OF_MEMORY;
    node->capture = capture->id;
    stream->part.nodes.count = 0;
    return sim_nodes_add(&stream->part.nodes, node) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sim_capture_record_locked(struct sim_stream *stream, struct sim_event *event)
{
    struct sim_capture *capture = stream->part.capture;

    if (capture->invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (!take_part(&event->part, capture, &stream->part.nodes))
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (event->mark)
        sim_mark_drop_locked(event->mark);
    event->mark = NULL;
    return CUDA_SUCCESS;
}

/* A stream that takes part waits for what was not captured, or was by another sequence. */
static CUresult wait_across(struct sim_capture *own, const struct sim_event *event)
{
    struct sim_capture *other = event->part.capture;

    if (own->invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    invalidate(own);
    if (!other)
        return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    if (other->ended)
        return CUDA_ERROR_CAPTURED_EVENT;
    invalidate(other);
    return CUDA_ERROR_STREAM_CAPTURE_MERGE;
}

CUresult sim_capture_wait_locked(struct sim_stream *stream, const struct sim_event *event)
{
    struct sim_capture *capture = event->part.capture;

    if (stream->part.capture && stream->part.capture != capture)
        return wait_across(stream->part.capture, event);
    if (capture->ended)
        return CUDA_ERROR_CAPTURED_EVENT;
    if (capture->invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (stream->role == SIM_STREAM_LEGACY) {
        invalidate(capture);
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    if (!stream->part.capture)
        return take_part(&stream->part, capture, &event->part.nodes) ? CUDA_SUCCESS
                                                                     : CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < event->part.nodes.count; i++)
        if (!sim_nodes_add(&stream->part.nodes, event->part.nodes.items[i]))
            return CUDA_ERROR_OUT_OF_MEMORY;
    return CUDA_SUCCESS;
}

bool sim_capture_covers_locked(const struct sim_context *context)
{
    for (const struct sim_stream *stream = context->streams; stream; stream = stream->next)
        if (stream->part.capture && sim_stream_blocking(stream))
            return true;
    return false;
}

CUresult sim_capture_legacy_locked(const struct sim_context *context)
{
    if (atomic_load(&open_count) == 0 || !sim_capture_covers_locked(context))
        return CUDA_SUCCESS;
    for (const struct sim_stream *stream = context->streams; stream; stream = stream->next)
        if (stream->part.capture && sim_stream_blocking(stream))
            invalidate(stream->part.capture);
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

CUresult sim_capture_ask_stream_locked(const struct sim_stream *stream)
{
    struct sim_capture *capture = stream->part.capture;

    if (stream->role == SIM_STREAM_LEGACY)
        return sim_capture_legacy_locked(stream->object.context);
    if (!capture)
        return CUDA_SUCCESS;
    if (capture->invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    invalidate(capture);
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult sim_capture_ask_event_locked(const struct sim_event *event)
{
    struct sim_capture *capture = event->part.capture;

    if (!capture)
        return CUDA_SUCCESS;
    if (!capture->ended)
        invalidate(capture);
    return CUDA_ERROR_CAPTURED_EVENT;
}

CUresult sim_capture_ask_context_locked(const struct sim_context *context)
{
    CUresult status = CUDA_SUCCESS;

    if (atomic_load(&open_count) == 0)
        return status;
    for (const struct sim_stream *stream = context->streams; stream; stream = stream->next)
        if (stream->part.capture) {
            invalidate(stream->part.capture);
            status = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
    return status;
}

/* Does the sequence forbid the calling thread's unsafe calls? */
static bool forbids(const struct sim_capture *capture)
{
    if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
        return false;
    if (capture->thread == sim_process_thread())
        return capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    return thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
           capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

CUresult sim_capture_unsafe_locked(void)
{
    CUresult status = CUDA_SUCCESS;

    for (struct sim_capture *capture = open_captures; capture; capture = capture->next)
        if (forbids(capture)) {
            invalidate(capture);
            status = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
    return status;
}

CUresult sim_capture_unsafe(void)
{
    CUresult status;

    if (atomic_load(&open_count) == 0)
        return CUDA_SUCCESS;
    sim_lock();
    status = sim_capture_unsafe_locked();
    sim_unlock();
    return status;
}
