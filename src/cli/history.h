/* SPDX-License-Identifier: MIT
 * history.h - what one log tells: the process, and for each of its devices the phases, totals and
 * shapes.
 *
 * Built record by record, so a log of any length needs memory for its shapes and changes of phase
 * alone, and those are bounded: what goes beyond is counted. Totals are the `end` record's; of a
 * run that was killed, the sums over its step rows (`is_complete` is false, and `rows` says how
 * many there were). */
#ifndef SC_CLI_HISTORY_H
#define SC_CLI_HISTORY_H

#include "base/hint.h"
#include "base/options.h"
#include "cli/arenas.h"
#include "cli/incidents.h"
#include "cli/reader.h"
#include "cli/sites.h"
#include "cli/symbols.h"
#include <stdbool.h>
#include <stdint.h>

enum {
    SC_CHANGES_MOST = 4096,
    SC_SHAPES_MOST = 262144,
    SC_DEVICES_MOST = 64,
    SC_NOTES_MOST = 64,
    SC_PHASES_MOST = 8,
    SC_WORD_BYTES = 24
};

/* Counters of some steps, each with the field it is read from and shown as. X(HOW, MEMBER, FIELD):
 * SUM is added up over step rows, MOST is the largest. Those of `end` are the same, of all. */
#define SC_SUMS(X)                                                                                 \
    X(SUM, requests, REQUESTS)                                                                     \
    X(SUM, hits, HITS)                                                                             \
    X(SUM, misses, MISSES)                                                                         \
    X(SUM, bypassed, BYPASSED)                                                                     \
    X(SUM, evicted, EVICTED)                                                                       \
    X(SUM, expired, EXPIRED)                                                                       \
    X(MOST, live_peak, LIVE_PEAK)                                                                  \
    X(MOST, held_peak, HELD_PEAK)                                                                  \
    X(SUM, driver_allocs, DRIVER_ALLOCS)                                                           \
    X(SUM, driver_frees, DRIVER_FREES)                                                             \
    X(SUM, malloc_frees, MALLOC_FREES)                                                             \
    X(SUM, driver_ns, DRIVER_NS)                                                                   \
    X(SUM, wait_ns, WAIT_NS)                                                                       \
    X(SUM, hit_ns, HIT_NS)                                                                         \
    X(SUM, sampled, SAMPLED)

typedef struct sc_sums {
    uint64_t rows;   /* step rows summed */
    uint64_t dur_ns; /* of them; `end` does not tell it */
#define MEMBER(how, member, field) uint64_t member;
    SC_SUMS(MEMBER)
#undef MEMBER
} sc_sums;

typedef struct sc_change {
    uint64_t step, t_ns;
    char from[SC_WORD_BYTES], to[SC_WORD_BYTES], reason[SC_WORD_BYTES];
    bool has_shape;
    uint64_t shape, bytes;
    char *site; /* NULL: unknown */
    uint64_t set_size, idle_released;
} sc_change;

/* The steps spent in one phase, all its stretches together. */
typedef struct sc_phase_sums {
    char phase[SC_WORD_BYTES];
    sc_sums sums;
} sc_phase_sums;

/* What the last row of a shape says, as above. X(MEMBER, FIELD) */
#define SC_SHAPE_COUNTS(X)                                                                         \
    X(requests, REQUESTS)                                                                          \
    X(hits, HITS)                                                                                  \
    X(misses, MISSES)                                                                              \
    X(evicted, EVICTED)                                                                            \
    X(live, LIVE)                                                                                  \
    X(idle, IDLE)                                                                                  \
    X(high, HIGH)                                                                                  \
    X(bytes_high, BYTES_HIGH)                                                                      \
    X(first_step, FIRST_STEP)                                                                      \
    X(last_step, LAST_STEP)                                                                        \
    X(miss_ns_avg, MISS_NS_AVG)

