/* SPDX-License-Identifier: MIT
 * list_steps.c - `shapecache steps`: a line for each step of one device, or for every N of them,
 * written while the log is read, so that one of any length needs the memory of a line. */
#include "base/text.h"
#include "cli/command.h"
#include "cli/emit.h"
#include "cli/history.h"
#include "cli/logs.h"
#include "cli/progress.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct steps_request {
    const char *log;
    uint64_t every; /* steps a line */
    bool has_device, is_json;
    uint64_t device, rank;
} steps_request;

/* The steps of one line. */
typedef struct group {
    uint64_t first; /* step of its first row; the log may not have one for each step */
    char phase[SC_WORD_BYTES];
    sc_sums sums;
} group;

typedef struct steps {
    const steps_request *request;
    group at;
    uint64_t lines, others; /* others: rows of other devices */
    uint64_t next;          /* the least that the next row's step may be */
} steps;

static void open_list(const steps *all)
{
    if (!all->request->is_json) {
        sc_emit("%9s  %-8s  %8s  %8s  %7s  %10s  %10s  %6s\n", "step", "phase", "time", "requests",
                "hits", "live peak", "held peak", "driver");
        return;
    }
    sc_emit_open(NULL, '{');
    sc_emit_u64("v", 1);
    sc_emit_u64("dev", all->request->device);
    sc_emit_u64("every", all->request->every);
    sc_emit_open("steps", '[');
}

static void print_json(const group *at)
{
    sc_emit_open(NULL, '{');
    sc_emit_u64("step", at->first);
    sc_emit_u64("rows", at->sums.rows);
    sc_emit_text("phase", at->phase);
    sc_emit_u64("dur_ns", at->sums.dur_ns);
#define SHOW(how, member, field) sc_emit_u64(sc_field_name(SC_F_##field), at->sums.member);
    SC_SUMS(SHOW)
#undef SHOW
    sc_emit_end('}');
}

static void print_group(steps *all)
{
    const group *at = &all->at;
    uint64_t calls = at->sums.driver_allocs + at->sums.driver_frees;
    char time[16], hits[16], live[16], held[16];

    if (!at->sums.rows)
        return;
    if (!all->lines++)
        open_list(all);
    if (all->request->is_json) {
        print_json(at);
        return;
    }
    sc_emit("%9llu  %-8s  %8s  %8llu  %7s  %10s  %10s  %6llu\n", (unsigned long long)at->first,
            at->phase, sc_emit_time(time, at->sums.dur_ns / at->sums.rows),
            (unsigned long long)at->sums.requests,
            at->sums.requests ? sc_emit_percent(hits, at->sums.hits, at->sums.requests) : "-",
            sc_emit_size(live, at->sums.live_peak), sc_emit_size(held, at->sums.held_peak),
            (unsigned long long)calls);
}

static void add(group *at, const sc_line *line)
{
    const char *phase = sc_line_text(line, SC_F_PHASE);

    if (!at->sums.rows++)
        snprintf(at->phase, sizeof at->phase, "%s", phase);
    else if (strncmp(at->phase, phase, sizeof at->phase - 1) != 0)
        snprintf(at->phase, sizeof at->phase, "mixed");
    at->sums.dur_ns += sc_line_u64(line, SC_F_DUR);
#define SUM(member, value)      at->sums.member += (value)
#define MOST(member, value)     at->sums.member = at->sums.member < (value) ? (value) : at->sums.member
#define ADD(how, member, field) how(member, sc_line_u64(line, SC_F_##field));
    SC_SUMS(ADD)
#undef ADD
#undef MOST
#undef SUM
}

/* False: the steps go backwards. */
static bool take(steps *all, const sc_line *line)
{
    uint64_t step = sc_line_u64(line, SC_F_STEP);

    if (step < all->next)
        return false;
    all->next = step + 1;
    if (all->at.sums.rows && step / all->request->every != all->at.first / all->request->every) {
        print_group(all);
        all->at = (group){.first = 0};
    }
    if (!all->at.sums.rows)
        all->at.first = step;
    add(&all->at, line);
    return true;
}

static void close_list(steps *all, const sc_reader *reader)
{
    print_group(all);
    if (all->lines && all->request->is_json) {
        sc_emit_end(']');
        sc_emit_end('}');
    }
    if (all->others)
        sc_say("steps: left out %llu steps of devices other than %llu (see --dev)",
               (unsigned long long)all->others, (unsigned long long)all->request->device);
    if (reader->is_cut)
        sc_say("steps: %.300s: the last line is cut short and left out", reader->path);
}

