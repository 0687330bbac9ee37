/* SPDX-License-Identifier: MIT */
#include "script_lines.h"

enum { NO_LINE = -128, UNIT = 2 /* bytes of an instruction */ };
enum { SHORT_LAST = 9, ONE_LINE_FIRST = 10, ONE_LINE_LAST = 12, NO_COLUMNS = 13, LONG = 14 };

int sc_lines_in_pairs(sc_table_byte *byte, void *self, int line, int64_t offset)
{
    int64_t end = 0;

    for (size_t at = 0;; at += 2) {
        const int step = byte(self, at);
        const int delta = byte(self, at + 1);

        if (step < 0 || delta < 0)
            return 0;
        end += step;
        if ((int8_t)delta != NO_LINE)
            line += (int8_t)delta;
        if (offset < end)
            return (int8_t)delta != NO_LINE ? line : 0;
    }
}

/* Six bits a byte, least first; bit 6: more follow. */
static int signed_number(sc_table_byte *byte, void *self, size_t at)
{
    unsigned value = 0;
    int one = 0;

    for (unsigned shift = 0; shift < 30; shift += 6) {
        one = byte(self, at++);
        if (one < 0)
            return 0;
        value |= (unsigned)(one & 63) << shift;
        if ((one & 64) == 0)
            break;
    }
    return (value & 1) != 0 ? -(int)(value >> 1) : (int)(value >> 1);
}

/* By how many lines the entry at `at`, of this kind, goes on. */
static int line_step(sc_table_byte *byte, void *self, size_t at, int kind)
{
    if (kind <= SHORT_LAST)
        return 0;
    if (kind <= ONE_LINE_LAST)
        return kind - ONE_LINE_FIRST;
    return kind == NO_COLUMNS || kind == LONG ? signed_number(byte, self, at + 1) : 0;
}

int sc_lines_in_entries(sc_table_byte *byte, void *self, int line, int64_t offset)
{
    int64_t end = 0;
    size_t at = 0;

    for (;;) {
        const int head = byte(self, at);
        const int kind = head >> 3 & 15;

        if (head < 0)
            return 0;
        end += UNIT * (int64_t)((head & 7) + 1);
        line += line_step(byte, self, at, kind);
        if (offset < end)
            return kind <= LONG ? line : 0;
        do /* an entry begins where bit 7 is set */
            at++;
        while (byte(self, at) >= 0 && (byte(self, at) & 128) == 0);
    }
}
