/* SPDX-License-Identifier: MIT
 * report_schema.c - `report --schema`: one line of a log as a JSON Schema, from the same tables as
 * the reader and docs/log.md. */
#include "cli/emit.h"
#include "cli/report.h"
#include "log/record.h"
#include <stdio.h>
#include <string.h>

enum { WORDS_MOST = 16, NAME_BYTES = 64 };

static const struct {
    sc_event event;
    sc_field field;
    bool is_demanded;
} columns[] = {
#define MUST(event, field) {SC_EV_##event, SC_F_##field, true},
#define MAY(event, field)  {SC_EV_##event, SC_F_##field, false},
#include "cli/schema.def"
};

enum { COLUMNS = sizeof columns / sizeof *columns };

static const char *const event_meanings[] = {
#define EVENT(symbol, name, meaning) meaning,
#include "log/record.def"
};

static const struct {
    const char *type, *meaning;
} fields[] = {
#define FIELD(symbol, name, type, meaning) {#type, meaning},
#include "log/record.def"
};

/* The words a text is one of. A later version of the tool may add some: they are examples. */
static const char *const phases[] = {
#define PHASE(symbol, word, meaning) word,
#include "cache/phase.def"
    NULL};
static const char *const reasons[] = {
#define REASON(symbol, word, meaning) word,
#include "cache/phase.def"
    NULL};
static const char *const sources[] = {"live", "cover", "api", "requests", NULL};
static const char *const outcomes[] = {"hit",     "miss",      "bypassed", "parked", "driver",
                                       "unknown", "elsewhere", "context",  NULL};
static const char *const occasions[] = {"start", "report", "save", "load", "failed",
                                        "pass",  "oom",    "end",  NULL};
static const char *const verdicts[] = {"trimmed",    "gate-off",  "capture",
                                       "too-big",    "elsewhere", "other-process",
                                       "fragmented", "unknown",   NULL};
static const char *const levels[] = {"summary", "step", "event", NULL};

static const struct {
    sc_field field;
    const char *const *words;
} worded[] = {{SC_F_FROM, phases},    {SC_F_TO, phases},           {SC_F_PHASE, phases},
              {SC_F_REASON, reasons}, {SC_F_STEP_SOURCE, sources}, {SC_F_OUTCOME, outcomes},
              {SC_F_WHAT, occasions}, {SC_F_LEVEL, levels},        {SC_F_VERDICT, verdicts}};

static void emit_words(const char *const *words)
{
    sc_emit_open("examples", '[');
    for (; *words; words++)
        sc_emit_text(NULL, *words);
    sc_emit_end(']');
}

static void emit_whole(const char *name)
{
    sc_emit_open(name, '{');
    sc_emit_text("type", "integer");
    sc_emit_u64("minimum", 0);
    sc_emit_u64("maximum", UINT64_MAX);
    sc_emit_end('}');
}

static void emit_type(const char *name, const char *type)
{
    sc_emit_open(name, '{');
    sc_emit_text("type", type);
    sc_emit_end('}');
}

/* An object that has both of `names`: whole numbers, or texts. */
static void emit_pair(const char *name, const char *const names[2], bool is_whole)
{
    sc_emit_open(name, '{');
    sc_emit_text("type", "object");
    sc_emit_open("required", '[');
    sc_emit_text(NULL, names[0]);
    sc_emit_text(NULL, names[1]);
    sc_emit_end(']');
    sc_emit_open("properties", '{');
    for (int i = 0; i < 2; i++)
        if (is_whole)
            emit_whole(names[i]);
        else
            emit_type(names[i], "string");
    sc_emit_end('}');
    sc_emit_end('}');
}

/* Rows of four whole numbers. */
static void emit_rows(void)
{
    sc_emit_open("items", '{');
    sc_emit_text("type", "array");
    emit_whole("items");
    sc_emit_u64("minItems", 4);
    sc_emit_u64("maxItems", 4);
    sc_emit_end('}');
}

/* What the tables do not tell: the items of lists, the members of objects. */
static void emit_content(sc_field field)
{
    static const char *const device[] = {"dev", "total"}, *const setting[] = {"value", "from"};

    if (field == SC_F_CONFIG)
        emit_pair("additionalProperties", setting, false);
    else if (field == SC_F_DEVICES)
        emit_pair("items", device, true);
    else if (field == SC_F_DIMS)
        emit_whole("items");
    else if (field == SC_F_HOLDERS || field == SC_F_CHANGED)
        emit_rows();
    else if (fields[field].type[0] == 'L')
        emit_type("items", "string");
}

