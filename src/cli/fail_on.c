/* SPDX-License-Identifier: MIT */
#include "cli/fail_on.h"
#include "base/text.h"
#include "cli/command.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMED = 8, TEXT_BYTES = 1536, WORD_BYTES = 64 };

/* The longer ones first: "<" begins "<=". */
static const struct {
    const char *sign;
    sc_relation relation;
} relations[] = {{"<=", SC_AT_MOST}, {">=", SC_AT_LEAST}, {"==", SC_EQUAL},
                 {"!=", SC_UNEQUAL}, {"<", SC_BELOW},     {">", SC_ABOVE}};

/* What a value looks like. */
static const char *const expected[] = {
    [SC_UNIT_RATE] = "a percentage with at most two decimals, such as 95 or 99.5",
    [SC_UNIT_COUNT] = "a whole number",
    [SC_UNIT_SIZE] = "bytes, such as 1.5GiB or 4096",
    [SC_UNIT_TIME] = "a time with its unit (ns, us, ms, s, m or h), such as 250ms",
};

static void put_names(sc_text *text)
{
    for (int i = 0; i < SC_METRIC_COUNT; i++) {
        sc_text_string(text, i ? ", " : "");
        sc_text_string(text, sc_metric_rows[i].name);
    }
}

/* The exit status. */
static int unknown(const char *text, size_t length)
{
    const char *nearest = sc_metric_rows[0].name;
    char bytes[TEXT_BYTES], name[WORD_BYTES];
    sc_text names = sc_text_over(bytes, sizeof bytes);

    snprintf(name, sizeof name, "%.*s", (int)(length < WORD_BYTES ? length : WORD_BYTES - 1), text);
    for (int i = 1; i < SC_METRIC_COUNT; i++)
        if (sc_text_distance(name, sc_metric_rows[i].name) < sc_text_distance(name, nearest))
            nearest = sc_metric_rows[i].name;
    put_names(&names);
    return sc_usage(&sc_command_report,
                    "report: --fail-on \"%.64s\": there is no figure \"%.64s\"; the nearest is "
                    "\"%s\" of %s",
                    text, name, nearest, sc_text_terminate(&names));
}

static int no_relation(const char *text)
{
    char bytes[TEXT_BYTES];
    sc_text names = sc_text_over(bytes, sizeof bytes);

    put_names(&names);
    return sc_usage(&sc_command_report,
                    "report: --fail-on \"%.64s\": expected one of %s, then one of < <= > >= == "
                    "!=, then a value",
                    text, sc_text_terminate(&names));
}

/* Digits, with a point between or not; what follows them. NULL: it does not begin so. */
static const char *number(const char *text, double *out)
{
    size_t whole = strspn(text, "0123456789"), fraction = 0;
    char digits[WORD_BYTES];

    if (whole && text[whole] == '.')
        fraction = 1 + strspn(text + whole + 1, "0123456789");
    if (!whole || fraction == 1 || whole + fraction >= sizeof digits)
        return NULL;
    memcpy(digits, text, whole + fraction);
    digits[whole + fraction] = '\0';
    *out = strtod(digits, NULL);
    return text + whole + fraction;
}

static bool parse_rate(const char *text, uint64_t *out)
{
    const char *point = strchr(text, '.'), *after;
    double value;

    after = number(text, &value);
    if (!after || (*after && strcmp(after, "%") != 0) || value > 1e6 ||
        (point && after - point > 3))
        return false;
    *out = (uint64_t)(value * 100 + 0.5);
    return true;
}

static bool parse_time(const char *text, uint64_t *out)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};
    double value;
    const char *unit = number(text, &value);

    for (size_t i = 0; unit && i < sizeof units / sizeof *units; i++) {
        if (strcmp(unit, units[i].unit) != 0 || value * units[i].ns > 1e18)
            continue;
        *out = (uint64_t)(value * units[i].ns + 0.5);
        return true;
    }
    return false;
}

static bool parse_value(sc_unit unit, const char *text, uint64_t *out)
{
    switch (unit) {
    case SC_UNIT_RATE:
        return parse_rate(text, out);
    case SC_UNIT_SIZE:
        return sc_parse_size(text, out);
    case SC_UNIT_TIME:
        return parse_time(text, out);
    default:
        return sc_parse_u64(text, out);
    }
}

