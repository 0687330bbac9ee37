/* SPDX-License-Identifier: MIT
 * cache.h - the buffer cache of one device: what is live, what is idle, and what to do next.
 *
 * The cache decides; the engine acts. No function here calls the driver, reads a clock, writes or
 * locks: the engine calls them under the device's lock, drops it, makes the driver calls that the
 * answer asks for, and tells the cache how they went. So one request is
 *
 *     sc_cache_request -> SC_HIT: the address is the answer
 *                      -> SC_ALLOCATE: [sc_cache_take(ROOM) until 0, freeing what it names]
 *                         driver allocation -> sc_cache_allocated, or sc_cache_failed
 *
 * and one free is
 *
 *     sc_cache_free -> SC_FREE_PARK:    wait for the device -> sc_cache_park, or sc_cache_unpark
 *                   -> SC_FREE_RELEASE: driver free (the address is forgotten already, because
 *                                       the driver may hand it to another thread at once)
 *                   -> SC_FREE_TWICE:   CUDA_ERROR_INVALID_VALUE
 *                   -> SC_FREE_UNKNOWN: the driver's business
 *                   then sc_cache_take(DUE) until 0, freeing what it names.
 *
 * Each buffer is one whole driver allocation of exactly the bytes asked for. A shape is (context,
 * bytes), with or without the call site; its buffers are numbered slots, and a request takes the
 * lowest-numbered idle one, so that step N+1 gets the pointers of step N.
 *
 * A size becomes a shape when the driver first grants it. One that it refuses is none: a program
 * that probes how much there is, and survives the answer, changes no set. Until then its requests
 * are bypassed where it would be new.
 *
 * Invariants (sc_cache_check() asserts the last, the tests the others):
 *
 *  - held = live + idle, in the driver's mapped bytes; buffers on their way back to the driver
 *    (taken, not yet gone) still count as idle.
 *  - while gated: held <= max(live, min(limit, (1 + overhead) x peak)) after every completed
 *    operation, peak being the most live bytes of the last max_age steps.
 *  - in every phase but FIXED nothing idle is handed out, and from the first take(DUE) on nothing
 *    is idle.
 *  - while gated, after take(DUE): held <= max(live, what it was when the driver was last asked +
 * what the driver had free then - reserve).
 *  - a buffer is in the table exactly while it is live, being parked, or idle.
 *
 * Memory: the cache owns its records (malloc); nothing is allocated on a hit or a park. */
#ifndef SC_CACHE_CACHE_H
#define SC_CACHE_CACHE_H

#include "base/driver.h"
#include "base/hint.h"
#include "cache/gate.h"
#include "cache/step.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sc_cache sc_cache;
typedef struct sc_buffer sc_buffer;

/* What ends steps. */
typedef enum sc_step_source {
    SC_STEPS_NAMED,    /* sc_cache_step_end() */
    SC_STEPS_INFERRED, /* what arrives, see step.h; until the first sc_cache_step_end() */
    SC_STEPS_COUNTED,  /* every step_requests requests, and nothing else */
} sc_step_source;

/* A set of shapes that was known before: caching starts at once, and none of it is ever new. */
typedef struct sc_declared {
    uint64_t shapes; /* how many; 0: nothing was declared */
    /* What was said of this one, which may be nothing; NULL: it is not in the set. Called under the
     * device's lock. 0 bytes: any shape of the site. */
    const sc_hint *(*find)(uint64_t bytes, uint32_t site);
} sc_declared;

typedef struct sc_cache_rules {
    sc_gate_rules gate;
    bool is_observing; /* the gate runs, nothing is ever parked or served */
    sc_step_source step_source;
    uint64_t step_requests; /* at least 1 */
    sc_declared declared;
    bool is_scoped_by_site; /* one gate per call site, which must be part of the key */
    bool is_keyed_by_site;  /* the call site is part of the key */
    uint64_t overhead_percent;
    uint64_t limit;    /* bytes */
    uint64_t max_age;  /* steps */
    uint64_t small;    /* bytes: requests below never change the phase */
    uint64_t total;    /* bytes of the device's memory; 0: unknown */
    uint64_t reserve;  /* bytes the driver is to have free while anything is idle */
    uint64_t max_idle; /* ns after which an unused idle buffer goes back; 0: never */
} sc_cache_rules;

