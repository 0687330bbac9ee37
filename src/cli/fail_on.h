/* SPDX-License-Identifier: MIT
 * fail_on.h - `report --fail-on`: conditions on the figures of metrics.def that must hold for no
 * rank of a run.
 *
 *     hit<95,fallback>0        a figure, one of < <= > >= == !=, a value with its unit
 *
 * A figure that a rank does not have trips its condition: a check that cannot be made is not
 * passed. */
#ifndef SC_CLI_FAIL_ON_H
#define SC_CLI_FAIL_ON_H

#include "cli/metrics.h"
#include "cli/runs.h"

typedef enum sc_relation {
    SC_BELOW,
    SC_AT_MOST,
    SC_ABOVE,
    SC_AT_LEAST,
    SC_EQUAL,
    SC_UNEQUAL
} sc_relation;

typedef struct sc_condition {
    char *text;
    sc_metric metric;
    sc_relation relation;
    uint64_t value; /* as sc_metric_value() has it */
} sc_condition;

typedef struct sc_fail_on {
    sc_condition *at;
    unsigned count;
} sc_fail_on;

/* More conditions, separated by commas. 0, or the exit status, and said. To be released. */
int sc_fail_on_add(sc_fail_on *all, const char *list);
/* True: one holds, and stderr has the condition, the ranks and their figures. */
bool sc_fail_on_trips(const sc_fail_on *all, const sc_runs *runs);
void sc_fail_on_release(sc_fail_on *all);

#endif
