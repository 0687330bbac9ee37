/* SPDX-License-Identifier: MIT
 * list_oom.c - `shapecache oom`: every time the driver had no memory, what was asked for, what had
 * the device then, and in full the last one that the program was told of. */
#include "base/text.h"
#include "cli/command.h"
#include "cli/emit.h"
#include "cli/runs.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES = 4096, DEFAULT_TOP = 20 };

typedef struct oom_request {
    bool is_json;
    uint64_t top; /* UINT64_MAX: not said */
    char **paths;
    unsigned path_count;
} oom_request;

/* One of them, with where it happened. */
typedef struct incident {
    const sc_lane *lane;
    unsigned lane_index;
    const sc_oom *oom;
} incident;

typedef struct incidents {
    incident *at;
    unsigned count;
    uint64_t left_out; /* more than this tool keeps */
    unsigned untold;   /* lack what had the device */
} incidents;

/* Words of a verdict; engine/verdict.c decides. */
static const struct {
    const char *word, *meaning;
} verdicts[] = {
    {"trimmed", "idle memory was in the way; it went back, and that was enough"},
    {"gate-off", "idle memory was in the way and had to stay, because of SHAPECACHE_GATE=0"},
    {"capture", "idle memory was in the way; during a capture nothing may be given back"},
    {"too-big", "what the program holds and what it asked for do not fit into the device"},
    {"elsewhere", "most of the device went to memory that does not come to the cache"},
    {"other-process", "most of the device was taken before this program began"},
    {"fragmented", "so much was free, but not in one piece"},
    {"unknown", "the driver did not say what was free"},
};

/* When it happened, on one clock. */
static int by_time(const void *left, const void *right)
{
    const incident *a = left, *b = right;
    uint64_t x = a->lane->history->t0_unix_ns + a->oom->t_ns;
    uint64_t y = b->lane->history->t0_unix_ns + b->oom->t_ns;

    if (x != y)
        return x < y ? -1 : 1;
    if (a->lane_index != b->lane_index)
        return a->lane_index < b->lane_index ? -1 : 1;
    return a->oom < b->oom ? -1 : a->oom > b->oom;
}

static incidents collect(const sc_report *report)
{
    incidents all = {.count = 0};

    for (unsigned i = 0; i < report->lane_count; i++) {
        all.count += report->lanes[i].device->incidents.oom_count;
        all.left_out += report->lanes[i].device->incidents.ooms_left_out;
    }
    all.at = sc_need(sizeof *all.at * all.count);
    all.count = 0;
    for (unsigned i = 0; i < report->lane_count; i++) {
        const sc_incidents *of = &report->lanes[i].device->incidents;

        for (unsigned n = 0; n < of->oom_count; n++) {
            all.at[all.count++] =
                (incident){.lane = &report->lanes[i], .lane_index = i, .oom = &of->ooms[n]};
            all.untold += of->ooms[n].total == SC_UNTOLD;
        }
    }
    if (all.count)
        qsort(all.at, all.count, sizeof *all.at, by_time);
    return all;
}

static const char *size_or_none(char out[16], uint64_t bytes)
{
    return bytes == SC_UNTOLD ? memcpy(out, "-", 2) : sc_emit_size(out, bytes);
}

static uint64_t sum_of(uint64_t a, uint64_t b)
{
    if (a == SC_UNTOLD || b == SC_UNTOLD)
        return a == SC_UNTOLD ? b : a;
    return a + b;
}

static void put(sc_table *table, const incident *one)
{
    const sc_oom *oom = one->oom;
    char cell[64], size[16];

    snprintf(cell, sizeof cell, "%llu", (unsigned long long)one->lane->history->rank);
    sc_table_cell(table, cell);
    snprintf(cell, sizeof cell, "%llu", (unsigned long long)oom->step);
    sc_table_cell(table, cell);
    sc_table_cell(table, oom->bytes ? sc_emit_size(size, oom->bytes) : "-");
    sc_table_cell(table, sc_oom_answer_word(sc_oom_answered(oom)));
    sc_table_cell(table, size_or_none(size, oom->live));
    sc_table_cell(table, size_or_none(size, oom->idle));
    sc_table_cell(table, size_or_none(size, sum_of(oom->passed, oom->other)));
    sc_table_cell(table, size_or_none(size, oom->driver_free));
    sc_table_cell(table, oom->site ? sc_history_place(one->lane->history, oom->site) : "-");
}

