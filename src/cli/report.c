/* SPDX-License-Identifier: MIT */
#include "cli/report.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/emit.h"
#include "cli/fail_on.h"
#include "cli/html.h"
#include "cli/logs.h"
#include "cli/out.h"
#include "cli/runs.h"
#include "cli/timeline.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_TOP = 10 };

typedef struct report_request {
    bool is_json, is_timeline;
    const char *html; /* the page's file, - is standard output; NULL: none */
    unsigned top;
    sc_fail_on fail_on;
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
        } else if (!strcmp(argument, "--fail-on")) {
            if (++i == count)
                return sc_usage(&sc_command_report, "report: --fail-on wants conditions, such as "
                                                    "'hit<95,fallback>0'");
            if (sc_fail_on_add(&request->fail_on, arguments[i]))
                return SC_EXIT_USAGE;
        } else {
            return sc_usage(&sc_command_report, "report: no option \"%.64s\"", argument);
        }
    }
    if (!request->path_count)
        return sc_usage(&sc_command_report, "report: which log, or folder of a run?");
    if (request->html && (request->is_timeline || request->is_json))
        return sc_usage(&sc_command_report, "report: --html or %s: one of them at a time",
                        request->is_timeline ? "--timeline" : "--json");
    if (request->is_timeline && request->fail_on.count)
        return sc_usage(&sc_command_report, "report: --fail-on judges figures that --timeline does "
                                            "not have: one of them at a time");
    return 0;
}

/* Run after run, in the order in which the paths name them. */
static void tell(const report_request *request, const sc_runs *runs)
{
    if (request->is_json)
        sc_report_json_open();
    for (unsigned i = 0; i < runs->count; i++) {
        runs->at[i].top = request->top;
        if (request->is_json) {
            sc_report_json(&runs->at[i]);
            continue;
        }
        if (i)
            sc_emit("\n");
        sc_report_text(&runs->at[i]);
    }
    if (request->is_json)
        sc_report_json_close();
}

/* The exit status: whether the figures are as they were asked to be. */
static int judge(const report_request *request, const sc_runs *runs)
{
    bool is_tripped = sc_fail_on_trips(&request->fail_on, runs);

    for (unsigned i = 0; i < runs->count; i++)
        is_tripped = sc_report_strict_trips(&runs->at[i]) || is_tripped;
    return is_tripped ? SC_EXIT_NO : SC_EXIT_DONE;
}

/* An exit code. */
static int write_page(const report_request *request, const sc_runs *runs, const sc_logs *logs)
{
    const char *path = strcmp(request->html, "-") != 0 ? request->html : NULL;
    sc_out out;
    bool is_good;

    if (runs->count > 1)
        return sc_usage(&sc_command_report,
                        "report: --html shows one run, and these are %.100s and %.100s: name "
                        "one, or compare them with shapecache diff",
                        runs->at[0].histories[0]->run, runs->at[1].histories[0]->run);
    if (sc_out_check(path, logs, &sc_command_report))
        return SC_EXIT_USAGE;
    if (!sc_out_open(&out, path, "report"))
        return SC_EXIT_UNREADABLE;
    runs->at[0].top = request->top;
    is_good = sc_html_write(&runs->at[0], out.file);
    return sc_out_close(&out, is_good) && is_good ? SC_EXIT_DONE : SC_EXIT_UNREADABLE;
}

static int read_and_tell(const report_request *request, const sc_logs *all)
{
    sc_runs runs;
    int status = sc_runs_read(&runs, all, "report");

    if (status == SC_EXIT_DONE && request->html)
        status = write_page(request, &runs, all);
    else if (status == SC_EXIT_DONE)
        tell(request, &runs);
    if (status == SC_EXIT_DONE)
        status = judge(request, &runs);
    sc_runs_release(&runs);
    return status;
}

static int report(int count, char **arguments)
{
    report_request request = {.top = DEFAULT_TOP, .paths = arguments};
    sc_logs all = {.at = NULL};
    int status;

    if (count == 1 && !strcmp(arguments[0], "--fields")) {
        sc_report_fields();
        return SC_EXIT_DONE;
    }
    if (count == 1 && !strcmp(arguments[0], "--man")) {
        sc_report_man();
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
    sc_fail_on_release(&request.fail_on);
    return status;
}

const sc_command sc_command_report = {
    .name = "report",
    .run = report,
    .summary = "tell what the cache did in a run, from its log",
    .help = "usage: shapecache report [--json] [--top N] [--fail-on LIST] PATH...\n"
            "       shapecache report --html FILE [--fail-on LIST] PATH...\n"
            "       shapecache report --timeline [--json] PATH...\n"
            "       shapecache report --fields | --schema | --man\n"
            "\n"
            "Tell what the cache did in a run: its phases and why each began, hits, peaks, time\n"
            "in the driver, and the shapes that needed most. PATH is a log, - for standard\n"
            "input, or the folder of a run (all its r*.jsonl). Logs of one run are told as one,\n"
            "with the ranks that differ.\n"
            "\n"
            "  --json   one JSON object of the same; bytes, counts and ns as integers\n"
            "  --top N  list N shapes (10)\n"
            "  --html FILE\n"
            "           a page for a browser: plots and tables of one run, in one file that asks\n"
            "           nothing of the network (docs/report.md); - is standard output\n"
            "  --timeline\n"
            "           memory over the steps instead, the logs side by side, and the scopes\n"
            "           (docs/scopes.md)\n"
            "  --fail-on LIST\n"
            "           exit with 1 where a condition holds for a rank, and name it: figures\n"
            "           with < <= > >= == or !=, such as 'hit<95,fallback>0,held>60GiB'\n"
            "  --fields tell what each record and field of a log means\n"
            "  --schema the same as a JSON Schema of one line of a log\n"
            "  --man    the same as a part of the manual page shapecache-log(5)\n"
            "\n"
            "A log without an end (the program was killed, or still runs) is told up to its last\n"
            "step. The records are described in docs/log.md.\n"
            "\n"
            "Figures for --fail-on, each of one device of one rank:\n"
#define METRIC(symbol, name, label, unit, odd, meaning) "  " name ": " meaning "\n"
#include "cli/metrics.def"
            "Rates are in percent; sizes may have a unit (MiB, GiB), times must (ms, s). A figure\n"
            "that a log does not have fails its condition.\n"
            "\n"
            "exit status: 0, 1 a condition of --fail-on holds, or SHAPECACHE_STRICT was on and a\n"
            "settled cache had to ask the driver, 2 usage, 3 a log that is unreadable or\n"
            "malformed (file and line are named)\n",
};
