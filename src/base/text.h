/* SPDX-License-Identifier: MIT
 * text.h - text appended to a buffer of fixed size that somebody else owns.
 *
 * Appending past the end sets `is_full` and drops the rest; it never writes outside and never
 * allocates, so it serves on paths where malloc is not allowed. The content is not terminated until
 * sc_text_terminate(). Not thread-safe: one writer. */
#ifndef SC_BASE_TEXT_H
#define SC_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sc_text {
    char *at;
    size_t used;
    size_t size;
    bool is_full;
} sc_text;

sc_text sc_text_over(char *buffer, size_t size);
void sc_text_clear(sc_text *text);
void sc_text_bytes(sc_text *text, const char *bytes, size_t count);
void sc_text_string(sc_text *text, const char *string);
void sc_text_char(sc_text *text, char c);
void sc_text_u64(sc_text *text, uint64_t value);  /* decimal */
void sc_text_i64(sc_text *text, int64_t value);   /* decimal */
void sc_text_hex(sc_text *text, uint64_t value);  /* lower case, no prefix */
void sc_text_size(sc_text *text, uint64_t bytes); /* 3 digits and a binary unit: 1.50 GiB */
/* A JSON string with quotes: quotes, bytes that are not UTF-8, and what could drive a terminal (see
 * sc_text_shown) escaped. */
void sc_text_json(sc_text *text, const char *string);
/* Terminates (cutting the last byte of a full buffer if need be) and returns the start. */
const char *sc_text_terminate(sc_text *text);

/* Parsers for what people type; all return false and leave *out alone when `string` (whole) is not
 * one. */
bool sc_parse_u64(const char *string, uint64_t *out);
bool sc_parse_size(const char *string, uint64_t *out); /* 12, 12B, 64KiB, 64k, 1.5GB; 1024s */

/* Bytes of the character at `text`, which has not ended: 1 where it is no UTF-8. *is_plain: it does
 * nothing to a terminal but show; false for control characters (C0, DEL, C1), separators of lines,
 * what turns the direction of writing, and for what is no UTF-8. */
size_t sc_text_shown(const char *text, bool *is_plain);

/* Bytes of the well-formed UTF-8 character at `utf8`, 0 when it is none (RFC 3629: no overlong
 * forms, no surrogates, nothing above 10FFFF). Reads no further than the terminator. */
unsigned sc_text_character(const char *utf8);
/* The length of as much of `utf8` as fits into `most` bytes, no character cut in two. */
size_t sc_text_fitting(const char *utf8, size_t length, size_t most);

/* Equal but for the case of ASCII letters. */
bool sc_text_same(const char *a, const char *b);
/* Insertions, deletions, replacements and swaps of neighbours between two names (their first 64
 * bytes). */
unsigned sc_text_distance(const char *a, const char *b);

#endif
