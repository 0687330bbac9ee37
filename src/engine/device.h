/* SPDX-License-Identifier: MIT
 * device.h - one record per device that has allocated, and the table of contexts that leads to it.
 *
 * A record is made at the device's first allocation, published once and never destroyed, so that a
 * pointer to it stays good; its lock guards its cache and its journal. Contexts come and go: the
 * table has a lock of its own, and a generation, bumped when a context ends, tells each thread that
 * what it remembers of its current context may be stale (the driver hands out the same handle
 * again). */
#ifndef SC_ENGINE_DEVICE_H
#define SC_ENGINE_DEVICE_H

#include "cache/cache.h"
#include "engine/journal.h"
#include "engine/lock.h"
#include "engine/oom.h"
#include "engine/passed.h"
#include <stdatomic.h>

enum { SC_DEVICE_MOST = 64, SC_CONTEXT_MOST = 256 };

/* What an open memory scope has seen of the device so far; see region.h. */
typedef struct sc_watch {
    const struct sc_region *owner;
    sc_marks before, most; /* before.held: live and idle */
} sc_watch;

enum { SC_WATCH_MOST = 64 };

typedef struct sc_device {
    int ordinal;
    sc_mutex lock;
    sc_cache *cache;
    sc_journal journal;
    sc_passed passed;
    sc_held_oom oom;
    uint64_t at_start;               /* bytes in use by others when it was made; 0: not known */
    uint64_t asked;                  /* when the driver was last asked for its free memory */
    unsigned returning;              /* threads that are giving idle buffers back to the driver */
    atomic_uint returned;            /* how often one of them was done; written under the lock */
    unsigned awaiting;               /* threads that wait for that to change */
    sc_watch watches[SC_WATCH_MOST]; /* the first `watch_count` are in use */
    unsigned watch_count;
} sc_device;

/* The record of the current context's device, made where there is none yet; that context in
 * *context. NULL: no context is current, the driver would not say, or out of memory. One driver
 * call when this thread has asked in the same context before. Without locks. */
sc_device *sc_device_current(sc_context *context);
/* The same, but never makes one. */
sc_device *sc_device_current_known(sc_context *context);

sc_device *sc_device_by_ordinal(int ordinal); /* NULL: has not allocated */
sc_device *sc_device_of_context(sc_context context);
sc_context sc_device_some_context(const sc_device *device); /* 0: all have ended */

/* Every device, in order: for (d = sc_device_next(NULL); d; d = sc_device_next(d)) */
sc_device *sc_device_next(const sc_device *device);

/* The context is about to end: its device's cache forgets what dies with it. */
void sc_device_context_ends(sc_context context);

/* The context may reach the memory of others, whether it allocates or not. False: there are too
 * many to remember. Needs no process that is on: programs do this first. */
bool sc_device_peer(sc_context context);

/* Contexts that have allocated or may reach others' memory, at most `most` of them. */
unsigned sc_device_contexts(sc_context *contexts, unsigned most);

/* Every device there is, and those to come, are OFF for `reason`; the first reason counts. */
void sc_device_close_all(sc_reason reason);

#endif
