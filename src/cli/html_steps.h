/* SPDX-License-Identifier: MIT
 * html_steps.h - the step rows of one device in buckets of equally many steps, a bucket for about
 * every pixel of a plot: sums, and the least and most of what a sum would hide.
 *
 * Memory is that of the buckets, however long the log is. Buckets without a row (the log has every
 * n-th step only, or steps have been left out) are told as nulls. Owned by whoever began it. */
#ifndef SC_CLI_HTML_STEPS_H
#define SC_CLI_HTML_STEPS_H

#include "cli/reader.h"

/* X(HOW, NAME, FIELD): SUM is added up over the rows of a bucket, MOST the largest, LEAST the
 * smallest. NAME is what the page calls it. */
#define SC_HTML_COLUMNS(X)                                                                         \
    X(SUM, dur_ns, DUR)                                                                            \
    X(MOST, dur_most, DUR)                                                                         \
    X(SUM, requests, REQUESTS)                                                                     \
    X(SUM, hits, HITS)                                                                             \
    X(SUM, misses, MISSES)                                                                         \
    X(MOST, misses_most, MISSES)                                                                   \
    X(SUM, bypassed, BYPASSED)                                                                     \
    X(SUM, evicted, EVICTED)                                                                       \
    X(SUM, expired, EXPIRED)                                                                       \
    X(MOST, live_peak, LIVE_PEAK)                                                                  \
    X(MOST, held_peak, HELD_PEAK)                                                                  \
    X(LEAST, live_least, LIVE)                                                                     \
    X(MOST, idle_most, IDLE)                                                                       \
    X(SUM, driver_allocs, DRIVER_ALLOCS)                                                           \
    X(SUM, driver_frees, DRIVER_FREES)                                                             \
    X(SUM, driver_ns, DRIVER_NS)                                                                   \
    X(SUM, wait_ns, WAIT_NS)                                                                       \
    X(SUM, hit_ns, HIT_NS)                                                                         \
    X(SUM, sampled, SAMPLED)                                                                       \
    X(LEAST, driver_free, DRIVER_FREE)

enum {
#define COLUMN(how, name, field) SC_HTML_COLUMN_##name,
    SC_HTML_COLUMNS(COLUMN)
#undef COLUMN
        SC_HTML_COLUMN_COUNT
};

typedef struct sc_html_steps {
    uint64_t each; /* steps a bucket */
    unsigned count;
    uint64_t *rows;       /* of each bucket */
    uint64_t *rate_least; /* hits of a row's requests, in hundredths of a percent */
    uint64_t *rate_most;
    uint64_t *column[SC_HTML_COLUMN_COUNT];
} sc_html_steps;

/* At most `most` buckets for so many steps; at least one. */
void sc_html_steps_begin(sc_html_steps *steps, uint64_t count, unsigned most);
void sc_html_steps_add(sc_html_steps *steps, const sc_line *line); /* a step record */
/* Where the step lies; steps beyond the end (the log has grown) are in the last bucket. */
unsigned sc_html_steps_bucket(const sc_html_steps *steps, uint64_t step);
/* As members of the object that is open. */
void sc_html_steps_emit(sc_html_steps *steps);
void sc_html_steps_release(sc_html_steps *steps);

#endif
