/* SPDX-License-Identifier: MIT
 * emit.h - how the tool writes: sizes, times, shell words, wrapped sentences, tables and JSON.
 *
 * Everything goes to stdout, or where sc_emit_to() says; whether that worked is asked once, at the
 * end (sc_emit_close). What came out of a log or the environment is written without control
 * characters, so that it cannot drive a terminal. */
#ifndef SC_CLI_EMIT_H
#define SC_CLI_EMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { SC_EMIT_WIDTH = 80, SC_TABLE_COLUMNS = 12 };

/* Each writes into `out` and returns it. */
const char *sc_emit_size(char out[16], uint64_t bytes);  /* 1.50 GiB */
const char *sc_emit_time(char out[16], uint64_t ns);     /* 23.1 ms, 41m12s */
const char *sc_emit_count(char out[32], uint64_t value); /* 3,412,006 */
/* Two digits behind the point, cut, not rounded: 100.00% is all. */
const char *sc_emit_percent(char out[16], uint64_t part, uint64_t whole);
/* `word` as a shell reads it back. Returns its length; always terminated where bytes > 0. */
size_t sc_emit_quoted(char *out, size_t bytes, const char *word);

/* printf, with control characters shown as '?', newline excepted. */
void sc_emit(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A paragraph: `head`, then `text` broken at blanks, later lines indented by `indent`. */
void sc_emit_wrapped(const char *head, unsigned indent, const char *text);

/* A table whose columns are as wide as their content; the last gets what is left of the line. */
typedef struct sc_table {
    const char *titles[SC_TABLE_COLUMNS];
    bool is_left[SC_TABLE_COLUMNS]; /* else aligned right */
    unsigned columns, gap;          /* gap: blanks between two columns */
    char **cells;                   /* row by row, owned */
    unsigned used;
} sc_table;

void sc_table_cell(sc_table *table, const char *text);
/* Prints and empties it. A last cell that is too long loses its beginning: a call site's end says
 * more. */
void sc_table_print(sc_table *table);

/* JSON: names are NULL inside lists. */
void sc_emit_open(const char *name, char bracket);
void sc_emit_end(char bracket);
void sc_emit_u64(const char *name, uint64_t value);
/* A list on one line; UINT64_MAX stands for null. */
void sc_emit_u64s(const char *name, const uint64_t *values, size_t count);
void sc_emit_text(const char *name, const char *text); /* nothing for NULL */
void sc_emit_bool(const char *name, bool value);

/* From here on everything goes to `file`, NULL: to stdout. Returns where it went before. */
FILE *sc_emit_to(FILE *file);
/* Flushes stdout. False, and said on stderr: not everything could be written. */
bool sc_emit_close(void);

#endif
