/* SPDX-License-Identifier: MIT */
#include "stream.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "clock.h"
#include "context.h"
#include "judge.h"
#include "lock.h"
#include "process.h"
#include "report.h"
#include "settings.h"

static uint64_t last_ticket;
static uint64_t last_id;
static uint64_t created;
static _Thread_local const struct sim_stream *running;
static _Thread_local uint64_t running_ticket;

const struct sim_stream *sim_stream_running(void)
{
    return running;
}

uint64_t sim_ticket_running(void)
{
    return running_ticket;
}

uint64_t sim_ticket_locked(void)
{
    return last_ticket;
}

bool sim_stream_blocking(const struct sim_stream *stream)
{
    return stream->role != SIM_STREAM_LEGACY && !(stream->flags & CU_STREAM_NON_BLOCKING);
}

/* Has the queue itself completed all tickets up to `ticket`? */
static bool queue_past(const struct sim_stream *stream, uint64_t ticket)
{
    return !stream->head || stream->head->ticket > ticket;
}

static bool blocking_streams_past(const struct sim_context *context, uint64_t ticket)
{
    for (const struct sim_stream *stream = context->streams; stream; stream = stream->next)
        if (sim_stream_blocking(stream) && !queue_past(stream, ticket))
            return false;
    return true;
}

/* A wait for the legacy stream covers what an operation put there now would wait for. */
bool sim_stream_past_locked(const struct sim_stream *stream, uint64_t ticket)
{
    return queue_past(stream, ticket) && (stream->role != SIM_STREAM_LEGACY ||
                                          blocking_streams_past(stream->object.context, ticket));
}

/* May the operation at the head of the queue start? */
static bool is_ready(const struct sim_stream *stream, const struct sim_op *op)
{
    const struct sim_context *context = stream->object.context;

    if (op->wait && !op->wait->done)
        return false;
    if (stream->role == SIM_STREAM_LEGACY)
        return blocking_streams_past(context, op->ticket - 1);
    return !sim_stream_blocking(stream) || queue_past(context->legacy, op->ticket - 1);
}

static void close_object(struct sim_object *object)
{
    sim_stream_close_locked((struct sim_stream *)object);
}

struct sim_stream *sim_stream_new_locked(struct sim_context *context, enum sim_stream_role role,
                                         unsigned flags, int priority)
{
    struct sim_stream *stream = calloc(1, sizeof *stream);

    if (!stream)
        return NULL;
    stream->object = (struct sim_object){SIM_STREAM, context, close_object};
    if (role == SIM_STREAM_CREATED && !sim_handle_add_locked(&stream->object)) {
        free(stream);
        return NULL;
    }
    stream->role = role;
    stream->flags = flags;
    stream->priority = priority;
    stream->id = ++last_id;
    stream->number = role == SIM_STREAM_CREATED  ? ++created
                     : role == SIM_STREAM_LEGACY ? 0
                                                 : UINT64_MAX;
    stream->references = 1;
    pthread_cond_init(&stream->work, NULL);
    stream->next = context->streams;
    context->streams = stream;
    return stream;
}

static void drop_reference(struct sim_stream *stream)
{
    if (--stream->references > 0)
        return;
    for (struct sim_stream **link = &stream->object.context->streams; *link; link = &(*link)->next)
        if (*link == stream) {
            *link = stream->next;
            break;
        }
    pthread_cond_destroy(&stream->work);
    free(stream);
}

void sim_stream_close_locked(struct sim_stream *stream)
{
    sim_capture_leave_locked(stream);
    stream->closed = true;
    pthread_cond_signal(&stream->work);
    drop_reference(stream);
}

void sim_streams_end_locked(struct sim_context *context)
{
    struct sim_stream *next;

    for (struct sim_stream *stream = context->streams; stream; stream = next) {
        next = stream->next;
        if (stream->closed || (stream->role == SIM_STREAM_LEGACY && context->primary))
            continue;
        sim_handle_remove_locked(&stream->object);
        sim_stream_close_locked(stream);
    }
    if (!context->primary)
        context->legacy = NULL;
}