static void emit_field(sc_field field)
{
    static const char *const types[][2] = {{"U64", "integer"},
                                           {"I64", "integer"},
                                           {"TEXT", "string"},
                                           {"LIST", "array"},
                                           {"OBJECT", "object"}};
    char name[NAME_BYTES];

    snprintf(name, sizeof name, "field-%s", sc_field_name(field));
    sc_emit_open(name, '{');
    sc_emit_text("description", fields[field].meaning);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(types[i][0], fields[field].type))
            sc_emit_text("type", types[i][1]);
    if (fields[field].type[0] == 'U') {
        sc_emit_u64("minimum", 0);
        sc_emit_u64("maximum", UINT64_MAX);
    }
    if (field == SC_F_V)
        sc_emit_u64("const", SC_LOG_VERSION);
    for (size_t i = 0; i < sizeof worded / sizeof *worded; i++)
        if (worded[i].field == field)
            emit_words(worded[i].words);
    emit_content(field);
    sc_emit_end('}');
}

static void emit_reference(const char *name, const char *kind, const char *to)
{
    char at[NAME_BYTES];

    snprintf(at, sizeof at, "#/$defs/%s-%s", kind, to);
    sc_emit_open(name, '{');
    sc_emit_text("$ref", at);
    sc_emit_end('}');
}

static void emit_record(sc_event event)
{
    char name[NAME_BYTES];

    snprintf(name, sizeof name, "record-%s", sc_event_name(event));
    sc_emit_open(name, '{');
    sc_emit_text("description", event_meanings[event]);
    sc_emit_open("required", '[');
    sc_emit_text(NULL, sc_field_name(SC_F_EV));
    sc_emit_text(NULL, sc_field_name(SC_F_T));
    for (size_t i = 0; i < COLUMNS; i++)
        if (columns[i].event == event && columns[i].is_demanded)
            sc_emit_text(NULL, sc_field_name(columns[i].field));
    sc_emit_end(']');
    sc_emit_open("properties", '{');
    emit_reference(sc_field_name(SC_F_EV), "field", sc_field_name(SC_F_EV));
    emit_reference(sc_field_name(SC_F_T), "field", sc_field_name(SC_F_T));
    for (size_t i = 0; i < COLUMNS; i++)
        if (columns[i].event == event)
            emit_reference(sc_field_name(columns[i].field), "field",
                           sc_field_name(columns[i].field));
    sc_emit_end('}');
    sc_emit_end('}');
}

/* if: it is this kind of record; then: it looks like this. */
static void emit_choice(sc_event event)
{
    sc_emit_open(NULL, '{');
    sc_emit_open("if", '{');
    sc_emit_open("properties", '{');
    sc_emit_open(sc_field_name(SC_F_EV), '{');
    sc_emit_text("const", sc_event_name(event));
    sc_emit_end('}');
    sc_emit_end('}');
    sc_emit_end('}');
    emit_reference("then", "record", sc_event_name(event));
    sc_emit_end('}');
}

void sc_report_schema(void)
{
    sc_emit_open(NULL, '{');
    sc_emit_text("$schema", "https://json-schema.org/draft/2020-12/schema");
    sc_emit_text("$id", "urn:shapecache:log:1");
    sc_emit_text("title", "One line of a shapecache log");
    sc_emit_text("description",
                 "Records and fields that are not listed here are of a later version of the tool: "
                 "pass over them. Examples are the words that this version writes.");
    sc_emit_text("type", "object");
    sc_emit_open("required", '[');
    sc_emit_text(NULL, sc_field_name(SC_F_EV));
    sc_emit_text(NULL, sc_field_name(SC_F_T));
    sc_emit_end(']');
    sc_emit_open("properties", '{');
    emit_reference(sc_field_name(SC_F_EV), "field", sc_field_name(SC_F_EV));
    emit_reference(sc_field_name(SC_F_T), "field", sc_field_name(SC_F_T));
    sc_emit_end('}');
    sc_emit_open("allOf", '[');
    for (int event = 0; event < SC_EV_COUNT; event++)
        emit_choice((sc_event)event);
    sc_emit_end(']');
    sc_emit_open("$defs", '{');
    for (int field = 0; field < SC_F_COUNT; field++)
        emit_field((sc_field)field);
    for (int event = 0; event < SC_EV_COUNT; event++)
        emit_record((sc_event)event);
    sc_emit_end('}');
    sc_emit_end('}');
}
