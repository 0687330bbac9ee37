/* SPDX-License-Identifier: MIT
 * report_arenas.h - pinned arenas as tables and sentences: the report's section, and what
 * `shapecache arena` shares with it. */
#ifndef SC_CLI_REPORT_ARENAS_H
#define SC_CLI_REPORT_ARENAS_H

#include "cli/report.h"

/* A line for each arena, at most `most`. How many there are. */
unsigned sc_report_arenas_table(const sc_report *report, unsigned most);
/* A sentence for each device whose log tells what it was spared. */
void sc_report_arenas_spared(const sc_report *report);
/* The section; nothing where the run had no arena. */
void sc_report_arenas(const sc_report *report);

#endif