typedef struct sc_shape {
    uint64_t id, bytes;
#define MEMBER(member, field) uint64_t member;
    SC_SHAPE_COUNTS(MEMBER)
#undef MEMBER
    char *site;
    sc_hint hint;
} sc_shape;

/* An `oom`, `warn` or `mark` record, as a sentence. */
typedef struct sc_note {
    uint64_t step, t_ns;
    bool has_step;
    char *text;
} sc_note;

/* Out-of-memory answers that reached the program; all but the count of the last one. */
typedef struct sc_refused {
    uint64_t count, step;
    uint64_t bytes; /* 0: another allocator's, not told */
    char *site;     /* NULL: unknown */
} sc_refused;

typedef struct sc_device {
    uint64_t ordinal;
    uint64_t total; /* its memory in bytes, 0: not told */
    bool is_complete;
    uint64_t steps;       /* that ended */
    uint64_t steps_fixed; /* of those, ended in phase fixed */
    char first_phase[SC_WORD_BYTES], last_phase[SC_WORD_BYTES];
    sc_change *changes;
    unsigned change_count;
    uint64_t changes_left_out;
    sc_sums all;
    sc_phase_sums phases[SC_PHASES_MOST];
    unsigned phase_count;
    sc_shape **shapes; /* by sc_shape_most_bytes(), then bytes; most first */
    unsigned shape_count;
    uint64_t shapes_left_out;
    uint64_t shapes_seen, fallbacks, ooms;
    sc_refused refused;
    sc_incidents incidents;
    sc_arenas arenas;
    /* Of the step rows in fixed but the first of each stretch, in which the cache fills. */
    uint64_t settled_requests, settled_hits;
    uint64_t stretch; /* step at which the phase last changed */
    sc_sites sites;   /* with a gate each; their changes are not among those above */
    void *index;      /* of shapes by id; while reading */
} sc_device;

typedef struct sc_history {
    const char *path;
    char *run, *host, *build, *argv; /* argv: quoted for a shell */
    uint64_t pid, rank, world, t0_unix_ns, duration_ns;
    sc_options options;            /* settings in effect */
    bool is_told[SC_OPTION_COUNT]; /* the log has this setting, and we know it */
    char *settings; /* those that were set, for people: NAME=VALUE ..., "" when none was */
    sc_device *devices[SC_DEVICES_MOST];
    unsigned device_count;
    sc_note notes[SC_NOTES_MOST];
    unsigned note_count;
    unsigned mark_count; /* of those, at most half */
    uint64_t notes_left_out;
    bool is_cut; /* the last line is not whole */
    sc_symbols *symbols;
} sc_history;

/* NULL: `error` has a sentence. The path must stay valid. */
sc_history *sc_history_read(const char *path, char *error, size_t bytes);
void sc_history_delete(sc_history *history);

/* Bytes of as many buffers as were live at once, exactly as asked for: what a reader of `bytes` and
 * `high` can check. `bytes_high` is in the driver's pages. */
uint64_t sc_shape_most_bytes(const sc_shape *shape);

/* What was said of the shape with this id, or where it came from; NULL: neither. */
const char *sc_history_shape_name(const sc_history *history, const sc_device *device, uint64_t id);
/* A call site for people (symbols.h); the text lives as long as both. */
const char *sc_history_place(const sc_history *history, const char *site);

/* Every device's `end` is there. */
bool sc_history_is_complete(const sc_history *history);
/* SHAPECACHE=observe: the phases are what they would have been, and nothing was cached. */
bool sc_history_is_observed(const sc_history *history);
/* Most bytes the cap allowed to hold at the device's highest peak; 0: the log does not tell. */
uint64_t sc_history_cap(const sc_history *history, const sc_device *device);

/* Between the files of the history. */
void sc_history_run(sc_history *history, const sc_line *line); /* its `run` record */
/* The device's part, new where there is none yet; NULL: too many. */
sc_device *sc_history_device(sc_history *history, uint64_t ordinal);
/* Owned text, replaced when it differs. */
void sc_history_keep_text(char **kept, const char *text);

#endif
