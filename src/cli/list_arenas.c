/* SPDX-License-Identifier: MIT
 * list_arenas.c - `shapecache arena`: the pinned arenas of a run, what they moved and refused, and
 * how deep they were when. */
#include "base/text.h"
#include "cli/command.h"
#include "cli/emit.h"
#include "cli/report_arenas.h"
#include "cli/runs.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 1024 };

typedef struct arena_request {
    bool is_json;
    char **paths;
    unsigned path_count;
} arena_request;

static void count_of(sc_text *text, uint64_t count, const char *what)
{
    if (!count)
        return;
    sc_text_string(text, text->used ? ", " : "");
    sc_text_u64(text, count);
    sc_text_string(text, what);
}

/* Nothing where there is nothing to say. */
static void tell(const char *name, const char *what, sc_text *text)
{
    char head[128];

    if (!text->used)
        return;
    snprintf(head, sizeof head, "%.80s, %s: ", name, what);
    sc_emit_wrapped(head, 2, sc_text_terminate(text));
}

/* What stayed, and which size would do. */
static void tell_kept(const sc_arena_row *arena)
{
    const sc_arena_figures *last = &arena->last;
    char bytes[TEXT_BYTES];
    sc_text text = sc_text_over(bytes, sizeof bytes);

    count_of(&text, last->kept_full, " stayed on the device, for they did not fit");
    count_of(&text, last->kept > last->kept_full ? last->kept - last->kept_full : 0,
             " stayed for other reasons");
    count_of(&text, last->pageable, " went to pageable memory");
    count_of(&text, last->rewound, " were dropped");
    if (last->demand_peak > last->capacity) {
        sc_text_string(&text, text.used ? "; a capacity of " : "a capacity of ");
        sc_text_u64(&text, last->demand_peak);
        sc_text_string(&text, " bytes would hold all");
    }
    tell(arena->name, "of its tensors", &text);
}

static void tell_misuse(const sc_arena_row *arena)
{
    const sc_arena_figures *last = &arena->last;
    char bytes[TEXT_BYTES];
    sc_text text = sc_text_over(bytes, sizeof bytes);

    count_of(&text, last->wrong_order, " in the wrong order");
    count_of(&text, last->full, " of a full arena");
    count_of(&text, last->mismatched, " with another size, tag or address");
    count_of(&text, last->busy, " while another thread's call was running");
    count_of(&text, last->driver_errors, " that the driver refused");
    tell(arena->name, "calls with an error", &text);
}

static void put_moment(sc_table *table, const sc_arenas *arenas, const sc_arena_moment *moment)
{
    const sc_arena_figures *figures = &moment->figures;
    const uint64_t counts[] = {figures->passes, figures->tickets, figures->tickets_peak};
    const uint64_t sizes[] = {figures->used, figures->used_peak, figures->bytes_out};
    char cell[32];

    snprintf(cell, sizeof cell, moment->has_step ? "%llu" : "-", (unsigned long long)moment->step);
    sc_table_cell(table, cell);
    sc_table_cell(table, moment->what);
    for (unsigned i = 0; i < 3; i++) {
        snprintf(cell, sizeof cell, "%llu", (unsigned long long)counts[i]);
        sc_table_cell(table, cell);
    }
    for (unsigned i = 0; i < 3; i++)
        sc_table_cell(table, sc_emit_size(cell, sizes[i]));
    sc_table_cell(table, arenas->at[moment->arena].name);
}

/* How deep, and how full: an arena writes when it is empty the 2^k-th time. */
static void tell_moments(const sc_report *report, unsigned lane)
{
    const sc_arenas *arenas = &report->lanes[lane].device->arenas;
    sc_table table = {
        .titles = {"step", "record", "passes", "depth", "most", "used", "most", "out", "arena"},
        .is_left = {[1] = true, [8] = true},
        .columns = 9,
        .gap = 2};
    char label[64];

    if (!arenas->moment_count)
        return;
    sc_report_label(report, lane, label);
    sc_emit(report->lane_count > 1 ? "\nover the steps of %s\n" : "\nover the steps%.0s\n", label);
    for (unsigned i = 0; i < arenas->moment_count; i++)
        put_moment(&table, arenas, &arenas->moments[i]);
    sc_table_print(&table);
    if (arenas->moments_left_out)
        sc_emit("more records than this tool keeps: %llu left out\n",
                (unsigned long long)arenas->moments_left_out);
}

