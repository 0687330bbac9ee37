/* SPDX-License-Identifier: MIT */
#include "cli/emit.h"
#include "base/text.h"
#include "cli/command.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *elsewhere; /* NULL: stdout */

static FILE *out_file(void)
{
    return elsewhere ? elsewhere : stdout;
}

FILE *sc_emit_to(FILE *file)
{
    FILE *before = elsewhere;

    elsewhere = file;
    return before;
}

const char *sc_emit_size(char out[16], uint64_t bytes)
{
    sc_text text = sc_text_over(out, 16);

    sc_text_size(&text, bytes);
    return sc_text_terminate(&text);
}

/* Three digits of value / unit, with the unit's name. */
static const char *three_digits(char out[16], double value, const char *unit)
{
    snprintf(out, 16, "%.*f %s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, unit);
    return out;
}

const char *sc_emit_time(char out[16], uint64_t ns)
{
    uint64_t seconds = ns / 1000000000;

    if (ns < 1000)
        snprintf(out, 16, "%u ns", (unsigned)ns);
    else if (ns < 999500)
        return three_digits(out, (double)ns / 1e3, "us");
    else if (ns < 999500000)
        return three_digits(out, (double)ns / 1e6, "ms");
    else if (seconds < 100)
        return three_digits(out, (double)ns / 1e9, "s");
    else if (seconds < 6000)
        snprintf(out, 16, "%um%02us", (unsigned)(seconds / 60), (unsigned)(seconds % 60));
    else
        snprintf(out, 16, "%lluh%02um", (unsigned long long)(seconds / 3600),
                 (unsigned)(seconds / 60 % 60));
    return out;
}

const char *sc_emit_count(char out[32], uint64_t value)
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);
    char *at = out;

    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            *at++ = ',';
        *at++ = digits[i];
    }
    *at = '\0';
    return out;
}

const char *sc_emit_percent(char out[16], uint64_t part, uint64_t whole)
{
    unsigned hundredths = whole ? (unsigned)((double)part * 10000 / (double)whole) : 0;

    snprintf(out, 16, "%u.%02u%%", hundredths / 100, hundredths % 100);
    return out;
}

size_t sc_emit_quoted(char *out, size_t bytes, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "%+,-./:=@_";
    sc_text text = sc_text_over(out, bytes);

    if (*word && !word[strspn(word, plain)]) {
        sc_text_string(&text, word);
    } else {
        sc_text_char(&text, '\'');
        for (; *word; word++)
            if (*word == '\'')
                sc_text_string(&text, "'\\''");
            else
                sc_text_char(&text, *word);
        sc_text_char(&text, '\'');
    }
    sc_text_terminate(&text);
    return text.used;
}

static void put_safely(const char *text)
{
    while (*text) {
        bool is_plain;
        size_t bytes = sc_text_shown(text, &is_plain);

        if (is_plain || *text == '\n')
            fwrite(text, 1, bytes, out_file());
        else
            putc('?', out_file());
        text += bytes;
    }
}

/* Characters, as many as columns of most scripts. */
static size_t width_of(const char *text, size_t bytes)
{
    size_t width = 0;
    bool is_plain;

    for (size_t at = 0; at < bytes && text[at]; width++)
        at += sc_text_shown(text + at, &is_plain);
    return width;
}

void sc_emit(const char *format, ...)
{
    va_list arguments;
    char *text = NULL;

    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    if (text)
        put_safely(text);
    free(text);
}

/* Bytes of the next word; a number keeps its unit. */
static size_t word_length(const char *text)
{
    size_t length = strcspn(text, " ");
    const char *next = text + length;
    size_t unit;

    if (!length || text[length - 1] < '0' || text[length - 1] > '9' || !*next)
        return length;
    next++;
    unit = strcspn(next, " ,.;)");
    if ((unit == 1 && *next == 'B') || (unit == 3 && !strncmp(next + 1, "iB", 2)))
        return length + 1 + strcspn(next, " ");
    return length;
}

void sc_emit_wrapped(const char *head, unsigned indent, const char *text)
{
    size_t column = width_of(head, SIZE_MAX);
    bool is_fresh = true;

    sc_emit("%s", head);
    while (*text) {
        size_t length = word_length(text), width = width_of(text, length);

        if (!is_fresh && column + 1 + width > SC_EMIT_WIDTH) {
            sc_emit("\n%*s", (int)indent, "");
            column = indent;
        } else if (!is_fresh) {
            sc_emit(" ");
            column++;
        }
        sc_emit("%.*s", (int)length, text);
        column += width;
        is_fresh = false;
        text += length + strspn(text + length, " ");
    }
    sc_emit("\n");
}

