/* SPDX-License-Identifier: MIT
 * lines.h - reads a log back in tests: whole lines, each checked to be a record with the fields
 * that the tables list, of their types, and no others.
 *
 * Fields are found by name at the top of the object. */
#ifndef SC_TESTS_LINES_H
#define SC_TESTS_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct lines {
    char *text;
    char **line;
    size_t count;
} lines;

/* Fails the test when the file cannot be read or a line is no record by record.def and schema.def.
 */
lines lines_read(const char *path);
void lines_release(lines *all);

bool lines_is_object(const char *line);
/* By record.def and schema.def. */
bool lines_is_record(const char *line);
/* Value of a top-level field as its JSON text, in `out`; false: absent. */
bool lines_field(const char *line, const char *name, char *out, size_t bytes);
uint64_t lines_u64(const char *line, const char *name); /* fails the test when absent */
/* Fail the test unless the line is there and its field is exactly `json`, or absent. */
void lines_expect(const char *line, const char *name, const char *json);
void lines_expect_absent(const char *line, const char *name);

/* Lines of kind `ev`; the i-th of them, NULL when there are fewer. */
size_t lines_count(const lines *all, const char *ev);
const char *lines_of(const lines *all, const char *ev, size_t i);
/* Sum of a field over all lines of a kind. */
uint64_t lines_sum(const lines *all, const char *ev, const char *name);

#endif