/* 0, or the exit status. */
static int parse(const char *text, sc_condition *out)
{
    const char *sign = strpbrk(text, "<>=!");
    size_t length = sign ? (size_t)(sign - text) : 0;
    size_t row = 0, rows = sizeof relations / sizeof *relations;

    while (row < rows &&
           (!sign || strncmp(sign, relations[row].sign, strlen(relations[row].sign)) != 0))
        row++;
    while (length && text[length - 1] == ' ')
        length--;
    if (row == rows || !length)
        return no_relation(text);
    out->metric = sc_metric_find(text, length);
    if (out->metric == SC_METRIC_COUNT)
        return unknown(text, length);
    sign += strlen(relations[row].sign);
    sign += strspn(sign, " ");
    out->relation = relations[row].relation;
    if (parse_value(sc_metric_rows[out->metric].unit, sign, &out->value))
        return 0;
    return sc_usage(&sc_command_report, "report: --fail-on \"%.64s\": expected %s, found \"%.64s\"",
                    text, expected[sc_metric_rows[out->metric].unit], sign);
}

/* `length` bytes without the blanks around them, owned. */
static char *copy_trimmed(const char *from, size_t length)
{
    char *copy;

    while (length && *from == ' ') {
        from++;
        length--;
    }
    while (length && from[length - 1] == ' ')
        length--;
    copy = sc_need(length + 1);
    memcpy(copy, from, length);
    return copy;
}

int sc_fail_on_add(sc_fail_on *all, const char *list)
{
    int status = 0;

    while (!status) {
        size_t length = strcspn(list, ",");
        sc_condition *one;

        all->at = sc_need_again(all->at, sizeof *all->at * (all->count + 1));
        one = &all->at[all->count++];
        *one = (sc_condition){.text = copy_trimmed(list, length)};
        status = parse(one->text, one);
        if (!list[length])
            break;
        list += length + 1;
    }
    return status;
}

static bool holds(const sc_condition *one, uint64_t value)
{
    if (value == SC_MISSING)
        return true;
    switch (one->relation) {
    case SC_BELOW:
        return value < one->value;
    case SC_AT_MOST:
        return value <= one->value;
    case SC_ABOVE:
        return value > one->value;
    case SC_AT_LEAST:
        return value >= one->value;
    case SC_EQUAL:
        return value == one->value;
    default:
        return value != one->value;
    }
}

/* "rank 3 has 61.76%", of run R where there are several */
static void put_lane(sc_text *text, const sc_runs *runs, const sc_report *report, unsigned lane,
                     const sc_condition *one)
{
    uint64_t value = sc_metric_value(one->metric, &report->lanes[lane]);
    char label[64], figure[32];

    sc_report_label(report, lane, label);
    if (runs->count > 1) {
        sc_text_string(text, report->histories[0]->run);
        sc_text_char(text, ' ');
    }
    sc_text_string(text, label);
    sc_text_string(text, value == SC_MISSING ? " has none in its log" : " has ");
    if (value != SC_MISSING)
        sc_text_string(text, sc_metric_print(sc_metric_rows[one->metric].unit, value, figure));
}

static bool tell(const sc_condition *one, const sc_runs *runs)
{
    char bytes[TEXT_BYTES];
    sc_text text = sc_text_over(bytes, sizeof bytes);
    unsigned lanes = 0, count = 0;

    for (unsigned r = 0; r < runs->count; r++) {
        const sc_report *report = &runs->at[r];

        lanes += report->lane_count;
        for (unsigned i = 0; i < report->lane_count; i++) {
            if (!holds(one, sc_metric_value(one->metric, &report->lanes[i])) || ++count > NAMED)
                continue;
            sc_text_string(&text, count > 1 ? ", " : "");
            put_lane(&text, runs, report, i, one);
        }
    }
    if (count > NAMED) {
        sc_text_string(&text, " and ");
        sc_text_u64(&text, count - NAMED);
        sc_text_string(&text, " more");
    }
    if (!lanes)
        sc_text_string(&text, "no device was used, so there is nothing to judge by");
    if (text.used)
        sc_say("report: --fail-on %.64s: %s", one->text, sc_text_terminate(&text));
    return text.used > 0;
}

bool sc_fail_on_trips(const sc_fail_on *all, const sc_runs *runs)
{
    bool is_tripped = false;

    for (unsigned i = 0; i < all->count; i++)
        is_tripped = tell(&all->at[i], runs) || is_tripped;
    return is_tripped;
}

void sc_fail_on_release(sc_fail_on *all)
{
    for (unsigned i = 0; i < all->count; i++)
        free(all->at[i].text);
    free(all->at);
    *all = (sc_fail_on){NULL, 0};
}
