/* SPDX-License-Identifier: MIT
 * export.h - a log as another program's file: the table of formats, and what each format is given.
 *
 * A log is read once, record by record, and written as it is read, so that one of any size needs
 * the memory of the blocks that are live at once. A format is a row of function pointers; it
 * prints to `out` and keeps its own state behind `state`. What is wrong with a record it says in
 * `error` and returns false; what the reader of the result should know it says at the end, on
 * stderr. */
#ifndef SC_CLI_EXPORT_H
#define SC_CLI_EXPORT_H

#include "cli/history.h"
#include "cli/reader.h"
#include <stdio.h>

typedef struct sc_export {
    FILE *out;
    sc_event rows; /* of csv */
    bool has_device;
    uint64_t device; /* the only one that is wanted */
    uint64_t last;   /* of torch-snapshot: at most so many events, the last ones */
    uint64_t base;   /* earliest wall clock at t = 0 of all logs, 0: not told */

    /* the log that is read */
    const sc_history *run; /* its first record */
    unsigned number;       /* of logs before it */
    char error[192];       /* what is wrong with a record, without file and line */

    uint64_t written; /* rows of all logs */
    void *state;      /* the format's own */
} sc_export;

typedef struct sc_export_format {
    const char *name;
    bool is_of_one; /* takes one log, and of it one device */
    bool is_timed;  /* wants `base` */
    bool is_binary; /* not for a terminal */
    /* What the log must hold, as a level of SHAPECACHE_LOG_LEVEL. */
    unsigned (*level)(const sc_export *export);
    void (*begin)(sc_export *export); /* before the first log */
    void (*log)(sc_export *export);   /* each log's first record has been read */
    bool (*take)(sc_export *export, const sc_line *line); /* each other record */
    void (*log_end)(sc_export *export);                   /* may be NULL */
    void (*end)(sc_export *export);                       /* after the last; also frees `state` */
    void (*drop)(sc_export *export); /* instead of `end` after an error: frees `state` only */
} sc_export_format;

extern const sc_export_format sc_export_trace, sc_export_csv, sc_export_rmm, sc_export_chrome,
    sc_export_collapsed, sc_export_speedscope, sc_export_openmetrics, sc_export_torch;

/* False, with *error set: for `take`. */
bool sc_export_bad(sc_export *export, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The record is of a device that is not wanted. */
bool sc_export_is_other(const sc_export *export, const sc_line *line);

#endif
