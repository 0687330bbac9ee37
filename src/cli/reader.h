/* SPDX-License-Identifier: MIT
 * reader.h - reads a log as a stream, one record at a time, trusting nothing.
 *
 * Memory is one line, which may not be longer than SC_LINE_MOST. Every line is checked as JSON,
 * every known field against its type in record.def, every record against what schema.def demands;
 * the first record must be `run` of a version we know. Events and fields we do not know are passed
 * over. What is wrong is said with file and line.
 *
 * A last line without its newline is a write that was cut short (a full disk): it is left out and
 * `is_cut` says so. */
#ifndef SC_CLI_READER_H
#define SC_CLI_READER_H

#include "cli/json.h"
#include "log/record.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SC_LINE_MOST = 4 << 20, SC_LOG_VERSION = 1 };

/* One record. Its texts live until the next is read. */
typedef struct sc_line {
    sc_event event;
    uint64_t number; /* of the line, from 1 */
    bool has[SC_F_COUNT];
    sc_json_value value[SC_F_COUNT];
} sc_line;

typedef struct sc_reader {
    const char *path;
    int fd;
    char *buffer; /* SC_LINE_MOST + 1 bytes at most, grown as lines need it */
    size_t size, used, next;
    uint64_t number;
    bool is_at_end, is_cut, has_run;
    bool is_foreign; /* its first line is none of a log */
    char error[512]; /* "" : none */
    sc_line line;
} sc_reader;

/* False: the file cannot be opened; errno says why. "-" is standard input. The path must stay
 * valid. */
bool sc_reader_open(sc_reader *reader, const char *path);
void sc_reader_close(sc_reader *reader);
/* The next record we know, or NULL at the end or when something is wrong: then `error` is a
 * sentence. */
const sc_line *sc_reader_next(sc_reader *reader);

/* The value of a whole number's field, 0 when absent. */
uint64_t sc_line_u64(const sc_line *line, sc_field field);
/* The value of a text's field, NULL when absent. */
const char *sc_line_text(const sc_line *line, sc_field field);

#endif
