/* SPDX-License-Identifier: MIT */
#include "cli/pickle.h"
#include "base/text.h"
#include "cli/command.h"
#include <stdlib.h>
#include <string.h>

static void put_bytes(FILE *out, uint64_t value, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        putc((int)(value >> 8 * i & 0xff), out);
}

void sc_pickle_begin(FILE *out)
{
    fputs("\x80\x02", out);
}

void sc_pickle_end(FILE *out)
{
    putc('.', out);
}

void sc_pickle_dict(FILE *out)
{
    putc('}', out);
}

void sc_pickle_set(FILE *out)
{
    putc('s', out);
}

void sc_pickle_list(FILE *out)
{
    putc(']', out);
}

void sc_pickle_append(FILE *out)
{
    putc('a', out);
}

void sc_pickle_pair(FILE *out)
{
    putc(0x86, out);
}

/* BININT1, BININT2, BININT, or LONG1: as few bytes as hold it with its sign. */
void sc_pickle_u64(FILE *out, uint64_t value)
{
    unsigned bytes = 4;

    if (value <= 0xff) {
        putc('K', out);
        put_bytes(out, value, 1);
    } else if (value <= 0xffff) {
        putc('M', out);
        put_bytes(out, value, 2);
    } else if (value <= INT32_MAX) {
        putc('J', out);
        put_bytes(out, value, 4);
    } else {
        while (bytes < 8 && value >> (8 * bytes - 1))
            bytes++;
        bytes += bytes == 8 && value >> 63; /* one more, for the sign */
        putc(0x8a, out);
        putc((int)bytes, out);
        put_bytes(out, value, bytes < 8 ? bytes : 8);
        if (bytes > 8)
            putc(0, out);
    }
}

void sc_pickle_bool(FILE *out, bool value)
{
    putc(value ? 0x88 : 0x89, out);
}

void sc_pickle_text(FILE *out, const char *text)
{
    char *clean = sc_need_copy(text);

    for (char *at = clean; *at;) {
        unsigned count = sc_text_character(at);

        if (!count)
            *at = '?';
        at += count ? count : 1;
    }
    putc('X', out);
    put_bytes(out, strlen(clean), 4);
    fputs(clean, out);
    free(clean);
}

void sc_pickle_put(FILE *out, uint32_t number)
{
    putc(number <= 0xff ? 'q' : 'r', out);
    put_bytes(out, number, number <= 0xff ? 1 : 4);
}

void sc_pickle_get(FILE *out, uint32_t number)
{
    putc(number <= 0xff ? 'h' : 'j', out);
    put_bytes(out, number, number <= 0xff ? 1 : 4);
}
