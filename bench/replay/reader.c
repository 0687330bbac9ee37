/* SPDX-License-Identifier: MIT */
#include "reader.h"

#include <stdio.h>
#include <string.h>

#include "die.h"

enum { SHOWN = 60 }; /* characters of a bad line */

struct reader reader_of(const struct input *input)
{
    return (struct reader){
        .name = input->name, .rest = input->text, .end = input->text + input->length};
}

bool reader_next(struct reader *reader)
{
    size_t left = (size_t)(reader->end - reader->rest);
    const char *newline;

    if (left == 0)
        return false;
    newline = memchr(reader->rest, '\n', left);
    reader->number++;
    reader->line = (struct field){reader->rest, left};
    if (newline == NULL)
        reader_fail(reader, "a newline at the end of the last line: the file is cut off");
    reader->line.length = (size_t)(newline - reader->rest);
    reader->rest = newline + 1;
    if (reader->line.length > 0 && newline[-1] == '\r')
        reader->line.length--;
    reader->at = reader->line.at;
    return true;
}

struct field reader_field(struct reader *reader, char separator, const char *expected)
{
    const char *end = reader->line.at + reader->line.length;
    struct field field = {reader->at, 0};
    const char *stop;

    if (reader->at == NULL)
        reader_fail(reader, expected);
    stop = memchr(reader->at, separator, (size_t)(end - reader->at));
    reader->at = stop != NULL ? stop + 1 : NULL;
    field.length = (size_t)((stop != NULL ? stop : end) - field.at);
    return field;
}

uint64_t reader_number(struct reader *reader, char separator, const char *expected)
{
    struct field field = reader_field(reader, separator, expected);
    uint64_t number;

    if (field_begins(field, "0x") || !field_number(field, &number))
        reader_fail(reader, expected);
    return number;
}

void reader_done(const struct reader *reader, const char *expected)
{
    if (reader->at != NULL)
        reader_fail(reader, expected);
}

bool field_is(struct field field, const char *text)
{
    return field.length == strlen(text) && memcmp(field.at, text, field.length) == 0;
}

bool field_begins(struct field field, const char *text)
{
    size_t length = strlen(text);

    return field.length >= length && memcmp(field.at, text, length) == 0;
}

/* 16 and above: not a digit. */
static unsigned digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
        return (unsigned)((c | 0x20) - 'a' + 10);
    return 16;
}

bool field_number(struct field field, uint64_t *number)
{
    bool is_hex = field_begins(field, "0x");
    unsigned base = is_hex ? 16 : 10;
    uint64_t sum = 0;

    if (field.length == (is_hex ? 2 : 0))
        return false;
    for (size_t i = is_hex ? 2 : 0; i < field.length; i++) {
        unsigned digit = digit_of(field.at[i]);

        if (digit >= base || sum > (UINT64_MAX - digit) / base)
            return false;
        sum = sum * base + digit;
    }
    *number = sum;
    return true;
}

_Noreturn void reader_fail(const struct reader *reader, const char *expected)
{
    size_t length = reader->line.length < SHOWN ? reader->line.length : SHOWN;
    char shown[SHOWN + 1];

    for (size_t i = 0; i < length; i++) {
        char c = reader->line.at[i];

        shown[i] = (char)(c >= ' ' && c <= '~' ? c : '?');
    }
    shown[length] = '\0';
    die(EXIT_INPUT, "%s:%zu: expected %s, found \"%s%s\"", reader->name, reader->number, expected,
        shown, reader->line.length > SHOWN ? " ..." : "");
}
