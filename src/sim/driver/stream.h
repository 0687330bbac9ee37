/* SPDX-License-Identifier: MIT
 * stream.h - streams as queues of operations, each run by a worker thread of its own.
 *
 * Every operation of the process takes the next ticket when it is enqueued, and a stream runs its
 * operations in ticket order. All ordering is a comparison of tickets:
 *   - an operation of the legacy default stream starts once every blocking stream of the context
 * (the per-thread default streams are blocking ones) has completed all tickets below its own;
 *   - an operation of a blocking stream starts once the legacy stream has completed all tickets
 * below;
 *   - waiting for a stream or a context is waiting for the tickets given out so far.
 * Since an operation only ever waits for smaller tickets, or for an event recorded earlier, nothing
 * can wait in a circle.
 *
 * The worker starts with the first operation: a process that only allocates has no thread. An
 * operation stays at the head of its queue while it runs, so "the queue is empty" means "idle".
 * Workers run operations without the lock. A closed stream finishes its work, then frees itself;
 * until then it stays on its context's list, so that waiting for the context waits for it too. */
#ifndef SC_SIM_STREAM_H
#define SC_SIM_STREAM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "api.h"
#include "capture.h"
#include "handle.h"
#include "ledger.h"

#define SIM_PRIORITY_LEAST    0
#define SIM_PRIORITY_GREATEST (-5)

enum sim_stream_role { SIM_STREAM_LEGACY, SIM_STREAM_PER_THREAD, SIM_STREAM_CREATED };

/* One record of an event. The event, the recording operation and those that wait for it share it.
 */
struct sim_mark {
    unsigned references;
    bool done;
    uint64_t time_ns; /* when it was done */
};

/* What is queued: the head of a larger struct that `release` frees. Running leaves it as it was,
 * since a graph runs it many times: only the one that is queued has claims, for all it runs. */
struct sim_op {
    struct sim_op *next;
    uint64_t ticket;
    /* without the lock, and only if the judge lets it; NULL: only order matters */
    void (*run)(struct sim_op *op, const struct sim_claim *claims);
    void (*release)(struct sim_op *op); /* frees it */
    struct sim_mark *wait;              /* not to be started before this is done */
    struct sim_mark *record;            /* done when this completes */
    CUgraphNodeType node;               /* what it is in a graph */
    bool immediate;                     /* cannot be captured */
    atomic_bool condemned;              /* its memory is gone: it is not to run any more */
    const char *what;                   /* what reports call it */
    const struct sim_touch *touches;    /* memory it uses; of a graph, what its steps do */
    size_t touch_count;
    struct sim_claim *claims; /* as many, while it is queued */
};

struct sim_stream {
    struct sim_object object;
    struct sim_stream *next; /* of the context */
    enum sim_stream_role role;
    unsigned flags;
    int priority;
    uint64_t id;
    uint64_t number;     /* 0: legacy, n: the n-th one created, UINT64_MAX: per-thread */
    uint64_t thread;     /* whose default stream it is */
    unsigned references; /* its owner, its worker, whoever waits for it */
    bool closed;
    bool has_worker;
    pthread_cond_t work;
    struct sim_op *head, *tail;
    struct sim_part part; /* in a capture sequence, see capture.h */
};

struct sim_stream *sim_stream_new_locked(struct sim_context *context, enum sim_stream_role role,
                                         unsigned flags, int priority);

/* Takes no more work; what is queued runs to its end. */
void sim_stream_close_locked(struct sim_stream *stream);

/* Closes all streams of a context that has been drained; a primary one, which can come back, keeps
 * its legacy stream. */
void sim_streams_end_locked(struct sim_context *context);

/* The stream a handle names in `context`; per_thread: what the NULL handle means. */
CUresult sim_stream_find_locked(struct sim_context *context, CUstream handle, bool per_thread,
                                struct sim_stream **stream);

/* Is it one that the legacy stream waits for, and that waits for it? */
bool sim_stream_blocking(const struct sim_stream *stream);

/* Queues `op`, or makes it a node of the capture that the stream takes part in, and owns it from
 * then on, also on failure. */
CUresult sim_stream_enqueue_locked(struct sim_stream *stream, struct sim_op *op);

/* The same by handle, with the lock taken here; `wait`: until it has completed, unless it was
 * captured. A NULL op is one there was no memory for. */
CUresult sim_enqueue(struct sim_context *context, CUstream handle, bool per_thread,
                     struct sim_op *op, bool wait);

/* Would an operation enqueued there now be captured? */
bool sim_stream_captures(struct sim_context *context, CUstream handle, bool per_thread);

/* These addresses are about to be no memory any more: each operation that is not done and would use
 * them is a violation, and does not run. */
void sim_streams_condemn_locked(uintptr_t address, size_t bytes);

/* Runs an operation, or a graph's step with its part of the claims, and judges it. */
void sim_op_run(struct sim_op *op, const struct sim_claim *claims);

/* The stream whose worker the calling thread is, and the ticket of what it runs. */
const struct sim_stream *sim_stream_running(void);
uint64_t sim_ticket_running(void);

/* Gives up an operation that was never queued. */
void sim_op_drop_locked(struct sim_op *op);

/* An operation that does nothing but order; NULL: out of memory. */
struct sim_op *sim_op_empty(void);

/* Has all work that a wait for `stream` covers, up to `ticket`, been completed? */
bool sim_stream_past_locked(const struct sim_stream *stream, uint64_t ticket);

/* Waits for that. */
void sim_stream_wait_locked(struct sim_stream *stream, uint64_t ticket);

/* Waits for all work enqueued so far in the context. */
void sim_context_drain_locked(struct sim_context *context);

/* The last ticket given out. */
uint64_t sim_ticket_locked(void);

struct sim_mark *sim_mark_new(void);
struct sim_mark *sim_mark_share_locked(struct sim_mark *mark);
void sim_mark_drop_locked(struct sim_mark *mark);

#endif
