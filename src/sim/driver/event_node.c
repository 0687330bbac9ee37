/* SPDX-License-Identifier: MIT
 * event_node.c - external events: records and waits that are nodes of a graph.
 *
 * Each launch records the event anew: it is not done from the launch until the node has run. Marks
 * wait with the event in the order of the launches, which is that of the nodes' runs for one
 * executable. */
#include <stdlib.h>

#include "clock.h"
#include "event.h"
#include "lock.h"
#include "stream.h"

struct event_op {
    struct sim_op op;
    struct sim_event *event;
};

struct sim_expected {
    struct sim_expected *next;
    struct sim_mark *mark;
};

static struct sim_event *event_of(const struct sim_op *op)
{
    return ((const struct event_op *)op)->event;
}

static void finish_locked(struct sim_mark *mark)
{
    mark->done = true;
    mark->time_ns = sim_now_ns();
    sim_mark_drop_locked(mark);
    sim_progress_locked();
}

static void finish_first_locked(struct sim_event *event)
{
    struct sim_expected *first = event->expected;

    event->expected = first->next;
    finish_locked(first->mark);
    free(first);
}

static void end_if_over(struct sim_event *event)
{
    if (event->nodes > 0 || !event->closed)
        return;
    while (event->expected)
        finish_first_locked(event);
    free(event);
}

void sim_event_close_locked(struct sim_event *event)
{
    if (event->mark)
        sim_mark_drop_locked(event->mark);
    event->mark = NULL;
    sim_part_drop_locked(&event->part);
    event->closed = true;
    end_if_over(event);
}

void sim_event_give_locked(struct sim_event *event, struct sim_mark *mark)
{
    if (event->mark)
        sim_mark_drop_locked(event->mark);
    event->mark = mark;
    sim_part_drop_locked(&event->part);
}

void sim_event_expect_locked(const struct sim_op *op)
{
    struct sim_event *event = event_of(op);
    struct sim_expected **link = &event->expected;
    struct sim_expected *expected = malloc(sizeof *expected);
    struct sim_mark *mark = sim_mark_new();

    if (!expected || !mark) { /* the node finds nothing to do */
        free(expected);
        free(mark);
        return;
    }
    *expected = (struct sim_expected){.mark = sim_mark_share_locked(mark)};
    while (*link)
        link = &(*link)->next;
    *link = expected;
    if (event->closed)
        sim_mark_drop_locked(mark);
    else
        sim_event_give_locked(event, mark);
}

static void run_record(struct sim_op *op, const struct sim_claim *claims)
{
    (void)claims;
    sim_lock();
    if (event_of(op)->expected)
        finish_first_locked(event_of(op));
    sim_unlock();
}

static void run_wait(struct sim_op *op, const struct sim_claim *claims)
{
    struct sim_mark *mark;

    (void)claims;
    sim_lock();
    mark = event_of(op)->mark ? sim_mark_share_locked(event_of(op)->mark) : NULL;
    while (mark && !mark->done)
        sim_wait_locked();
    if (mark)
        sim_mark_drop_locked(mark);
    sim_unlock();
}

static void release(struct sim_op *op)
{
    struct sim_event *event = event_of(op);

    free(op);
    event->nodes--;
    end_if_over(event);
}

struct sim_op *sim_event_node_locked(struct sim_event *event, bool records)
{
    struct event_op *made = malloc(sizeof *made);

    if (!made)
        return NULL;
    *made = (struct event_op){
        .op = {.run = records ? run_record : run_wait,
               .release = release,
               .node = records ? CU_GRAPH_NODE_TYPE_EVENT_RECORD : CU_GRAPH_NODE_TYPE_WAIT_EVENT},
        .event = event};
    event->nodes++;
    return &made->op;
}
