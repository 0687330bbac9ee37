/* SPDX-License-Identifier: MIT
 * export_csv.c - the records of one kind as a table, for a spreadsheet: a column for the rank, the
 * time and each field that schema.def gives them; what is absent is empty. Quoted as RFC 4180 says.
 */
#include "cli/export.h"
#include <string.h>

static const struct {
    sc_event event;
    sc_field field;
} columns[] = {
#define MUST(event, field) {SC_EV_##event, SC_F_##field},
#define MAY(event, field)  {SC_EV_##event, SC_F_##field},
#include "cli/schema.def"
};

enum { COLUMNS = sizeof columns / sizeof *columns };

static unsigned level(const sc_export *export)
{
    switch (export->rows) {
    case SC_EV_ALLOC:
    case SC_EV_FREE:
        return SC_LEVEL_EVENT;
    case SC_EV_STEP:
        return SC_LEVEL_STEP;
    default:
        return SC_LEVEL_SUMMARY;
    }
}

static void begin(sc_export *export)
{
    (void)export;
}

static void log_begins(sc_export *export)
{
    if (export->number)
        return;
    fprintf(export->out, "rank,%s", sc_field_name(SC_F_T));
    for (int i = 0; i < COLUMNS; i++)
        if (columns[i].event == export->rows)
            fprintf(export->out, ",%s", sc_field_name(columns[i].field));
    fputc('\n', export->out);
}

static void write_text(FILE *out, const char *text, size_t bytes)
{
    bool is_plain = true;

    for (size_t i = 0; i < bytes; i++)
        is_plain = is_plain && !strchr("\",\r\n", text[i]);
    if (is_plain) {
        fwrite(text, 1, bytes, out);
        return;
    }
    fputc('"', out);
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] == '"')
            fputc('"', out);
        fputc(text[i], out);
    }
    fputc('"', out);
}

static void write_value(FILE *out, const sc_json_value *value)
{
    if (value->kind == SC_JSON_WHOLE)
        fprintf(out, "%llu", (unsigned long long)value->whole);
    else if (value->kind == SC_JSON_TEXT)
        write_text(out, value->text, strlen(value->text));
    else
        write_text(out, value->start, value->bytes);
}

static bool take(sc_export *export, const sc_line *line)
{
    FILE *out = export->out;

    if (line->event != export->rows || sc_export_is_other(export, line))
        return true;
    export->written++;
    fprintf(out, "%llu,%llu", (unsigned long long)export->run->rank,
            (unsigned long long)sc_line_u64(line, SC_F_T));
    for (int i = 0; i < COLUMNS; i++) {
        if (columns[i].event != export->rows)
            continue;
        fputc(',', out);
        if (line->has[columns[i].field])
            write_value(out, &line->value[columns[i].field]);
    }
    fputc('\n', out);
    return true;
}

static void end(sc_export *export)
{
    (void)export;
}

const sc_export_format sc_export_csv = {
    .name = "csv",
    .level = level,
    .begin = begin,
    .log = log_begins,
    .take = take,
    .end = end,
    .drop = end,
};
