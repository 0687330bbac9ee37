/* SPDX-License-Identifier: MIT
 * ring_log.h - `ring` records of the log.
 *
 * Straight into the log's file, where this process has one; nothing waits in an outbox, since a
 * ring is started, reported, saved and loaded seldom, in calls that may wait. Without locks. */
#ifndef SC_ENGINE_RING_LOG_H
#define SC_ENGINE_RING_LOG_H

#include "ring/plan.h"
#include "shapecache/ring.h"

/* `what` happened, and to which ring in which state; `sentence` may be NULL. */
void sc_ring_record(const sc_ring_plan *plan, const shapecache_ring_info *info, const char *what,
                    const char *sentence);

#endif