/* The exit status. */
static int list(steps_request *request, sc_reader *reader)
{
    steps all = {.request = request};
    const sc_line *line;

    while ((line = sc_reader_next(reader))) {
        if (line->event != SC_EV_STEP)
            continue;
        if (!request->has_device)
            request->device = sc_line_u64(line, SC_F_DEV);
        request->has_device = true;
        if (sc_line_u64(line, SC_F_DEV) != request->device) {
            all.others++;
        } else if (!take(&all, line)) {
            sc_say("steps: %.300s, line %llu: expected step %llu or a later one, found %llu",
                   reader->path, (unsigned long long)line->number, (unsigned long long)all.next,
                   (unsigned long long)sc_line_u64(line, SC_F_STEP));
            return SC_EXIT_UNREADABLE;
        }
    }
    if (reader->error[0]) {
        sc_say("steps: %s", reader->error);
        return SC_EXIT_UNREADABLE;
    }
    close_list(&all, reader);
    if (all.lines)
        return SC_EXIT_DONE;
    if (all.others)
        sc_say("steps: %.300s has no step of device %llu", reader->path,
               (unsigned long long)request->device);
    else
        sc_say("steps: %.300s has no record of a step: none ended, or it was written at level "
               "summary (SHAPECACHE_LOG_LEVEL=step has them)",
               reader->path);
    return SC_EXIT_UNREADABLE;
}

/* 0, or the exit status. */
static int parse(steps_request *request, int count, char **arguments)
{
    bool is_over = false;

    for (int i = 0; i < count; i++) {
        const char *argument = arguments[i], *next = i + 1 < count ? arguments[i + 1] : NULL;

        if (!is_over && !strcmp(argument, "--")) {
            is_over = true;
        } else if (is_over || argument[0] != '-' || !argument[1]) {
            if (request->log)
                return sc_usage(&sc_command_steps, "steps: one log at a time");
            request->log = argument;
        } else if (!strcmp(argument, "--json")) {
            request->is_json = true;
        } else if (!strcmp(argument, "--every")) {
            if (!next || !sc_parse_u64(next, &request->every) || !request->every)
                return sc_usage(&sc_command_steps, "steps: --every wants a number of steps");
            i++;
        } else if (!strcmp(argument, "--dev")) {
            if (!next || !sc_parse_u64(next, &request->device))
                return sc_usage(&sc_command_steps, "steps: --dev wants the number of a device");
            request->has_device = true;
            i++;
        } else if (!strcmp(argument, "--rank")) {
            if (!next || !sc_parse_u64(next, &request->rank))
                return sc_usage(&sc_command_steps, "steps: --rank wants the number of a rank");
            i++;
        } else {
            return sc_usage(&sc_command_steps, "steps: no option \"%.64s\"", argument);
        }
    }
    return request->log ? 0 : sc_usage(&sc_command_steps, "steps: which log?");
}

static int list_steps(int count, char **arguments)
{
    steps_request request = {.every = 1, .rank = SC_ANY_RANK};
    int status = parse(&request, count, arguments);
    sc_logs logs = {.at = NULL};
    sc_reader reader;

    if (isatty(STDOUT_FILENO))
        sc_progress_off(); /* lines come as they are read */
    if (!status)
        status = sc_logs_only(&logs, request.log, request.rank, &sc_command_steps);
    if (!status && !sc_reader_open(&reader, logs.at[0])) {
        sc_say("steps: %s: %s", logs.at[0], strerror(errno));
        status = SC_EXIT_UNREADABLE;
    } else if (!status) {
        status = list(&request, &reader);
        sc_reader_close(&reader);
    }
    sc_logs_release(&logs);
    return status;
}

const sc_command sc_command_steps = {
    .name = "steps",
    .run = list_steps,
    .summary = "list the steps of a run, or a line for every so many",
    .help = "usage: shapecache steps [--every N] [--dev N] [--rank N] [--json] PATH\n"
            "\n"
            "List the steps of one log: phase, time a step, requests, the share of them that\n"
            "was served, most bytes live and held, and calls that reached the driver. PATH is a\n"
            "log, - for standard input, or the folder of a run.\n"
            "\n"
            "  --every N  a line for every N steps: requests and calls of all of them, the mean\n"
            "             time and the highest peaks; \"mixed\" is more than one phase\n"
            "  --dev N    of device N; by default, the first one in the log\n"
            "  --rank N   of rank N, where the folder has several logs\n"
            "  --json     a document for programs, with more of each line\n"
            "\n"
            "exit status: 0, 2 usage, 3 a log that is unreadable, malformed or has no steps\n",
};