void sc_table_cell(sc_table *table, const char *text)
{
    if ((table->used & (table->used - 1)) == 0)
        table->cells = sc_need_again(table->cells, sizeof *table->cells *
                                                       (table->used ? 2 * (size_t)table->used : 1));
    table->cells[table->used++] = sc_need_copy(text);
}

/* The last column, if it is aligned left, gets what is left of the line. */
static void print_last(const char *cell, unsigned column)
{
    size_t width = width_of(cell, SIZE_MAX);
    size_t room = column + 8 < SC_EMIT_WIDTH ? SC_EMIT_WIDTH - column : 8;
    size_t skipped = width > room ? width - room + 2 : 0;
    bool is_plain;

    for (size_t i = 0; i < skipped; i++)
        cell += sc_text_shown(cell, &is_plain);
    sc_emit("%s%s", skipped ? ".." : "", cell);
}

static void print_row(const sc_table *table, const unsigned *widths, const char *const *cells)
{
    unsigned column = 0, last = table->columns - 1;

    for (unsigned i = 0; i < last; i++) {
        int blanks = (int)(widths[i] - width_of(cells[i], SIZE_MAX)), gap = (int)table->gap;

        if (table->is_left[i])
            sc_emit("%s%*s", cells[i], blanks + gap, "");
        else
            sc_emit("%*s%s%*s", blanks, "", cells[i], gap, "");
        column += widths[i] + table->gap;
    }
    if (table->is_left[last])
        print_last(cells[last], column);
    else
        sc_emit("%*s%s", (int)(widths[last] - width_of(cells[last], SIZE_MAX)), "", cells[last]);
    sc_emit("\n");
}

void sc_table_print(sc_table *table)
{
    unsigned widths[SC_TABLE_COLUMNS] = {0};

    for (unsigned i = 0; i < table->columns; i++) {
        widths[i] = (unsigned)width_of(table->titles[i], SIZE_MAX);
        for (unsigned cell = i; cell < table->used; cell += table->columns) {
            unsigned width = (unsigned)width_of(table->cells[cell], SIZE_MAX);

            widths[i] = width > widths[i] ? width : widths[i];
        }
    }
    print_row(table, widths, table->titles);
    for (unsigned row = 0; row + table->columns <= table->used; row += table->columns)
        print_row(table, widths, (const char *const *)table->cells + row);
    for (unsigned i = 0; i < table->used; i++)
        free(table->cells[i]);
    free(table->cells);
    table->cells = NULL;
    table->used = 0;
}

/* Whether the innermost container has an entry already; one document at a time. */
static unsigned depth;
static bool has_entry[32];

static void begin_value(const char *name)
{
    if (depth) {
        fputs(has_entry[depth] ? ",\n" : "\n", out_file());
        fprintf(out_file(), "%*s", (int)depth, "");
        has_entry[depth] = true;
    }
    if (name)
        fprintf(out_file(), "\"%s\": ", name);
}

void sc_emit_open(const char *name, char bracket)
{
    begin_value(name);
    putc(bracket, out_file());
    has_entry[++depth] = false;
}

void sc_emit_end(char bracket)
{
    if (has_entry[depth--])
        fprintf(out_file(), "\n%*s", (int)depth, "");
    putc(bracket, out_file());
    if (!depth)
        putc('\n', out_file());
}

void sc_emit_u64(const char *name, uint64_t value)
{
    begin_value(name);
    fprintf(out_file(), "%llu", (unsigned long long)value);
}

void sc_emit_u64s(const char *name, const uint64_t *values, size_t count)
{
    begin_value(name);
    putc('[', out_file());
    for (size_t i = 0; i < count; i++)
        if (values[i] == UINT64_MAX)
            fputs(i ? ",null" : "null", out_file());
        else
            fprintf(out_file(), i ? ",%llu" : "%llu", (unsigned long long)values[i]);
    putc(']', out_file());
}

void sc_emit_text(const char *name, const char *text)
{
    size_t room = text ? 6 * strlen(text) + 3 : 0; /* \u00XX at worst */
    char *quoted;
    sc_text into;

    if (!text)
        return;
    quoted = sc_need(room);
    into = sc_text_over(quoted, room);
    sc_text_json(&into, text);
    begin_value(name);
    fputs(sc_text_terminate(&into), out_file());
    free(quoted);
}

void sc_emit_bool(const char *name, bool value)
{
    begin_value(name);
    fputs(value ? "true" : "false", out_file());
}

bool sc_emit_close(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return true;
    if (errno != EPIPE) /* `| head` is nobody's error */
        sc_say("cannot write to standard output: %s", strerror(errno));
    return errno == EPIPE;
}
