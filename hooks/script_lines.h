/* SPDX-License-Identifier: MIT
 * script_lines.h - CPython's tables of lines: which line an instruction belongs to.
 *
 * Two formats, both published: pairs of deltas (3.10, PEP 626) and entries with columns (from 3.11,
 * Objects/locations.md). A table comes byte by byte, so that it can lie anywhere. */
#ifndef SC_HOOKS_SCRIPT_LINES_H
#define SC_HOOKS_SCRIPT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Byte `at` of the table; -1: it ends there. */
typedef int sc_table_byte(void *self, size_t at);

/* The line of the instruction `offset` bytes into the code whose first line is `line`; 0: the table
 * gives it none. */
int sc_lines_in_pairs(sc_table_byte *byte, void *self, int line, int64_t offset);
int sc_lines_in_entries(sc_table_byte *byte, void *self, int line, int64_t offset);

#endif