/* One request as it arrives. */
typedef struct sc_request {
    sc_context context;
    uint64_t bytes;
    uint32_t site;   /* number of the call site; 0: unknown */
    bool is_passing; /* must go to the driver whatever the phase: a capture is open */
} sc_request;

/* Counters of one step. The cache counts, taking the driver calls it asks for to succeed; the
 * engine adds the times, malloc_frees, and the driver calls for blocks that the cache does not know
 * (SC_PASS, SC_FREE_UNKNOWN). All restart at 0 with each step, but for the two peaks, which restart
 * at the current value. */
typedef struct sc_tally {
    uint64_t requests, hits, misses, bypassed; /* requests = hits + misses + bypassed */
    uint64_t driver_allocs, driver_frees; /* driver calls that succeeded, ours and the program's */
    uint64_t malloc_frees;                /* of those frees, made inside an allocation */
    uint64_t evicted;                     /* idle buffers given back for room */
    uint64_t expired;                     /* idle buffers given back because unused for max_idle */
    uint64_t live_peak, held_peak;        /* mapped bytes */
    uint64_t driver_ns;                   /* exact, in allocations and frees */
    uint64_t wait_ns;                     /* exact, parked frees waiting for the device */
    uint64_t hit_ns, sampled;             /* time of `sampled` hits out of all */
} sc_tally;

/* What the engine tells the log about a shape. */
typedef struct sc_shape_row {
    uint32_t id;
    uint64_t bytes;
    uint32_t site;
    uint64_t requests, hits, misses, evicted;
    uint64_t live, idle;       /* buffers now */
    uint64_t high, bytes_high; /* most buffers live at once, and their mapped bytes */
    uint64_t mapped;           /* what one buffer adds to the sum of those of its kind */
    uint64_t before;           /* most buffers live at once in the step before last_step */
    uint64_t first_step, last_step;
    uint64_t miss_ns;     /* driver time of its allocations */
    uint64_t allocations; /* driver allocations that miss_ns covers */
    const sc_hint *hint;  /* NULL: the program said nothing */
} sc_shape_row;

typedef struct sc_phase_change {
    sc_phase from, to;
    sc_reason reason;
    uint64_t step;
    const sc_shape_row *shape; /* what brought it about; NULL when no single request did */
    uint64_t set_size;         /* shapes used in the last max_age steps, or declared */
    uint64_t idle_released;    /* mapped bytes the change gives back, at once or at the next free */
    bool is_of_scope;          /* of the gate of one call site; else of the device */
    uint32_t scope;            /* number of that site; 0: unknown */
} sc_phase_change;

/* Gates of call sites: all, and those in FIXED; 0 where there is one for the device. */
typedef struct sc_scope_count {
    uint32_t all, fixed;
} sc_scope_count;

typedef struct sc_step_row {
    uint64_t step;  /* boundaries before this one: the first step is 0 */
    sc_phase phase; /* at its end, before any change the end itself brings */
    sc_tally tally;
    uint64_t live, idle;   /* mapped bytes at its end */
    sc_scope_count scopes; /* at its end */
    sc_step_end ended_by;
} sc_step_row;

/* How a live block went without sc_cache_free(). */
typedef enum sc_loss {
    SC_LOST_ELSEWHERE, /* something else freed it */
    SC_LOST_CONTEXT    /* its context ended */
} sc_loss;

/* Called under the device's lock while a call below runs (without a gate sc_cache_new() reports the
 * first phase): they may format, but not lock, write or call back. */
