/* SPDX-License-Identifier: MIT
 * json.h - reads one JSON text in place, a value at a time.
 *
 * A pull parser of our own, because the log's counts are 64-bit integers: the usual parsers keep
 * numbers as doubles, which lose the last digits of a wall clock in ns, and their own integer
 * parsing binds to versions of C library symbols that older systems lack. The whole text is
 * checked, read or skipped; nesting is bounded; nothing is allocated. Texts are decoded where they
 * stand, so the buffer changes and the texts live as long as it does.
 *
 * After an error every function returns false and `error` says what was wrong at `at`. */
#ifndef SC_CLI_JSON_H
#define SC_CLI_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sc_json {
    char *at, *end;
    const char *error; /* NULL: fine so far */
    bool is_first;     /* nothing of the container just entered has been read */
} sc_json;

typedef enum sc_json_kind {
    SC_JSON_OBJECT,
    SC_JSON_LIST,
    SC_JSON_TEXT,
    SC_JSON_WHOLE,  /* a whole number that fits 64 bits */
    SC_JSON_NUMBER, /* any other number: not decoded */
    SC_JSON_WORD    /* true, false, null */
} sc_json_kind;

typedef struct sc_json_value {
    sc_json_kind kind;
    uint64_t whole;
    const char *text; /* decoded, terminated; never holds a NUL */
    char *start;      /* OBJECT, LIST: the raw bytes, unchanged, for another sc_json */
    size_t bytes;
} sc_json_value;

sc_json sc_json_over(char *text, size_t bytes);
/* Enter the object or list that comes next. */
bool sc_json_enter(sc_json *json, sc_json_kind kind);
/* The next member's name, or the next item: false at the container's end, which is then left. */
bool sc_json_member(sc_json *json, const char **name);
bool sc_json_item(sc_json *json);
/* The value that comes next; containers are checked and stepped over. */
bool sc_json_take(sc_json *json, sc_json_value *value);
/* True when only white space is left. */
bool sc_json_finish(sc_json *json);

#endif
