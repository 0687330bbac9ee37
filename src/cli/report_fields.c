/* SPDX-License-Identifier: MIT */
#include "cli/report.h"
#include "log/record.h"
#include <stdio.h>

typedef struct column {
    sc_event event;
    sc_field field;
    const char *presence;
} column;

static const column columns[] = {
#define MUST(event, field) {SC_EV_##event, SC_F_##field, "yes"},
#define MAY(event, field)  {SC_EV_##event, SC_F_##field, ""},
#include "cli/schema.def"
};

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

static const struct {
    const char *kind, *word, *meaning;
} words[] = {
#define PHASE(symbol, word, meaning)  {"phase", word, meaning},
#define REASON(symbol, word, meaning) {"reason", word, meaning},
#define LAPSE(symbol, word, meaning)  {"lapse", word, meaning},
#include "cache/phase.def"
};

static const char *type_name(const char *type)
{
    switch (type[0]) {
    case 'U':
    case 'I':
        return "integer";
    case 'T':
        return "text";
    case 'L':
        return "list";
    default:
        return "object";
    }
}

static void print_event(sc_event event)
{
    printf("\n### `%s`\n\n%s.\n\n| field | type | always | meaning |\n|---|---|---|---|\n",
           sc_event_name(event), event_meanings[event]);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        sc_field field = columns[i].field;

        if (columns[i].event == event)
            printf("| `%s` | %s | %s | %s |\n", sc_field_name(field), type_name(fields[field].type),
                   columns[i].presence, fields[field].meaning);
    }
}

void sc_report_fields(void)
{
    puts("Every record has `ev`, the kind of record, and `t`, ns since the run began (monotonic).");
    for (int event = 0; event < SC_EV_COUNT; event++)
        print_event((sc_event)event);
    puts("\n### Words of `phase`, `from`, `to`, `reason` and `lapse`\n\n| | word | meaning "
         "|\n|---|---|---|");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        printf("| %s | `%s` | %s |\n", words[i].kind, words[i].word, words[i].meaning);
}

/* In mdoc a backslash begins an escape; a text here never begins a line, so that dots are dots. */
static void put_roff(const char *text)
{
    for (; *text; text++)
        if (*text == '\\')
            fputs("\\e", stdout);
        else
            putchar(*text);
}

static void print_man_event(sc_event event)
{
    printf(".Ss %s\n\\&", sc_event_name(event));
    put_roff(event_meanings[event]);
    puts(".\n.Bl -tag -width Ds -compact");
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        sc_field field = columns[i].field;

        if (columns[i].event != event)
            continue;
        printf(".It Va %s Pq %s%s\n\\&", sc_field_name(field), type_name(fields[field].type),
               columns[i].presence[0] ? ", always" : "");
        put_roff(fields[field].meaning);
        putchar('\n');
    }
    puts(".El");
}

void sc_report_man(void)
{
    puts(".Sh RECORDS\n"
         "Every record has\n"
         ".Va ev ,\n"
         "the kind of record, and\n"
         ".Va t ,\n"
         "ns since the run began (monotonic).");
    for (int event = 0; event < SC_EV_COUNT; event++)
        print_man_event((sc_event)event);
    puts(".Sh WORDS\n"
         "Of phases, and of the reasons for which they change.\n"
         ".Bl -tag -width too-many-shapes -compact");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        printf(".It Li %s\n\\&", words[i].word);
        put_roff(words[i].meaning);
        printf(" (%s)\n", words[i].kind);
    }
    puts(".El");
}