typedef struct sc_cache_observer {
    void *self;
    void (*phase)(void *self, const sc_phase_change *change);
    void (*step)(void *self, const sc_step_row *row);
    void (*shape)(void *self, const sc_shape_row *row);         /* first sight of a shape */
    void (*lost)(void *self, sc_address address, sc_loss loss); /* live, and forgotten */
} sc_cache_observer;

/* NULL when out of memory. A zero observer is allowed. */
sc_cache *sc_cache_new(const sc_cache_rules *rules, const sc_cache_observer *observer);
void sc_cache_delete(sc_cache *cache); /* forgets; nothing is given back to the driver */

typedef enum sc_answer { SC_HIT, SC_ALLOCATE, SC_PASS } sc_answer;

/* SC_HIT: *buffer is live and its address is the answer. SC_ALLOCATE: *buffer is reserved and
 * counts as live for the cap (for the figures when the driver has granted it); end it with
 * sc_cache_allocated() or sc_cache_failed(). SC_PASS: more than the device has, or out of memory
 * for our own records; make the driver call and forget about it (counted, *buffer is NULL). A
 * request may end a step first. */
sc_answer sc_cache_request(sc_cache *cache, sc_request request, sc_buffer **buffer);
sc_address sc_buffer_address(const sc_buffer *buffer);
sc_context sc_buffer_context(const sc_buffer *buffer);
uint64_t sc_buffer_bytes(const sc_buffer *buffer);
uint32_t sc_buffer_shape(const sc_buffer *buffer); /* the shape's id */
bool sc_buffer_is_miss(const sc_buffer *buffer);   /* of SC_ALLOCATE: a miss; else bypassed */

/* Why a settled cache asks the driver all the same. It is settled from the second step of a stretch
 * of FIXED on: in the first it fills. Without a gate it never is. */
typedef enum sc_lapse {
    SC_LAPSE_NONE, /* it was not settled, or the request was none of the cache's */
#define LAPSE(symbol, word, meaning) SC_LAPSE_##symbol,
#include "cache/phase.def"
    SC_LAPSE_COUNT
} sc_lapse;
sc_lapse sc_buffer_lapse(const sc_buffer *buffer); /* of SC_ALLOCATE */

/* The driver answered. `ns`: what its call took. False: the address is one we hold already, which
 * means that something frees behind our back; the old record is forgotten and the new one kept. */
bool sc_cache_allocated(sc_cache *cache, sc_buffer *buffer, sc_address address, uint64_t ns);
void sc_cache_failed(sc_cache *cache, sc_buffer *buffer);

typedef enum sc_free_answer {
    SC_FREE_UNKNOWN,
    SC_FREE_PARK,
    SC_FREE_RELEASE,
    SC_FREE_TWICE
} sc_free_answer;

/* Only a block's exact address is known here. SC_FREE_PARK: *buffer is being parked (a second free
 * answers SC_FREE_TWICE). SC_FREE_RELEASE: forgotten, *buffer is NULL. `is_passing` as in
 * sc_request. */
sc_free_answer sc_cache_free(sc_cache *cache, sc_address address, bool is_passing,
                             sc_buffer **buffer);

/* The wait succeeded, at `now` (see sc_cache_tick()). True: the buffer is idle now, or was
 * forgotten meanwhile: nothing is left to do. False: the phase changed meanwhile; the cache has
 * forgotten it and the engine must free it (its address was read before). */
bool sc_cache_park(sc_cache *cache, sc_buffer *buffer, uint64_t now);
/* The wait failed: the buffer is forgotten. True: the engine makes the real free. False: it was
 * forgotten before, so its memory has gone by another door and its address may have a new owner: no
 * free. */
bool sc_cache_unpark(sc_cache *cache, sc_buffer *buffer);

typedef enum sc_take {
    SC_TAKE_ROOM, /* inside an allocation: only what the cap forbids */
    SC_TAKE_DUE,  /* where the program itself would wait: everything outside FIXED; in it, what was
                     unused for max_idle, what the driver's reserve needs, and what the cap forbids
                     with room for the misses expected before the next free, so that those need
                     not free */
    SC_TAKE_ALL   /* everything idle: out of memory, trim */
} sc_take;

