/* SPDX-License-Identifier: MIT
 * process.h - the one state of the process: settings, identity, and whether the cache is on.
 *
 *     IDLE -> STARTING -> ON -> DONE      one way
 *                    \-> OFF
 *
 * `start` runs in the first thread that allocates. Others wait for it, so that the log knows every
 * request, but a second at most: it calls the driver and the loader, and whoever waits may hold
 * what those need. Then they pass through to the driver.
 *
 * ON holds in this process only: a page that the kernel wipes in every child tells a fork, raw
 * clone included, before any lock is touched. Where there is no such page the cache stays off.
 *
 * Everything but the atomics is written by start, before ON is published, and constant after. */
#ifndef SC_ENGINE_PROCESS_H
#define SC_ENGINE_PROCESS_H

#include "base/options.h"
#include "base/path.h"
#include "cache/gate.h"
#include "engine/engine.h"
#include "engine/verdict.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum sc_stage {
    SC_STAGE_IDLE,
    SC_STAGE_STARTING,
    SC_STAGE_ON,
    SC_STAGE_OFF,
    SC_STAGE_DONE
} sc_stage;

typedef struct sc_process {
    _Atomic(const sc_engine_host *) host;
    _Atomic(sc_stage) stage;
    const volatile unsigned char *parent_page; /* 1 in this process, 0 in a forked child */
    sc_options options;
    bool is_set[SC_OPTION_COUNT];
    sc_identity identity;
    uint64_t t0;       /* monotonic ns */
    sc_in_force force; /* of a framework's settings, as they were at start */

    bool passes_hoarders; /* what a caching allocator asks for is none of the cache's business */
    bool is_scripted;     /* there is an interpreter, which can tell where its script stands */

    atomic_uint captures;   /* open in the whole process: above 0 everything passes */
    atomic_bool is_passing; /* a door goes round us: observe, and give back what is idle */
    atomic_bool
        has_others; /* another allocator's call has succeeded: pools, mapped or managed memory */
    atomic_bool is_peered; /* peer access is on: a parked free waits for every context */
    _Atomic(sc_reason)
        closing;       /* why devices to come are OFF from the start; SET_FIXED: they are not */
    atomic_uint doors; /* bit per sc_door */
} sc_process;

extern sc_process sc_process_self;

static inline const sc_driver *sc_process_driver(void)
{
    return atomic_load_explicit(&sc_process_self.host, memory_order_acquire)->driver;
}

static inline bool sc_process_is_on(void)
{
    return atomic_load_explicit(&sc_process_self.stage, memory_order_acquire) == SC_STAGE_ON &&
           *sc_process_self.parent_page;
}

static inline bool sc_process_is_capturing(void)
{
    return atomic_load_explicit(&sc_process_self.captures, memory_order_relaxed) != 0;
}

/* No thread has started the cache, or one is about to. */
static inline bool sc_process_may_start(void)
{
    return atomic_load_explicit(&sc_process_self.stage, memory_order_relaxed) <= SC_STAGE_STARTING;
}

/* Starts the process's cache where a context is current and nobody has yet; waits, a second at
 * most, for another thread that does. Called without locks. */
void sc_process_start(void);

/* Nobody has started the cache, and it is not switched off. In one thread, at the end. */
bool sc_process_would_start(void);

/* ON -> DONE, once; false: it was not on, or this is a child. */
bool sc_process_end(void);

#endif
