/* SPDX-License-Identifier: MIT
 * incidents.h - what went wrong on one device, record by record: where the driver ran out of
 * memory, and what SHAPECACHE_STRICT minds.
 *
 * Bounded: what goes beyond is counted. It owns its texts. */
#ifndef SC_CLI_INCIDENTS_H
#define SC_CLI_INCIDENTS_H

#include "cli/reader.h"
#include <stdbool.h>
#include <stdint.h>

enum { SC_OOMS_MOST = 4096, SC_LAPSES_MOST = 256, SC_OOM_ROWS = 8 };
#define SC_UNTOLD UINT64_MAX /* the log does not have it */

/* Figures of an `oom` record, as of when it was written; SC_UNTOLD where it has none.
 * X(MEMBER, FIELD) */
#define SC_OOM_FIGURES(X)                                                                          \
    X(retried, RETRIED)                                                                            \
    X(result, RESULT)                                                                              \
    X(total, TOTAL)                                                                                \
    X(live, LIVE)                                                                                  \
    X(idle, IDLE)                                                                                  \
    X(passed, PASSED)                                                                              \
    X(other, OTHER)                                                                                \
    X(driver_free, DRIVER_FREE)                                                                    \
    X(idle_released, IDLE_RELEASED)                                                                \
    X(step_peak, STEP_PEAK)

/* A shape among the holders, or the changed: four numbers as record.def names them. */
typedef struct sc_oom_row {
    uint64_t shape, bytes, third, fourth;
} sc_oom_row;

typedef struct sc_oom_rows {
    sc_oom_row at[SC_OOM_ROWS];
    unsigned count;
    bool is_told;
} sc_oom_rows;

typedef struct sc_oom {
    uint64_t step, t_ns;
    uint64_t bytes; /* exact; 0: another allocator's, not told */
#define MEMBER(member, field) uint64_t member;
    SC_OOM_FIGURES(MEMBER)
#undef MEMBER
    char *site, *phase, *verdict, *advice; /* NULL: not told */
    sc_oom_rows holders, changed;
} sc_oom;

/* Whether the program got its memory in the end. */
typedef enum sc_oom_answer { SC_OOM_SERVED, SC_OOM_REFUSED, SC_OOM_UNKNOWN } sc_oom_answer;
/* What becomes of another allocator's call once it is tried again, the log does not tell. */
sc_oom_answer sc_oom_answered(const sc_oom *oom);
/* One word for it. */
const char *sc_oom_answer_word(sc_oom_answer answer);

/* A `strict` record: the first driver allocation of a shape that a settled cache made. */
typedef struct sc_lapse_row {
    uint64_t step, shape, bytes;
    char *site; /* NULL: not told */
    char *word; /* why */
} sc_lapse_row;

/* What PyTorch's own allocator last said where it gave up: bytes it had, and had in tensors. */
typedef struct sc_allocator_said {
    bool is_told;
    uint64_t reserved, allocated;
    char *advice; /* NULL: none */
} sc_allocator_said;

typedef struct sc_incidents {
    sc_oom *ooms;
    unsigned oom_count;
    uint64_t ooms_left_out;
    sc_lapse_row *lapses;
    unsigned lapse_count;
    uint64_t strict; /* driver allocations in all; of a log without an end, as many as have a row */
    bool is_strict_told;
    sc_allocator_said allocator;
} sc_incidents;

void sc_incidents_oom(sc_incidents *all, const sc_line *line);
void sc_incidents_allocator(sc_incidents *all, const sc_line *line);
/* The last that the program was told of; NULL: none. */
const sc_oom *sc_incidents_last_refused(const sc_incidents *all);
void sc_incidents_strict(sc_incidents *all, const sc_line *line);
void sc_incidents_end(sc_incidents *all, const sc_line *line);
void sc_incidents_release(sc_incidents *all);

/* What a word of LAPSE in phase.def means; NULL for one of a later version. */
const char *sc_lapse_meaning(const char *word);

#endif