static uint64_t delay_of(const struct sim_stream *stream)
{
    const struct sim_settings *settings = sim_settings();
    uint64_t delay = settings->delay_ns;

    for (size_t i = 0; i < settings->stream_delays.count; i++)
        if (settings->stream_delays.items[i].index == stream->number)
            delay += settings->stream_delays.items[i].ns;
    return delay;
}

void sim_op_run(struct sim_op *op, const struct sim_claim *claims)
{
    bool told = true;

    if (!op->run || atomic_load(&op->condemned))
        return;
    if (op->node == CU_GRAPH_NODE_TYPE_GRAPH || /* its steps are judged one by one */
        sim_judge_before(op->what, op->touches, claims, op->touch_count, &told))
        op->run(op, claims);
    if (!told)
        sim_judge_after(op->what, op->touches, claims, op->touch_count);
}

static bool uses(const struct sim_op *op, uintptr_t address, size_t bytes)
{
    for (size_t i = 0; i < op->touch_count; i++)
        if (op->touches[i].address < address + bytes &&
            address < op->touches[i].address + op->touches[i].bytes)
            return true;
    return false;
}

void sim_streams_condemn_locked(uintptr_t address, size_t bytes)
{
    for (struct sim_context *context = sim_contexts_locked(); context; context = context->next)
        for (struct sim_stream *stream = context->streams; stream; stream = stream->next)
            for (struct sim_op *op = stream->head; op; op = op->next) {
                if (atomic_load(&op->condemned) || !uses(op, address, bytes))
                    continue;
                if (op->node != CU_GRAPH_NODE_TYPE_GRAPH) /* its steps are judged one by one */
                    atomic_store(&op->condemned, true);
                sim_report_locked(
                    "use-after-free", "%s unmaps %zu bytes at 0x%zx that %s is not done with",
                    sim_calls_current(), bytes, (size_t)address, op->what ? op->what : "a graph");
            }
}

static void complete_head(struct sim_stream *stream)
{
    struct sim_op *op = stream->head;

    stream->head = op->next;
    if (!stream->head)
        stream->tail = NULL;
    if (op->record) {
        op->record->done = true;
        op->record->time_ns = sim_now_ns();
        sim_mark_drop_locked(op->record);
    }
    if (op->wait)
        sim_mark_drop_locked(op->wait);
    sim_ledger_release(op->claims, op->touch_count);
    free(op->claims);
    op->release(op);
    sim_progress_locked();
}

static void *work(void *argument)
{
    struct sim_stream *stream = argument;
    uint64_t delay = delay_of(stream);
    struct sim_op *op;

    running = stream;
    sim_process_set_worker();
    prctl(PR_SET_TIMERSLACK, 1ul); /* delays and kernels are to last as long as they were told */
    sim_lock();
    for (;;) {
        while (!stream->head && !stream->closed)
            pthread_cond_wait(&stream->work, sim_mutex());
        op = stream->head;
        if (!op)
            break;
        while (!is_ready(stream, op))
            sim_wait_locked();
        sim_unlock();
        sim_spend_ns(delay);
        running_ticket = op->ticket;
        sim_op_run(op, op->claims);
        sim_lock();
        complete_head(stream);
    }
    drop_reference(stream);
    sim_unlock();
    return NULL;
}

/* Signals are the program's business: a worker takes none. */
static bool start_worker(struct sim_stream *stream)
{
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, old;
    bool started;

    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    started = pthread_create(&thread, &attributes, work, stream) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);
    if (started) {
        stream->has_worker = true;
        stream->references++;
    }
    return started;
}

