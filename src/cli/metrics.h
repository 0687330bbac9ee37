/* SPDX-License-Identifier: MIT
 * metrics.h - the figures of metrics.def, of one lane: what `ranks` lists and sorts by, what
 * `report --fail-on` compares, and what makes a rank differ from the others. */
#ifndef SC_CLI_METRICS_H
#define SC_CLI_METRICS_H

#include "cli/report.h"

typedef enum sc_metric {
#define METRIC(symbol, name, label, unit, odd, meaning) SC_METRIC_##symbol,
#include "cli/metrics.def"
    SC_METRIC_COUNT
} sc_metric;

typedef enum sc_unit { SC_UNIT_RATE, SC_UNIT_COUNT, SC_UNIT_SIZE, SC_UNIT_TIME } sc_unit;
typedef enum sc_odd { SC_ODD_NEVER, SC_ODD_ANY, SC_ODD_POINT, SC_ODD_TENTH, SC_ODD_HALF } sc_odd;

typedef struct sc_metric_row {
    const char *name, *label, *meaning; /* label: in a sentence or a table */
    sc_unit unit;
    sc_odd odd;
} sc_metric_row;

extern const sc_metric_row sc_metric_rows[SC_METRIC_COUNT];

#define SC_MISSING UINT64_MAX /* there is no such value */

/* Bytes, ns, a count, or hundredths of a percent, cut: 10000 is all. */
uint64_t sc_metric_value(sc_metric metric, const sc_lane *lane);
/* As people read it; "-" where it is missing. */
const char *sc_metric_print(sc_unit unit, uint64_t value, char out[32]);
/* SC_METRIC_COUNT: there is none of this name. */
sc_metric sc_metric_find(const char *name, size_t length);

#endif
