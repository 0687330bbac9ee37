/* SPDX-License-Identifier: MIT
 * html.h - a run as one page for a browser: plots and tables of all that its logs tell, in a file
 * that needs no other and asks nothing of the network.
 *
 * The logs are read a second time, so they must be files. The page is a template with our style,
 * our scripts and a charting library (html_files.def), and the run's data as one JSON text in which
 * nothing can end the element that it stands in. Its size is bounded: long runs are shown in
 * buckets of steps (html_lane.c says how many), and of long lists the first. */
#ifndef SC_CLI_HTML_H
#define SC_CLI_HTML_H

#include "cli/report.h"
#include <stdbool.h>
#include <stdio.h>

/* False, and said on stderr: a log could not be read again. */
bool sc_html_write(const sc_report *report, FILE *out);
/* 0, or the exit status, and said: standard input or a pipe, which cannot be read twice. */
int sc_html_check(const char *path);

#endif
