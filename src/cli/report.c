/* SPDX-License-Identifier: MIT */
#include "cli/report.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/html.h"
#include "cli/logs.h"
#include "cli/out.h"
#include "cli/timeline.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_TOP = 10 };

typedef struct report_request {
    bool is_json, is_timeline;
    const char *html; /* the page's file, - is standard output; NULL: none */
    unsigned top;
    char **paths;
    unsigned path_count;
} report_request;

static const struct {
    const char *word, *meaning;
} phases[] =
    {
#define PHASE(symbol, word, meaning) {word, meaning},
#include "cache/phase.def"
},
  reasons[] = {
#define REASON(symbol, word, meaning) {word, meaning},
#include "cache/phase.def"
};

const char *sc_report_phase_meaning(const char *word)
{
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++)
        if (!strcmp(phases[i].word, word))
            return phases[i].meaning;
    return NULL;
}

const char *sc_report_reason_meaning(const char *word)
{
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (!strcmp(reasons[i].word, word))
            return reasons[i].meaning;
    return NULL;
}

/* A stretch ends where the next begins; one in which no step ended is left out, unless it is the
 * last. */
unsigned sc_report_stretches(const sc_device *device, sc_stretch *out, unsigned most)
{
    sc_stretch current = {.phase = device->first_phase[0] ? device->first_phase : "warmup"};
    unsigned count = 0;

    for (unsigned i = 0; i < device->change_count; i++) {
        const sc_change *change = &device->changes[i];

        if (change->step > current.first) {
            current.last = change->step - 1;
            if (count < most)
                out[count] = current;
            count++;
        }
        current = (sc_stretch){.phase = change->to, .first = change->step};
    }
    current.is_open = device->steps <= current.first;
    current.last = current.is_open ? current.first : device->steps - 1;
    if (count < most)
        out[count] = current;
    return count + 1;
}

/* 0, or the exit status. */
static int parse(report_request *request, int count, char **arguments)
{
    bool is_over = false;

    for (int i = 0; i < count; i++) {
        const char *argument = arguments[i];
        uint64_t top;

        if (is_over || argument[0] != '-' || !argument[1]) {
            arguments[request->path_count++] = arguments[i];
        } else if (!strcmp(argument, "--")) {
            is_over = true;
        } else if (!strcmp(argument, "--json")) {
            request->is_json = true;
        } else if (!strcmp(argument, "--timeline")) {
            request->is_timeline = true;
        } else if (!strcmp(argument, "--html")) {
            if (++i == count || !*arguments[i])
                return sc_usage(&sc_command_report, "report: --html wants the name of a file");
            request->html = arguments[i];
        } else if (!strcmp(argument, "--top")) {
            if (++i == count || !sc_parse_u64(arguments[i], &top) || top > SC_SHAPES_MOST)
                return sc_usage(&sc_command_report, "report: --top wants a number of shapes");
            request->top = (unsigned)top;
        } else {
            return sc_usage(&sc_command_report, "report: no option \"%.64s\"", argument);
        }
    }
    if (!request->path_count)
        return sc_usage(&sc_command_report, "report: which log, or folder of a run?");
    return 0;
}

static int by_rank(const void *left, const void *right)
{
    const sc_history *a = *(sc_history *const *)left, *b = *(sc_history *const *)right;

    return a->rank != b->rank ? (a->rank < b->rank ? -1 : 1) : strverscmp(a->path, b->path);
}

/* The histories of one run, as one report, whose lanes are owned. */
static sc_report gather(const report_request *request, sc_history **histories, unsigned count)
{
    sc_report report = {.histories = histories, .history_count = count, .top = request->top};

    qsort(histories, count, sizeof(sc_history *), by_rank);
    for (unsigned i = 0; i < count; i++)
        report.lane_count += histories[i]->device_count;
    report.lanes = sc_need(sizeof *report.lanes * report.lane_count);
    report.lane_count = 0;
    for (unsigned i = 0; i < count; i++) {
        for (unsigned d = 0; d < histories[i]->device_count; d++)
            report.lanes[report.lane_count++] =
                (sc_lane){.history = histories[i], .device = histories[i]->devices[d]};
    }
    return report;
}

static void tell_run(const report_request *request, sc_history **histories, unsigned count)
{
    sc_report report = gather(request, histories, count);

    if (request->is_json)
        sc_report_json(&report);
    else
        sc_report_text(&report);
    free(report.lanes);
}

/* Run after run, in the order in which the paths name them. */
static void tell(const report_request *request, sc_history **histories, unsigned count)
{
    while (count) {
        sc_history *first = histories[0];
        unsigned same = 1;

        for (unsigned i = 1; i < count; i++) {
            sc_history *other = histories[i];

            if (strcmp(other->run, first->run) != 0)
                continue;
            memmove(histories + same + 1, histories + same, (i - same) * sizeof(sc_history *));
            histories[same++] = other;
        }
        tell_run(request, histories, same);
        histories += same;
        count -= same;
        if (count && !request->is_json)
            putchar('\n');
    }
}

