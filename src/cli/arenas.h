/* SPDX-License-Identifier: MIT
 * arenas.h - the pinned arenas of one device, by its `arena` records: what each held, moved and
 * refused, how deep its stack was when, and what all of them spared the device.
 *
 * An arena is one from its `start` to its `end`, whatever others of the same name there are. Memory
 * is bounded: what goes beyond is counted. It owns its texts. */
#ifndef SC_CLI_ARENAS_H
#define SC_CLI_ARENAS_H

#include "cli/reader.h"
#include <stdbool.h>
#include <stdint.h>

enum { SC_ARENAS_MOST = 256, SC_ARENA_MOMENTS_MOST = 1024, SC_ARENA_WORD_BYTES = 16 };

/* Figures of an arena as of a record, each with its field. X(MEMBER, FIELD) */
#define SC_ARENA_FIGURES(X)                                                                        \
    X(capacity, CAPACITY)                                                                          \
    X(locked, LOCKED)                                                                              \
    X(lock_ns, LOCK_NS)                                                                            \
    X(used, USED)                                                                                  \
    X(used_peak, USED_PEAK)                                                                        \
    X(demand_peak, DEMAND_PEAK)                                                                    \
    X(tickets, TICKETS)                                                                            \
    X(tickets_peak, TICKETS_PEAK)                                                                  \
    X(passes, PASSES)                                                                              \
    X(offloads, OFFLOADS)                                                                          \
    X(onloads, ONLOADS)                                                                            \
    X(bytes_out, BYTES_OUT)                                                                        \
    X(bytes_in, BYTES_IN)                                                                          \
    X(kept, KEPT)                                                                                  \
    X(kept_full, KEPT_FULL)                                                                        \
    X(kept_bytes, KEPT_BYTES)                                                                      \
    X(pageable, PAGEABLE)                                                                          \
    X(prefetched, PREFETCHED)                                                                      \
    X(rewound, REWOUND)                                                                            \
    X(given, GIVEN)                                                                                \
    X(wait_ns, WAIT_NS)                                                                            \
    X(errors, ERRORS)                                                                              \
    X(wrong_order, WRONG_ORDER)                                                                    \
    X(full, FULL)                                                                                  \
    X(mismatched, MISMATCHED)                                                                      \
    X(driver_errors, DRIVER_ERRORS)                                                                \
    X(busy, BUSY)

typedef struct sc_arena_figures {
#define MEMBER(member, field) uint64_t member;
    SC_ARENA_FIGURES(MEMBER)
#undef MEMBER
} sc_arena_figures;

/* One record. */
typedef struct sc_arena_moment {
    unsigned arena; /* its number in the list */
    uint64_t t_ns, step;
    bool has_step;
    char what[SC_ARENA_WORD_BYTES];
    sc_arena_figures figures;
} sc_arena_moment;

typedef struct sc_arena_row {
    char *name;
    bool has_ended;
    sc_arena_figures last;
} sc_arena_row;

typedef struct sc_arenas {
    sc_arena_row *at;
    unsigned count;
    sc_arena_moment *moments;
    unsigned moment_count;
    uint64_t left_out, moments_left_out; /* records */
    /* What they spared the device, by the last record that says so. */
    bool is_spared_told;
    uint64_t spared, live_without;
    char spared_unknown[SC_ARENA_WORD_BYTES]; /* why it is not known; "": it is */
} sc_arenas;

/* An `arena` record; or an `end`, of the run. */
void sc_arenas_add(sc_arenas *arenas, const sc_line *line);
void sc_arenas_release(sc_arenas *arenas);

/* Members of the JSON object of a device; nothing where there are none. */
void sc_arenas_json(const sc_arenas *arenas, bool has_moments);

/* What a word of `spared_unknown` means; NULL for one of a later version. */
const char *sc_arenas_why_not(const char *word);

#endif
