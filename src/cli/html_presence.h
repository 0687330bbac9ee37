/* SPDX-License-Identifier: MIT
 * html_presence.h - which shapes were asked for in which steps: one row a shape, one cell for some
 * steps.
 *
 * At level event every request is counted where it was made. Below it the log has a record of a
 * shape at first sight, when the phase changes, at steps 2^k and at the end; what was asked for
 * between two of them is spread evenly over the steps from the one to the last use that the other
 * tells. The rows are the shapes that ended phase fixed, then those with most bytes; in the order
 * of their first step, so that a set that goes on changing looks like a staircase. */
#ifndef SC_CLI_HTML_PRESENCE_H
#define SC_CLI_HTML_PRESENCE_H

#include "base/map.h"
#include "cli/history.h"

typedef struct sc_html_shape_row {
    const sc_shape *shape;
    uint64_t counted;   /* requests that are in the cells */
    uint64_t recorded;  /* step of its last record */
    uint64_t last;      /* step of its last request, as that told */
    uint64_t idle_most; /* buffers, of its records */
    double *cells;      /* requests */
} sc_html_shape_row;

typedef struct sc_html_presence {
    uint64_t each; /* steps a cell */
    unsigned columns;
    sc_html_shape_row *rows;
    unsigned count;
    sc_map by_id;
    bool has_requests; /* level event */
} sc_html_presence;

void sc_html_presence_begin(sc_html_presence *presence, const sc_device *device, unsigned rows,
                            unsigned columns);
/* A shape or alloc record of the device. */
void sc_html_presence_add(sc_html_presence *presence, const sc_line *line);
void sc_html_presence_emit(const sc_html_presence *presence);
void sc_html_presence_release(sc_html_presence *presence);

#endif
