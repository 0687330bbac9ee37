/* SPDX-License-Identifier: MIT
 * runs.h - the logs of a command line as runs: those with the same name of run belong together, by
 * rank, in the order in which the paths name the first of each.
 *
 * It owns the histories; the logs must stay valid. */
#ifndef SC_CLI_RUNS_H
#define SC_CLI_RUNS_H

#include "base/text.h"
#include "cli/logs.h"
#include "cli/report.h"

typedef struct sc_runs {
    sc_history **histories;
    sc_report *at;
    unsigned count, history_count;
} sc_runs;

/* Reads every log. 0, or the exit status: `command` has named each that cannot be read. To be
 * released either way. */
int sc_runs_read(sc_runs *runs, const sc_logs *logs, const char *command);
void sc_runs_release(sc_runs *runs);

/* What a command that lists runs prints of each: as text, or as a document. */
typedef struct sc_runs_view {
    const char *command;
    const void *request; /* the command's own */
    void (*text)(const void *request, const sc_report *report);
    void (*json)(const void *request, const sc_report *report);
    bool is_json;
} sc_runs_view;

/* Reads what the paths name and prints each run. The exit status. */
int sc_runs_show(const sc_runs_view *view, char *const *paths, unsigned count);

/* One more of a list of ranks: "0-3, 5". */
void sc_runs_put_range(sc_text *text, uint64_t first, uint64_t last);

#endif