static const char *meaning_of(const char *verdict)
{
    for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++)
        if (!strcmp(verdicts[i].word, verdict))
            return verdicts[i].meaning;
    return NULL;
}

static void put_part(sc_text *text, uint64_t bytes, const char *what)
{
    char size[16];

    if (bytes == SC_UNTOLD)
        return;
    sc_text_string(text, text->used ? " + " : "");
    sc_text_string(text, sc_emit_size(size, bytes));
    sc_text_char(text, ' ');
    sc_text_string(text, what);
}

/* 160 MiB = 44.0 MiB live + 114 MiB idle + 2.00 MiB free */
static void tell_device(const sc_oom *oom)
{
    char bytes[TEXT_BYTES], parts[TEXT_BYTES], size[16];
    sc_text text = sc_text_over(bytes, sizeof bytes), sum = sc_text_over(parts, sizeof parts);

    put_part(&sum, oom->live, "live");
    put_part(&sum, oom->idle, "idle");
    if (oom->passed != SC_UNTOLD && oom->passed)
        put_part(&sum, oom->passed, "passed by");
    put_part(&sum, oom->other, "other");
    put_part(&sum, oom->driver_free, "free");
    if (oom->total != SC_UNTOLD) {
        sc_text_string(&text, sc_emit_size(size, oom->total));
        sc_text_string(&text, " = ");
    }
    sc_text_string(&text, sc_text_terminate(&sum));
    if (oom->idle_released != SC_UNTOLD && oom->idle_released) {
        sc_text_string(&text, ", after ");
        sc_text_string(&text, sc_emit_size(size, oom->idle_released));
        sc_text_string(&text, " had gone back");
    }
    if (sum.used)
        sc_emit_wrapped("  device   ", 11, sc_text_terminate(&text));
}

/* "24.0 MiB in 4 x 4.50 MiB (shape 0, train+0x64aa); ..." or "0 -> 2 x 4.98 MiB (shape 25, ...)" */
static void tell_rows(const incident *one, const char *head, const sc_oom_rows *rows,
                      bool is_change)
{
    char bytes[TEXT_BYTES], line[256], size[16], most[16];
    sc_text text = sc_text_over(bytes, sizeof bytes);

    for (unsigned i = 0; i < rows->count; i++) {
        const sc_oom_row *row = &rows->at[i];
        const char *name = sc_history_shape_name(one->lane->history, one->lane->device, row->shape);

        if (is_change)
            snprintf(line, sizeof line, "%llu -> %llu x %s", (unsigned long long)row->third,
                     (unsigned long long)row->fourth, sc_emit_size(size, row->bytes));
        else
            snprintf(line, sizeof line, "%s in %llu x %s", sc_emit_size(most, row->fourth),
                     (unsigned long long)row->third, sc_emit_size(size, row->bytes));
        sc_text_string(&text, i ? "; " : "");
        sc_text_string(&text, line);
        snprintf(line, sizeof line, " (shape %llu%s%.200s)", (unsigned long long)row->shape,
                 name ? ", " : "", name ? name : "");
        sc_text_string(&text, line);
    }
    if (rows->count)
        sc_emit_wrapped(head, 11, sc_text_terminate(&text));
}

/* The shapes of exactly so many bytes. */
static void put_shapes(sc_text *text, const incident *one)
{
    const sc_device *device = one->lane->device;
    unsigned count = 0;

    for (unsigned i = 0; i < device->shape_count && count < 4; i++) {
        if (device->shapes[i]->bytes != one->oom->bytes)
            continue;
        sc_text_string(text, count++ ? ", " : ", shape ");
        sc_text_u64(text, device->shapes[i]->id);
    }
    if (!count)
        sc_text_string(text, ", of which nothing was ever granted");
}

static void tell_asked(const incident *one)
{
    const sc_oom *oom = one->oom;
    char bytes[TEXT_BYTES], count[32], size[16];
    sc_text text = sc_text_over(bytes, sizeof bytes);

    if (oom->bytes) {
        sc_text_string(&text, sc_emit_size(size, oom->bytes));
        if (oom->bytes >= 1000) { /* else that was exact */
            sc_text_string(&text, " (");
            sc_text_string(&text, sc_emit_count(count, oom->bytes));
            sc_text_string(&text, " bytes)");
        }
        put_shapes(&text, one);
    } else {
        sc_text_string(&text, "an allocation of another kind, whose size is not told");
    }
    if (oom->site) {
        sc_text_string(&text, ", at ");
        sc_text_string(&text, sc_history_place(one->lane->history, oom->site));
    }
    sc_emit_wrapped("  asked    ", 11, sc_text_terminate(&text));
}

