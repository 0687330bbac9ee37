/* SPDX-License-Identifier: MIT
 * event.h - events: a name for "the work enqueued on that stream before this call".
 *
 * Each record makes a fresh mark (stream.h) that the recording operation completes; the event
 * points to its latest one, so a wait enqueued earlier keeps the record it saw. A record on a
 * capturing stream makes no mark: the event then takes part in the capture. Guarded by the lock. */
#ifndef SC_SIM_EVENT_H
#define SC_SIM_EVENT_H

#include "api.h"
#include "capture.h"
#include "handle.h"

struct sim_mark;

struct sim_event {
    struct sim_object object;
    unsigned flags;
    struct sim_mark *mark; /* NULL: never recorded, or last in a capture */
    struct sim_part part;  /* of the capture it was last recorded in; none: it was not */
};

#endif
