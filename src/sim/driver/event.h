/* SPDX-License-Identifier: MIT
 * event.h - events: a name for "the work enqueued on that stream before this call".
 *
 * Each record makes a fresh mark (stream.h) that the recording operation completes; the event
 * points to its latest one, so a wait enqueued earlier keeps the record it saw. A record on a
 * capturing stream makes no mark: the event then takes part in the capture, unless it is external:
 * then it is a node of the graph and each launch records it (event_node.c). An event ends once it
 * is destroyed and no node has it. All functions expect the lock to be held. */
#ifndef SC_SIM_EVENT_H
#define SC_SIM_EVENT_H

#include "api.h"
#include "capture.h"
#include "handle.h"

struct sim_expected;
struct sim_mark;
struct sim_op;

struct sim_event {
    struct sim_object object;
    unsigned flags;
    struct sim_mark *mark;         /* NULL: never recorded, or last in a capture */
    struct sim_part part;          /* of the capture it was last recorded in; none: it was not */
    struct sim_expected *expected; /* records by launches whose nodes have not run, oldest first */
    unsigned nodes;                /* that record it or wait for it */
    bool closed;
};

/* The program has done with the event. */
void sim_event_close_locked(struct sim_event *event);

/* Makes `mark`, which is the event's from then on, its latest record. */
void sim_event_give_locked(struct sim_event *event, struct sim_mark *mark);

/* An operation of a graph that records the event, or waits for its latest record; NULL: out of
 * memory. */
struct sim_op *sim_event_node_locked(struct sim_event *event, bool records);

/* A launch is queued that will run `op`, which records an event. */
void sim_event_expect_locked(const struct sim_op *op);

#endif