/* What only PyTorch's own allocator knows. */
static void tell_allocator(const incident *one)
{
    const sc_allocator_said *said = &one->lane->device->incidents.allocator;
    char text[TEXT_BYTES], held[16], used[16];

    if (!said->is_told)
        return;
    snprintf(text, sizeof text, "its allocator held %s, of which tensors used %s",
             sc_emit_size(held, said->reserved), sc_emit_size(used, said->allocated));
    sc_emit_wrapped("  pytorch  ", 11, text);
}

static void tell_in_full(const sc_report *report, const incident *one)
{
    const sc_oom *oom = one->oom;
    char text[TEXT_BYTES], label[64], time[16];

    sc_report_label(report, one->lane_index, label);
    sc_emit("\nthe last that the program was told of: %s, step %llu%s%.20s, after %s\n", label,
            (unsigned long long)oom->step, oom->phase ? ", " : "", oom->phase ? oom->phase : "",
            sc_emit_time(time, oom->t_ns));
    tell_asked(one);
    tell_device(oom);
    if (oom->verdict) {
        const char *meaning = meaning_of(oom->verdict);

        snprintf(text, sizeof text, "%.40s%s%s", oom->verdict, meaning ? ": " : "",
                 meaning ? meaning : "");
        sc_emit_wrapped("  why      ", 11, text);
    }
    tell_allocator(one);
    tell_rows(one, "  live     ", &oom->holders, false);
    tell_rows(one, "  changed  ", &oom->changed, true);
    const char *said = one->lane->device->incidents.allocator.advice;

    if (said || oom->advice)
        sc_emit_wrapped("  try      ", 11, said ? said : oom->advice);
}

static void tell_untold(const incidents *all)
{
    char text[TEXT_BYTES];

    if (!all->untold)
        return;
    snprintf(text, sizeof text,
             "%u of them lack%s what was live, idle and free: an older shapecache wrote the log, "
             "or nobody could ask the driver",
             all->untold, all->untold == 1 ? "s" : "");
    sc_emit_wrapped("note      ", 10, text);
}

static void print(const void *self, const sc_report *report)
{
    const oom_request *request = self;
    static const char *const titles[] = {"rank", "step",  "asked", "answer", "live",
                                         "idle", "other", "free",  "site"};
    sc_table table = {
        .is_left = {[3] = true, [8] = true}, .columns = sizeof titles / sizeof *titles, .gap = 1};
    const incident *last = NULL;
    incidents all = collect(report);
    unsigned skipped = all.count > request->top ? all.count - (unsigned)request->top : 0;

    memcpy(table.titles, titles, sizeof titles);
    sc_emit("run       %s\n", *report->histories[0]->run ? report->histories[0]->run : "(unnamed)");
    for (unsigned i = 0; i < all.count; i++) {
        if (i >= skipped)
            put(&table, &all.at[i]);
        if (sc_oom_answered(all.at[i].oom) == SC_OOM_REFUSED)
            last = &all.at[i];
    }
    if (!all.count)
        sc_emit("the driver never ran out of memory\n");
    if (skipped)
        sc_emit("%u earlier ones left out (--top)\n", skipped);
    if (table.used)
        sc_table_print(&table);
    if (all.left_out)
        sc_emit("more than this tool keeps: %llu left out\n", (unsigned long long)all.left_out);
    tell_untold(&all);
    if (last)
        tell_in_full(report, last);
    free(all.at);
}

static void rows_json(const char *name, const sc_oom_rows *rows, const char *third,
                      const char *fourth)
{
    if (!rows->is_told)
        return;
    sc_emit_open(name, '[');
    for (unsigned i = 0; i < rows->count; i++) {
        sc_emit_open(NULL, '{');
        sc_emit_u64("shape", rows->at[i].shape);
        sc_emit_u64("bytes", rows->at[i].bytes);
        sc_emit_u64(third, rows->at[i].third);
        sc_emit_u64(fourth, rows->at[i].fourth);
        sc_emit_end('}');
    }
    sc_emit_end(']');
}