/* Pick idle buffers to give back, as many as there is room for here, least value first (fewest
 * requests per byte per step, see cap.h). The cache has forgotten them. After the driver's frees,
 * hand the same record to sc_cache_gone(). */
typedef struct sc_victims {
    unsigned count;
    uint64_t bytes; /* exact bytes of all, for sc_cache_gone() */
    sc_address address[64];
    uint64_t size[64];
} sc_victims;
void sc_cache_take(sc_cache *cache, sc_take why, sc_victims *victims);
void sc_cache_gone(sc_cache *cache, const sc_victims *victims);

/* True when the next sc_cache_take(why) would return something: lets the engine skip it. */
bool sc_cache_wants(const sc_cache *cache, sc_take why);

/* It is `now`, ns on a clock of the engine's choice that never goes back; calls may come late and
 * out of order. Where the program itself would wait, before take(DUE): buffers that were idle for
 * max_idle, or up to a sixteenth longer, may from now on only be given back. */
void sc_cache_tick(sc_cache *cache, uint64_t now);
/* The driver has this much free at the moment; asked at most once a second, in the same places. */
void sc_cache_driver_free(sc_cache *cache, uint64_t bytes);
/* True when that figure could make a difference. */
bool sc_cache_minds_driver_free(const sc_cache *cache);

/* Events of other kinds. */
void sc_cache_step_end(
    sc_cache *cache); /* the program says so; from the first call on inference is off */
/* Counted. True: something is idle that may make up for `bytes` (0: unknown); take ALL and retry
 * once. */
bool sc_cache_out_of_memory(sc_cache *cache, uint64_t bytes);
void sc_cache_close(sc_cache *cache, sc_reason reason); /* phase OFF, for good */
void sc_cache_export(sc_cache *cache,
                     sc_address address); /* will really be freed when its time comes */
void sc_cache_forget(sc_cache *cache, sc_address address);         /* freed by another door */
void sc_cache_forget_context(sc_cache *cache, sc_context context); /* its memory dies with it */

/* What the block at exactly this address is for, by the program: its whole shape's. */
typedef enum sc_hint_answer { SC_HINT_TAKEN, SC_HINT_UNKNOWN, SC_HINT_NO_MEMORY } sc_hint_answer;
sc_hint_answer sc_cache_hint(sc_cache *cache, sc_address address, const sc_hint *hint);

/* Whether the shape of this request has been seen. */
bool sc_cache_knows(const sc_cache *cache, const sc_request *request);

/* For the engine's log. */
sc_tally *sc_cache_tally(sc_cache *cache); /* of the step that runs */

typedef struct sc_cache_totals {
    sc_phase phase;
    uint64_t step; /* boundaries so far */
    uint64_t steps_in[SC_PHASE_COUNT];
    sc_tally all;        /* sums over the whole run, peaks of it */
    uint64_t live, idle; /* mapped bytes now */
    uint64_t live_bytes; /* exact */
    uint64_t shapes, shapes_forgotten;
    sc_scope_count scopes; /* now */
    uint64_t fallbacks, ooms;
} sc_cache_totals;
void sc_cache_read_totals(const sc_cache *cache, sc_cache_totals *totals);

/* High-water marks since the last call (or the start); both restart at what is there now. */
typedef struct sc_marks {
    uint64_t live, held; /* mapped bytes */
} sc_marks;
sc_marks sc_cache_lap(sc_cache *cache);

/* Walk the shapes: those changed since they were last walked with `only_changed`, or all. */
void sc_cache_each_shape(sc_cache *cache, bool only_changed,
                         void (*visit)(void *self, const sc_shape_row *row), void *self);

/* The same of all, and none counts as walked. */
void sc_cache_look_at_shapes(const sc_cache *cache,
                             void (*visit)(void *self, const sc_shape_row *row), void *self);

void sc_cache_check(const sc_cache *cache); /* asserts the invariants; for tests */

#endif
