/* SPDX-License-Identifier: MIT
 * list_ranks.c - `shapecache ranks`: a line for each rank of a run, and which of them differ. */
#include "base/text.h"
#include "cli/command.h"
#include "cli/emit.h"
#include "cli/outliers.h"
#include "cli/runs.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES = 4096 };

typedef struct ranks_request {
    bool is_json, is_sorted;
    sc_metric sort;
    uint64_t top;
    char **paths;
    unsigned path_count;
} ranks_request;

/* What a line shows and --sort knows. */
static const sc_metric columns[] = {SC_METRIC_steps, SC_METRIC_hit,  SC_METRIC_fallback,
                                    SC_METRIC_oom,   SC_METRIC_live, SC_METRIC_held,
                                    SC_METRIC_alloc, SC_METRIC_wait};

enum { COLUMNS = sizeof columns / sizeof *columns };

static const sc_report *sorted_report; /* qsort has no argument for it */
static sc_metric sorted_by;

/* The most first; what has no such figure last; else by rank. */
static int compare(const void *left, const void *right)
{
    unsigned a = *(const unsigned *)left, b = *(const unsigned *)right;
    uint64_t x = sc_metric_value(sorted_by, &sorted_report->lanes[a]) + 1;
    uint64_t y = sc_metric_value(sorted_by, &sorted_report->lanes[b]) + 1;

    return x != y ? (x < y ? 1 : -1) : (a < b ? -1 : 1);
}

/* The lanes in the order in which they are listed. */
static unsigned *order(const ranks_request *request, const sc_report *report)
{
    unsigned *lanes = sc_need(sizeof *lanes * report->lane_count);

    for (unsigned i = 0; i < report->lane_count; i++)
        lanes[i] = i;
    sorted_report = report;
    sorted_by = request->sort;
    if (request->is_sorted && report->lane_count)
        qsort(lanes, report->lane_count, sizeof *lanes, compare);
    return lanes;
}

/* "3", of a second device "3.1"; with a mark where it differs. */
static void put_rank(sc_table *table, const sc_lane *lane, bool is_odd)
{
    char cell[64];
    sc_text text = sc_text_over(cell, sizeof cell);

    sc_text_u64(&text, lane->history->rank);
    if (lane->history->device_count > 1) {
        sc_text_char(&text, '.');
        sc_text_u64(&text, lane->device->ordinal);
    }
    sc_text_string(&text, is_odd ? " !" : "  ");
    sc_table_cell(table, sc_text_terminate(&text));
}

/* 99.9%, cut: a line is narrow. */
static void put_rate(sc_table *table, uint64_t rate)
{
    char cell[32];

    if (rate == SC_MISSING)
        snprintf(cell, sizeof cell, "-");
    else
        snprintf(cell, sizeof cell, "%llu.%llu%%", (unsigned long long)rate / 100,
                 (unsigned long long)rate / 10 % 10);
    sc_table_cell(table, cell);
}

static void put_lane(sc_table *table, const sc_lane *lane, bool is_odd)
{
    char cell[32];

    put_rank(table, lane, is_odd);
    snprintf(cell, sizeof cell, "%llu", (unsigned long long)lane->history->pid);
    sc_table_cell(table, cell);
    for (unsigned i = 0; i < COLUMNS; i++) {
        sc_unit unit = sc_metric_rows[columns[i]].unit;
        uint64_t value = sc_metric_value(columns[i], lane);

        if (columns[i] == SC_METRIC_hit)
            sc_table_cell(table, lane->device->last_phase);
        if (unit == SC_UNIT_RATE) {
            put_rate(table, value);
        } else if (unit == SC_UNIT_COUNT && value != SC_MISSING) {
            snprintf(cell, sizeof cell, "%llu", (unsigned long long)value);
            sc_table_cell(table, cell);
        } else {
            sc_table_cell(table, sc_metric_print(unit, value, cell));
        }
    }
}

/* Those of `host`; the histories are sorted by rank. */
static void put_ranks(sc_text *text, const sc_report *report, const char *host)
{
    uint64_t first = 0, last = 0;
    bool is_open = false;

    for (unsigned i = 0; i < report->history_count; i++) {
        uint64_t rank = report->histories[i]->rank;

        if (strcmp(report->histories[i]->host, host) != 0)
            continue;
        if (is_open && rank > last + 1) {
            sc_runs_put_range(text, first, last);
            is_open = false;
        }
        first = is_open ? first : rank;
        last = rank;
        is_open = true;
    }
    if (is_open)
        sc_runs_put_range(text, first, last);
}

/* "node7: 0-3", by the first rank of each. */
static void tell_hosts(const sc_report *report)
{
    for (unsigned i = 0; i < report->history_count; i++) {
        const char *host = report->histories[i]->host;
        char bytes[TEXT_BYTES], head[TEXT_BYTES];
        sc_text text = sc_text_over(bytes, sizeof bytes);
        unsigned first = 0;

        while (strcmp(report->histories[first]->host, host) != 0)
            first++;
        if (first < i)
            continue;
        put_ranks(&text, report, host);
        snprintf(head, sizeof head, "host      %s: rank ", *host ? host : "(not told)");
        sc_emit_wrapped(head, 10, sc_text_terminate(&text));
    }
}

