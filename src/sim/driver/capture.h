/* SPDX-License-Identifier: MIT
 * capture.h - stream capture: sequences, who takes part in them, and the calls they forbid.
 *
 * A capture sequence begins on one stream, its origin. What is enqueued on a stream that takes part
 * becomes a node of the sequence's graph and does not run. An event recorded there stands for the
 * nodes that its stream's next node would depend on; another stream that waits for it takes part
 * from then on (a fork), and a stream of the sequence that waits for it depends on its nodes (a
 * join). The sequence ends on its origin, in the thread that began it unless it is relaxed, and by
 * then every node must lead back to the origin.
 *
 * A call that conflicts with a sequence fails and invalidates it; each invalidation is a violation
 * of kind "capture". Two kinds of conflict:
 *   - with a stream, event or context that takes part: whatever the modes, in every thread;
 *   - of an unsafe call (one that works at once and that no stream sees: allocations, frees, event
 *     queries, module loads): by the mode of the sequence, the mode of the thread, and whose
 *     sequence it is.
 *
 * A sequence lives as long as a stream or an event names it; `ended` tells that its graph is no
 * longer its own. Guarded by the lock. */
#ifndef SC_SIM_CAPTURE_H
#define SC_SIM_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "api.h"
#include "graph.h"

struct sim_event;
struct sim_op;
struct sim_stream;

struct sim_capture {
    struct sim_capture *next; /* of those that have not ended */
    unsigned references;      /* streams and events */
    uint64_t id;
    struct sim_graph *graph;
    bool lent; /* the graph is the program's (cuStreamBeginCaptureToGraph) */
    struct sim_stream *origin;
    CUstreamCaptureMode mode;
    uint64_t thread; /* that began it */
    bool invalid;
    bool ended;
};

/* A stream's or an event's part in a sequence. */
struct sim_part {
    struct sim_capture *capture; /* NULL: none */
    struct sim_nodes nodes;      /* what comes next depends on these; void once it has ended */
    CUgraphEdgeData *edges;      /* what cuStreamGetCaptureInfo last said of them */
};

/* Begins a sequence on a stream, in `graph` behind `needs`, or in a graph of its own. */
CUresult sim_capture_begin_locked(struct sim_stream *stream, CUstreamCaptureMode mode,
                                  struct sim_graph *graph, const struct sim_nodes *needs);

/* Ends the sequence of its origin; *graph is the program's then, NULL unless it succeeds. */
CUresult sim_capture_end_locked(struct sim_stream *stream, struct sim_graph **graph);

/* Makes `op` a node of the sequence that `stream` takes part in, and owns it, also on failure. */
CUresult sim_capture_take_locked(struct sim_stream *stream, struct sim_op *op);

/* cuEventRecord and cuStreamWaitEvent where stream or event takes part. */
CUresult sim_capture_record_locked(struct sim_stream *stream, struct sim_event *event);
CUresult sim_capture_wait_locked(struct sim_stream *stream, const struct sim_event *event);

/* May the legacy stream of `context` be used? It covers the blocking streams, so not while one of
 * them takes part. */
CUresult sim_capture_legacy_locked(const struct sim_context *context);

/* The same as a question that invalidates nothing. */
bool sim_capture_covers_locked(const struct sim_context *context);

/* May somebody ask about, or wait for, the work of a stream, an event, or a context? */
CUresult sim_capture_ask_stream_locked(const struct sim_stream *stream);
CUresult sim_capture_ask_event_locked(const struct sim_event *event);
CUresult sim_capture_ask_context_locked(const struct sim_context *context);

/* May the calling thread make an unsafe call? */
CUresult sim_capture_unsafe(void);
CUresult sim_capture_unsafe_locked(void);

/* The stream is closed: its sequence ends with its origin, and goes on without any other. */
void sim_capture_leave_locked(struct sim_stream *stream);

/* Forgets what was captured. */
void sim_part_drop_locked(struct sim_part *part);

/* Gives the calling thread a mode and returns the one it had. */
CUstreamCaptureMode sim_capture_exchange(CUstreamCaptureMode mode);

#endif