/* An exit code. */
static int write_page(const report_request *request, sc_history **histories, unsigned count,
                      const sc_logs *logs)
{
    const char *path = strcmp(request->html, "-") != 0 ? request->html : NULL;
    sc_report report;
    sc_out out;
    bool is_good;

    for (unsigned i = 1; i < count; i++)
        if (strcmp(histories[i]->run, histories[0]->run) != 0)
            return sc_usage(&sc_command_report,
                            "report: --html shows one run, and these are %.100s and %.100s: name "
                            "one, or compare them with shapecache diff",
                            histories[0]->run, histories[i]->run);
    if (sc_out_check(path, logs, &sc_command_report))
        return SC_EXIT_USAGE;
    if (!sc_out_open(&out, path, "report"))
        return SC_EXIT_UNREADABLE;
    report = gather(request, histories, count);
    is_good = sc_html_write(&report, out.file);
    free(report.lanes);
    return sc_out_close(&out, is_good) && is_good ? SC_EXIT_DONE : SC_EXIT_UNREADABLE;
}

static int read_and_tell(const report_request *request, const sc_logs *all)
{
    sc_history **histories = sc_need(sizeof(sc_history *) * all->count), **in_order;
    char error[1024];
    unsigned count = 0;
    int status = SC_EXIT_DONE;

    for (unsigned i = 0; i < all->count; i++) {
        histories[count] = sc_history_read(all->at[i], error, sizeof error);
        if (histories[count]) {
            count++;
        } else {
            sc_say("report: %s", error);
            status = SC_EXIT_UNREADABLE;
        }
    }
    in_order = sc_need(sizeof(sc_history *) * count);
    memcpy(in_order, histories, sizeof(sc_history *) * count);
    if (status == SC_EXIT_DONE && request->html) {
        status = write_page(request, in_order, count, all);
    } else if (status == SC_EXIT_DONE) {
        if (request->is_json)
            sc_report_json_open();
        tell(request, in_order, count);
        if (request->is_json)
            sc_report_json_close();
    }
    for (unsigned i = 0; i < count; i++)
        sc_history_delete(histories[i]);
    free(in_order);
    free(histories);
    return status;
}

static int report(int count, char **arguments)
{
    report_request request = {.top = DEFAULT_TOP, .paths = arguments};
    sc_logs all = {NULL, 0};
    int status;

    if (count == 1 && !strcmp(arguments[0], "--fields")) {
        sc_report_fields();
        return SC_EXIT_DONE;
    }
    if (count == 1 && !strcmp(arguments[0], "--schema")) {
        sc_report_schema();
        return SC_EXIT_DONE;
    }
    status = parse(&request, count, arguments);
    for (unsigned i = 0; !status && request.html && i < request.path_count; i++)
        status = sc_html_check(request.paths[i]);
    for (unsigned i = 0; !status && i < request.path_count; i++)
        if (!sc_logs_add(&all, request.paths[i], "report"))
            status = SC_EXIT_UNREADABLE;
    if (!status && request.is_timeline)
        status = sc_timeline_tell(&all, request.is_json);
    else if (!status)
        status = read_and_tell(&request, &all);
    sc_logs_release(&all);
    return status;
}

const sc_command sc_command_report = {
    .name = "report",
    .run = report,
    .summary = "tell what the cache did in a run, from its log",
    .help = "usage: shapecache report [--json] [--top N] PATH...\n"
            "       shapecache report --html FILE PATH...\n"
            "       shapecache report --timeline [--json] PATH...\n"
            "       shapecache report --fields | --schema\n"
            "\n"
            "Tell what the cache did in a run: its phases and why each began, hits, peaks, time\n"
            "in the driver, and the shapes that needed most. PATH is a log, - for standard\n"
            "input, or the folder of a run (all its r*.jsonl).\n"
            "\n"
            "  --json   one JSON object of the same; bytes, counts and ns as integers\n"
            "  --top N  list N shapes (10)\n"
            "  --html FILE\n"
            "           a page for a browser: plots and tables of one run, in one file that asks\n"
            "           nothing of the network (docs/report.md); - is standard output\n"
            "  --timeline\n"
            "           memory over the steps instead, the logs side by side, and the scopes\n"
            "           (docs/scopes.md)\n"
            "  --fields tell what each record and field of a log means\n"
            "  --schema the same as a JSON Schema of one line of a log\n"
            "\n"
            "A log without an end (the program was killed, or still runs) is told up to its last\n"
            "step. The records are described in docs/log.md.\n"
            "\n"
            "exit status: 0, 2 usage, 3 a log that is unreadable or malformed (file and line are\n"
            "named)\n",
};