static void print(const void *self, const sc_report *report)
{
    const ranks_request *request = self;
    static const char *const titles[] = {"rank", "pid",  "steps", "phase", "hits", "fell",
                                         "oom",  "live", "held",  "alloc", "wait"};
    sc_table table = {.is_left = {[3] = true}, .columns = sizeof titles / sizeof *titles, .gap = 1};
    unsigned *lanes = order(request, report);
    sc_outliers odd;

    memcpy(table.titles, titles, sizeof titles);
    sc_outliers_find(&odd, report);
    sc_emit("run       %s\n", *report->histories[0]->run ? report->histories[0]->run : "(unnamed)");
    tell_hosts(report);
    for (unsigned i = 0; i < report->lane_count && i < request->top; i++)
        put_lane(&table, &report->lanes[lanes[i]], sc_outliers_has(&odd, lanes[i]));
    if (table.used)
        sc_table_print(&table);
    else
        sc_emit("nothing was allocated on any device\n");
    sc_outliers_tell(&odd, report, UINT_MAX);
    sc_outliers_release(&odd);
    free(lanes);
}

static void print_lane_json(const sc_lane *lane, bool is_odd)
{
    sc_emit_open(NULL, '{');
    sc_emit_u64("rank", lane->history->rank);
    sc_emit_u64("dev", lane->device->ordinal);
    sc_emit_u64("pid", lane->history->pid);
    sc_emit_text("host", lane->history->host);
    sc_emit_text("log", lane->history->path);
    sc_emit_bool("is_complete", lane->device->is_complete);
    if (lane->device->steps)
        sc_emit_u64("last_step", lane->device->steps - 1);
    sc_emit_text("phase", lane->device->last_phase);
    for (int i = 0; i < SC_METRIC_COUNT; i++) {
        uint64_t value = sc_metric_value((sc_metric)i, lane);

        if (value != SC_MISSING)
            sc_emit_u64(sc_metric_rows[i].name, value);
    }
    sc_emit_bool("differs", is_odd);
    sc_emit_end('}');
}

static void print_json(const void *self, const sc_report *report)
{
    const ranks_request *request = self;
    unsigned *lanes = order(request, report);
    sc_outliers odd;

    sc_outliers_find(&odd, report);
    sc_emit_open(NULL, '{');
    sc_emit_text("run", report->histories[0]->run);
    sc_emit_u64("world", report->histories[0]->world);
    sc_emit_open("ranks", '[');
    for (unsigned i = 0; i < report->lane_count && i < request->top; i++)
        print_lane_json(&report->lanes[lanes[i]], sc_outliers_has(&odd, lanes[i]));
    sc_emit_end(']');
    sc_outliers_json(&odd, report);
    sc_emit_end('}');
    sc_outliers_release(&odd);
    free(lanes);
}

/* 0, or the exit status. */
static int parse_sort(ranks_request *request, const char *name)
{
    request->is_sorted = name && strcmp(name, "rank") != 0;
    if (name && !request->is_sorted)
        return 0;
    for (unsigned i = 0; name && i < COLUMNS; i++) {
        if (!strcmp(sc_metric_rows[columns[i]].name, name)) {
            request->sort = columns[i];
            return 0;
        }
    }
    return sc_usage(&sc_command_ranks, "ranks: --sort wants rank, steps, hit, fallback, oom, live, "
                                       "held, alloc or wait");
}

/* 0, or the exit status. */
static int parse(ranks_request *request, int count, char **arguments)
{
    bool is_over = false;

    for (int i = 0; i < count; i++) {
        char *argument = arguments[i], *next = i + 1 < count ? arguments[i + 1] : NULL;

        if (is_over || argument[0] != '-' || !argument[1]) {
            arguments[request->path_count++] = argument;
        } else if (!strcmp(argument, "--")) {
            is_over = true;
        } else if (!strcmp(argument, "--json")) {
            request->is_json = true;
        } else if (!strcmp(argument, "--sort")) {
            if (parse_sort(request, next))
                return SC_EXIT_USAGE;
            i++;
        } else if (!strcmp(argument, "--top")) {
            if (!next || !sc_parse_u64(next, &request->top))
                return sc_usage(&sc_command_ranks, "ranks: --top wants a number of ranks");
            i++;
        } else {
            return sc_usage(&sc_command_ranks, "ranks: no option \"%.64s\"", argument);
        }
    }
    return request->path_count
               ? 0
               : sc_usage(&sc_command_ranks, "ranks: which log, or folder of a run?");
}

static int list_ranks(int count, char **arguments)
{
    ranks_request request = {.top = UINT64_MAX, .paths = arguments};
    int status = parse(&request, count, arguments);
    const sc_runs_view view = {.command = "ranks",
                               .request = &request,
                               .text = print,
                               .json = print_json,
                               .is_json = request.is_json};

    return status ? status : sc_runs_show(&view, request.paths, request.path_count);
}

const sc_command sc_command_ranks = {
    .name = "ranks",
    .run = list_ranks,
    .summary = "list the ranks of a run, and which of them differ",
    .help = "usage: shapecache ranks [--sort BY] [--top N] [--json] PATH...\n"
            "\n"
            "A line for each rank of a run: process, steps, phase at the end, the share of\n"
            "requests in phase fixed that was served, fallbacks, times the driver was out of\n"
            "memory, most bytes live and held, time in driver calls and in waits. A ! marks a\n"
            "rank that differs from the others; below it says in what. PATH is the folder of a\n"
            "run, or its logs.\n"
            "\n"
            "A figure differs where it is more than a tenth (hits: a point) off the median and\n"
            "off by three times as much as the ranks usually are; times by half and 100 ms.\n"
            "\n"
            "  --sort BY  by rank (the default), or most first by steps, hit, fallback, oom,\n"
            "             live, held, alloc or wait\n"
            "  --top N    only the first N of them\n"
            "  --json     a document for programs, with more figures (hundredths of a percent,\n"
            "             bytes, ns)\n"
            "\n"
            "exit status: 0, 2 usage, 3 a log that is unreadable or malformed\n",
};
