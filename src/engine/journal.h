/* SPDX-License-Identifier: MIT
 * journal.h - turns what one device's cache reports into records and notices that wait to be
 * written.
 *
 * Its observer runs under the device's lock, inside requests: it formats into an outbox and a small
 * text for stderr, and asks no more of the world than the time. Rows of shapes are many and are not
 * written where they fall due but when the log is next flushed (`is_walk_due`).
 *
 * The device's lock guards it. */
#ifndef SC_ENGINE_JOURNAL_H
#define SC_ENGINE_JOURNAL_H

#include "cache/away.h"
#include "engine/outbox.h"
#include "engine/strict.h"
#include "engine/verdict.h"
#include <stdbool.h>
#include <stdint.h>

struct shapecache_scope_info;

enum { SC_NOTICE_BYTES = 1024 };

/* Answers "out of memory" that reached the program: no retry got it what it asked for. */
typedef struct sc_refusals {
    uint64_t count;
    uint64_t last_ns; /* since the run began; the rest is of the last one */
    uint64_t bytes;   /* 0: another allocator's, whose size we are not told */
    uint32_t site;
} sc_refusals;

/* The last change to fallback. */
typedef struct sc_fallback {
    bool is_there;        /* else there was none */
    uint64_t ns;          /* since the run began */
    uint64_t step, bytes; /* bytes: of the shape that brought it about; 0: none did */
    uint32_t site;
    sc_reason reason;
} sc_fallback;

typedef struct sc_journal {
    int device;
    sc_outbox outbox;
    sc_text notices; /* lines for stderr, each terminated */
    char notice_bytes[SC_NOTICE_BYTES];
    bool is_noticed[SC_PHASE_COUNT]; /* the first change into a phase is also a notice */
    bool is_walk_due;                /* rows of changed shapes */
    sc_step_end ended_by;            /* what ended the last step */
    uint64_t step;                   /* boundaries so far */
    uint64_t events;                 /* rows of single requests so far, lost ones too */
    uint64_t step_began;             /* ns since the run began */
    uint64_t driver_free; /* the driver's free bytes, for the next step row; 0: not asked */
    sc_refusals refusals;
    sc_strict strict;
    sc_fallback fallback;
    uint64_t step_peak; /* the most live in any completed step; 0: there is none */
    sc_marks unwritten; /* high-water marks of the steps since the last row */
} sc_journal;

/* False: out of memory. */
bool sc_journal_init(sc_journal *journal, int device, sc_step_source source);
void sc_journal_release(sc_journal *journal);
sc_cache_observer sc_journal_observer(sc_journal *journal);

/* A record with the fields that every one of a device has; and its site, with that one's own
 * record where this is its first mention. */
sc_record sc_journal_begin(sc_journal *journal, sc_event event, bool must_keep);
void sc_journal_name_site(sc_record *record, uint32_t site);

/* How an allocation that succeeded was answered, and what became of a block. */
typedef enum sc_outcome {
    SC_OUTCOME_HIT,
    SC_OUTCOME_MISS,
    SC_OUTCOME_BYPASSED,
    SC_OUTCOME_PARKED,
    SC_OUTCOME_DRIVER,    /* freed; said before the driver is asked */
    SC_OUTCOME_UNKNOWN,   /* no cache knows the address: the driver is asked */
    SC_OUTCOME_ELSEWHERE, /* freed by another call */
    SC_OUTCOME_CONTEXT,   /* died with its context */
    SC_OUTCOME_COUNT
} sc_outcome;

/* One allocation that succeeded; `shape` may be NULL when the cache does not know it. */
typedef struct sc_allocation {
    sc_address address;
    uint64_t bytes;
    const uint32_t *shape;
    uint32_t site;
    sc_outcome outcome;
    uint64_t ns; /* what it took */
} sc_allocation;
/* Level event only, else nothing. */
void sc_journal_alloc(sc_journal *journal, const sc_allocation *allocation);
/* `ns`: what a parked free waited. */
void sc_journal_free(sc_journal *journal, sc_address address, sc_outcome outcome, uint64_t ns);

/* The driver ran out of memory. */
void sc_journal_oom(sc_journal *journal, const sc_oom *oom, const sc_in_force *force);

/* What a framework's own allocator says of itself; `oom`: of this one, with the advice that follows
 * from it, or NULL. */
void sc_journal_allocator(sc_journal *journal, const char *what, const sc_allocator *allocator,
                          const sc_oom *oom, const sc_in_force *force);

/* The program marks this moment. */
void sc_journal_mark(sc_journal *journal, const char *name);
/* The program had everything idle given back: so many exact bytes. */
void sc_journal_trim(sc_journal *journal, uint64_t bytes);
/* A memory scope of the program ended. */
void sc_journal_scope(sc_journal *journal, const char *name,
                      const struct shapecache_scope_info *info);

/* A shape's row at the end of `text`; false: did not fit. */
bool sc_journal_shape(sc_journal *journal, sc_text *text, const sc_shape_row *row);
/* The totals' row. `is_unrecovered`: an out-of-memory was the last that happened. */
void sc_journal_end(sc_journal *journal, const sc_cache_totals *totals, const sc_spared *spared,
                    bool is_unrecovered);

/* Why it came to that, in words. */
void sc_fallback_explain(sc_text *text, const sc_fallback *fallback);

bool sc_journal_wants_flush(const sc_journal *journal);
bool sc_journal_is_filling(const sc_journal *journal); /* should not wait for a free any more */

#endif