static void print(const void *unused, const sc_report *report)
{
    (void)unused;
    sc_emit("run       %s\n", *report->histories[0]->run ? report->histories[0]->run : "(unnamed)");
    if (!sc_report_arenas_table(report, UINT_MAX)) {
        sc_emit("no arena was made\n");
        return;
    }
    sc_report_arenas_spared(report);
    for (unsigned i = 0; i < report->lane_count; i++) {
        const sc_arenas *arenas = &report->lanes[i].device->arenas;

        for (unsigned k = 0; k < arenas->count; k++) {
            tell_kept(&arenas->at[k]);
            tell_misuse(&arenas->at[k]);
        }
        if (arenas->left_out)
            sc_emit("more arenas than this tool keeps: %llu records left out\n",
                    (unsigned long long)arenas->left_out);
    }
    for (unsigned i = 0; i < report->lane_count; i++)
        tell_moments(report, i);
}

static void print_json(const void *unused, const sc_report *report)
{
    (void)unused;
    sc_emit_open(NULL, '{');
    sc_emit_text("run", report->histories[0]->run);
    sc_emit_open("devices", '[');
    for (unsigned i = 0; i < report->lane_count; i++) {
        const sc_lane *lane = &report->lanes[i];

        sc_emit_open(NULL, '{');
        sc_emit_u64("rank", lane->history->rank);
        sc_emit_u64("dev", lane->device->ordinal);
        sc_emit_text("log", lane->history->path);
        sc_arenas_json(&lane->device->arenas, true);
        sc_emit_end('}');
    }
    sc_emit_end(']');
    sc_emit_end('}');
}

/* 0, or the exit status. */
static int parse(arena_request *request, int count, char **arguments)
{
    bool is_over = false;

    for (int i = 0; i < count; i++) {
        char *argument = arguments[i];

        if (is_over || argument[0] != '-' || !argument[1])
            arguments[request->path_count++] = argument;
        else if (!strcmp(argument, "--"))
            is_over = true;
        else if (!strcmp(argument, "--json"))
            request->is_json = true;
        else
            return sc_usage(&sc_command_arena, "arena: no option \"%.64s\"", argument);
    }
    return request->path_count
               ? 0
               : sc_usage(&sc_command_arena, "arena: which log, or folder of a run?");
}

static int list_arenas(int count, char **arguments)
{
    arena_request request = {.paths = arguments};
    int status = parse(&request, count, arguments);
    const sc_runs_view view = {.command = "arena",
                               .request = &request,
                               .text = print,
                               .json = print_json,
                               .is_json = request.is_json};

    return status ? status : sc_runs_show(&view, request.paths, request.path_count);
}

const sc_command sc_command_arena = {
    .name = "arena",
    .run = list_arenas,
    .summary = "list the pinned arenas of a run, and what they moved",
    .help = "usage: shapecache arena [--json] PATH...\n"
            "\n"
            "A line for each pinned arena: its capacity, the most that was in it (bytes, and\n"
            "tensors deep), bytes copied out and back, how long its callers waited on the host,\n"
            "and calls that were answered with an error. Then what the device was spared at its\n"
            "peak, what stayed on it, errors by kind, and how deep and full each arena was over\n"
            "the steps: a record is written when it is empty the 2^k-th time. PATH is a log, -\n"
            "for standard input, or the folder of a run.\n"
            "\n"
            "  --json  a document for programs, with more figures (bytes, ns)\n"
            "\n"
            "exit status: 0, 2 usage, 3 a log that is unreadable or malformed\n",
};
