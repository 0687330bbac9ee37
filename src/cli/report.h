/* SPDX-License-Identifier: MIT
 * report.h - one run as the report tells it: histories of its processes, in the order of their
 * ranks.
 *
 * A lane is one device of one process. The printers read only. */
#ifndef SC_CLI_REPORT_H
#define SC_CLI_REPORT_H

#include "cli/history.h"

typedef struct sc_lane {
    const sc_history *history;
    const sc_device *device;
} sc_lane;

typedef struct sc_report {
    sc_history **histories;
    unsigned history_count;
    sc_lane *lanes;
    unsigned lane_count;
    unsigned top; /* shapes to list */
} sc_report;

/* Consecutive steps in one phase. */
typedef struct sc_stretch {
    const char *phase;
    uint64_t first, last;
    bool is_open; /* no step of it has ended yet */
} sc_stretch;

/* The device's stretches in order, at most `most`; returns how many there are in all. */
unsigned sc_report_stretches(const sc_device *device, sc_stretch *out, unsigned most);
/* What a phase or a reason of phase.def means; NULL for a word of a later version. */
const char *sc_report_phase_meaning(const char *word);
const char *sc_report_reason_meaning(const char *word);

/* "rank 3", with device or pid where that alone is not one lane. */
void sc_report_label(const sc_report *report, unsigned lane, char out[64]);
/* No request of the device was one for the cache: its zeros are no figures of the program. */
bool sc_report_is_passed_by(const sc_device *device);
/* The warning that a framework keeps a cache of its own; NULL: none. */
const sc_note *sc_report_hoarder(const sc_history *history);
/* How many they were, and why. */
void sc_report_passed_by(const sc_lane *lane);

/* How often the program was told that there is no memory; nothing when it never was. `label` NULL:
 * there is one lane. */
void sc_report_refused(const sc_lane *lane, const char *label);

/* What SHAPECACHE_STRICT minds; nothing where there is none of it. `label` as above. */
void sc_report_strict(const sc_lane *lane, const char *label);
void sc_report_strict_json(const sc_history *history, const sc_device *device);
/* True: there is some, and stderr has the ranks. */
bool sc_report_strict_trips(const sc_report *report);

/* The steps that ended in phase fixed; NULL: none. */
const sc_sums *sc_report_fixed(const sc_device *device);
/* That the cap costs hits, where evictions are what keeps a fixed set from being served. */
void sc_report_capped(const sc_lane *lane);

/* Was the cache effective: "yes", "partly", "no" or "none" (nothing was to be cached), and a
 * sentence of all lanes with the figures. */
const char *sc_report_verdict(const sc_report *report, sc_text *text);

/* The phases of every lane, and what brought each change about; lanes that agree are told once. */
void sc_report_story(const sc_report *report);
/* The totals: of one lane with what they mean, of several the first, the least and the most. */
void sc_report_figures(const sc_report *report);
void sc_report_text(const sc_report *report);
/* The records and fields of a log, as docs/log.md has them. */
void sc_report_fields(void);
/* The same as sections of a manual page: docs/man/shapecache-log.5. */
void sc_report_man(void);
/* The same as a JSON Schema (2020-12) of one line: docs/log.schema.json. */
void sc_report_schema(void);
/* One object of all runs: open, each run, close. */
void sc_report_json_open(void);
void sc_report_json(const sc_report *report);
void sc_report_json_close(void);

#endif
