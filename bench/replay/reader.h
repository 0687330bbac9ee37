/* SPDX-License-Identifier: MIT
 * reader.h - the lines and fields of a text, without copying them.
 *
 * Every line ends in a newline, the last one too: where it does not, the file was cut off. A
 * carriage return before the newline belongs to it. What is wrong is reported with the file, the
 * line and what was expected there. */
#ifndef REPLAY_READER_H
#define REPLAY_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "input.h"

struct field {
    const char *at;
    size_t length;
};

struct reader {
    const char *name;
    const char *rest, *end; /* of the text, after this line */
    const char *at;         /* what of this line has not been taken as a field yet; NULL: nothing */
    struct field line;
    size_t number; /* of this line, from 1 */
};

struct reader reader_of(const struct input *input);
bool reader_next(struct reader *reader); /* the next line; false: there is none */

/* Up to the next `separator`, or the end of the line. */
struct field reader_field(struct reader *reader, char separator, const char *expected);
/* The same, a decimal number. */
uint64_t reader_number(struct reader *reader, char separator, const char *expected);
/* Nothing may be left on this line. */
void reader_done(const struct reader *reader, const char *expected);

bool field_is(struct field field, const char *text);
bool field_begins(struct field field, const char *text);
/* Decimal, or hexadecimal after 0x; false when it is not one or does not fit. */
bool field_number(struct field field, uint64_t *number);

/* "FILE:LINE: expected EXPECTED, found "..."" */
_Noreturn void reader_fail(const struct reader *reader, const char *expected);

#endif
