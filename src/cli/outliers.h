/* SPDX-License-Identifier: MIT
 * outliers.h - which ranks of a run differ from the others, in what, and by how much.
 *
 * The usual value of a figure is its median; of two ranks, the first one's. A figure is odd where
 * it is further from that than metrics.def allows, and than three times what the ranks usually are
 * (their median distance), so that a run in which all differ has no odd one. A rank whose log ends
 * early is told for that, and its figures are not compared. */
#ifndef SC_CLI_OUTLIERS_H
#define SC_CLI_OUTLIERS_H

#include "cli/metrics.h"
#include "cli/report.h"

typedef struct sc_outlier {
    unsigned lane, order;  /* order: in which they were found */
    const char *what;      /* a figure's name, or end, phases or shapes */
    uint64_t value, usual; /* SC_MISSING: none */
    char *text;            /* a sentence without a full stop */
} sc_outlier;

typedef struct sc_outliers {
    sc_outlier *at; /* by lane */
    unsigned count;
    char *missing; /* ranks of the world without a log: "2, 5-7"; NULL: none */
    char *general; /* a sentence about most ranks at once; NULL: none */
} sc_outliers;

/* A single log has none. To be released. */
void sc_outliers_find(sc_outliers *all, const sc_report *report);
bool sc_outliers_has(const sc_outliers *all, unsigned lane);
void sc_outliers_release(sc_outliers *all);

/* A sentence for each, at most so many; nothing where all agree. */
void sc_outliers_tell(const sc_outliers *all, const sc_report *report, unsigned most);
/* Members of the object that is open. */
void sc_outliers_json(const sc_outliers *all, const sc_report *report);

/* For the modules that find them: `text` is the outlier's from now on. */
void sc_outliers_add(sc_outliers *all, sc_outlier one);

/* Lanes to compare, none of which ends early. */
typedef struct sc_peers {
    unsigned *at;
    unsigned count;
} sc_peers;
/* Shapes that one rank has alone, or lacks alone. */
void sc_outliers_shapes(sc_outliers *all, const sc_report *report, const sc_peers *peers);

#endif