static void incident_json(const incident *one)
{
    const sc_oom *oom = one->oom;

    sc_emit_open(NULL, '{');
    sc_emit_u64("rank", one->lane->history->rank);
    sc_emit_u64("pid", one->lane->history->pid);
    sc_emit_u64("dev", one->lane->device->ordinal);
    sc_emit_u64("step", oom->step);
    sc_emit_u64("t", oom->t_ns);
    sc_emit_text("phase", oom->phase);
    if (oom->bytes)
        sc_emit_u64("bytes", oom->bytes);
    sc_symbols_emit(one->lane->history->symbols, oom->site);
    sc_emit_text("answer", sc_oom_answer_word(sc_oom_answered(oom)));
#define SHOW(member, field)                                                                        \
    if (oom->member != SC_UNTOLD)                                                                  \
        sc_emit_u64(sc_field_name(SC_F_##field), oom->member);
    SC_OOM_FIGURES(SHOW)
#undef SHOW
    sc_emit_text("verdict", oom->verdict);
    rows_json("holders", &oom->holders, "live", "mapped");
    rows_json("changed", &oom->changed, "most_before", "live");
    sc_emit_text("advice", oom->advice);
    sc_emit_end('}');
}

static void print_json(const void *self, const sc_report *report)
{
    const oom_request *request = self;
    incidents all = collect(report);
    unsigned first = all.count > request->top ? all.count - (unsigned)request->top : 0;

    sc_emit_open(NULL, '{');
    sc_emit_text("run", report->histories[0]->run);
    sc_emit_open("ooms", '[');
    for (unsigned i = first; i < all.count; i++)
        incident_json(&all.at[i]);
    sc_emit_end(']');
    if (first + all.left_out)
        sc_emit_u64("left_out", first + all.left_out);
    sc_emit_end('}');
    free(all.at);
}

/* 0, or the exit status. */
static int parse(oom_request *request, int count, char **arguments)
{
    bool is_over = false;

    for (int i = 0; i < count; i++) {
        char *argument = arguments[i];

        if (is_over || argument[0] != '-' || !argument[1]) {
            arguments[request->path_count++] = argument;
        } else if (!strcmp(argument, "--")) {
            is_over = true;
        } else if (!strcmp(argument, "--json")) {
            request->is_json = true;
        } else if (!strcmp(argument, "--top")) {
            if (++i == count || !sc_parse_u64(arguments[i], &request->top))
                return sc_usage(&sc_command_oom, "oom: --top wants a number of lines");
        } else {
            return sc_usage(&sc_command_oom, "oom: no option \"%.64s\"", argument);
        }
    }
    return request->path_count ? 0
                               : sc_usage(&sc_command_oom, "oom: which log, or folder of a run?");
}

static int list_oom(int count, char **arguments)
{
    oom_request request = {.top = UINT64_MAX, .paths = arguments};
    int status = parse(&request, count, arguments);

    if (request.top == UINT64_MAX && !request.is_json)
        request.top = DEFAULT_TOP;
    const sc_runs_view view = {.command = "oom",
                               .request = &request,
                               .text = print,
                               .json = print_json,
                               .is_json = request.is_json};

    return status ? status : sc_runs_show(&view, request.paths, request.path_count);
}

const sc_command sc_command_oom = {
    .name = "oom",
    .run = list_oom,
    .summary = "list where a run ran out of memory, and what had the device then",
    .help = "usage: shapecache oom [--top N] [--json] PATH...\n"
            "\n"
            "A line for each time the driver had no memory, all ranks in the order in which it\n"
            "happened: rank, step, bytes asked for, the answer that the program got, what was\n"
            "live, idle, of others and free, and who asked. Then, in full, the last one that\n"
            "the program was told of: why, who had the memory, and what had changed since the\n"
            "step before. PATH is a log, - for standard input, or the folder of a run.\n"
            "\n"
            "  recovered  idle memory went back, and the program got what it asked for\n"
            "  refused    the program was told that there is no memory\n"
            "  unknown    another allocator's call, tried again: the log does not tell\n"
            "\n"
            "  --top N  the last N of them (20; with --json all)\n"
            "  --json   a document for programs\n"
            "\n"
            "exit status: 0, 2 usage, 3 a log that is unreadable or malformed\n",
};