/* May operations be enqueued on the stream? */
static CUresult usable(const struct sim_stream *stream)
{
    const struct sim_context *context = stream->object.context;

    if (!context->alive)
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    return stream->role == SIM_STREAM_LEGACY ? sim_capture_legacy_locked(context) : CUDA_SUCCESS;
}

/* Remembers whose memory it is that the operation uses. */
static bool claim(struct sim_op *op)
{
    if (op->touch_count == 0)
        return true;
    op->claims = malloc(op->touch_count * sizeof *op->claims);
    if (op->claims)
        sim_ledger_claim(op->touches, op->touch_count, op->claims);
    return op->claims != NULL;
}

CUresult sim_stream_enqueue_locked(struct sim_stream *stream, struct sim_op *op)
{
    CUresult status = usable(stream);

    if (status != CUDA_SUCCESS) {
        sim_op_drop_locked(op);
        return status;
    }
    if (stream->part.capture)
        return sim_capture_take_locked(stream, op);
    if ((!stream->has_worker && !start_worker(stream)) || !claim(op)) {
        sim_op_drop_locked(op);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    op->ticket = ++last_ticket;
    op->next = NULL;
    if (stream->tail)
        stream->tail->next = op;
    else
        stream->head = op;
    stream->tail = op;
    pthread_cond_signal(&stream->work);
    return CUDA_SUCCESS;
}

CUresult sim_enqueue(struct sim_context *context, CUstream handle, bool per_thread,
                     struct sim_op *op, bool wait)
{
    struct sim_stream *stream;
    CUresult status;

    if (!op)
        return CUDA_ERROR_OUT_OF_MEMORY;
    sim_lock();
    status = sim_stream_find_locked(context, handle, per_thread, &stream);
    if (status != CUDA_SUCCESS)
        sim_op_drop_locked(op);
    else
        status = sim_stream_enqueue_locked(stream, op);
    wait = status == CUDA_SUCCESS && wait && !stream->part.capture;
    if (wait)
        sim_stream_wait_locked(stream, last_ticket); /* `op` may be gone while we wait */
    sim_unlock();
    return wait ? (CUresult)context->sticky : status;
}

bool sim_stream_captures(struct sim_context *context, CUstream handle, bool per_thread)
{
    struct sim_stream *stream;
    bool captures;

    sim_lock();
    captures = sim_stream_find_locked(context, handle, per_thread, &stream) == CUDA_SUCCESS &&
               stream->part.capture;
    sim_unlock();
    return captures;
}

void sim_op_drop_locked(struct sim_op *op)
{
    if (op->record)
        sim_mark_drop_locked(op->record);
    if (op->wait)
        sim_mark_drop_locked(op->wait);
    op->release(op);
}

static void free_op(struct sim_op *op)
{
    free(op);
}

struct sim_op *sim_op_empty(void)
{
    struct sim_op *op = calloc(1, sizeof *op);

    if (op)
        op->release = free_op;
    return op;
}

void sim_stream_wait_locked(struct sim_stream *stream, uint64_t ticket)
{
    stream->references++;
    while (!sim_stream_past_locked(stream, ticket))
        sim_wait_locked();
    drop_reference(stream);
}

static bool context_past(const struct sim_context *context, uint64_t ticket)
{
    for (const struct sim_stream *stream = context->streams; stream; stream = stream->next)
        if (!queue_past(stream, ticket))
            return false;
    return true;
}

void sim_context_drain_locked(struct sim_context *context)
{
    uint64_t ticket = last_ticket;

    while (!context_past(context, ticket))
        sim_wait_locked();
}

struct sim_mark *sim_mark_new(void)
{
    struct sim_mark *mark = calloc(1, sizeof *mark);

    if (mark)
        mark->references = 1;
    return mark;
}

struct sim_mark *sim_mark_share_locked(struct sim_mark *mark)
{
    mark->references++;
    return mark;
}

void sim_mark_drop_locked(struct sim_mark *mark)
{
    if (--mark->references == 0)
        free(mark);
}
