/* SPDX-License-Identifier: MIT */
#include "cli/export.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/emit.h"
#include "cli/logs.h"
#include "cli/out.h"
#include "cli/progress.h"
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const sc_export_format *const formats[] = {
    &sc_export_trace,     &sc_export_rmm,        &sc_export_csv,         &sc_export_chrome,
    &sc_export_collapsed, &sc_export_speedscope, &sc_export_openmetrics, &sc_export_torch};
enum { FORMATS = sizeof formats / sizeof(const sc_export_format *), DEFAULT_LAST = 200000 };

static const char *const levels[] = {
    [SC_LEVEL_SUMMARY] = "summary", [SC_LEVEL_STEP] = "step", [SC_LEVEL_EVENT] = "event"};

typedef struct export_request {
    const sc_export_format *format;
    const char *out;
    sc_export export;
    sc_logs logs;
} export_request;

bool sc_export_bad(sc_export *export, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(export->error, sizeof export->error, format, arguments);
    va_end(arguments);
    return false;
}

bool sc_export_is_other(const sc_export *export, const sc_line *line)
{
    return export->has_device && line->has[SC_F_DEV] &&
           sc_line_u64(line, SC_F_DEV) != export->device;
}

/* Always false. */
static bool fails(const sc_reader *reader, const sc_export *export)
{
    if (export->error[0])
        sc_say("export: %.300s, line %llu: %s", reader->path,
               (unsigned long long)reader->line.number, export->error);
    else
        sc_say("export: %s", reader->error);
    return false;
}

/* A log that says it has no records of the kind is refused before anything is written. */
static bool has_level(const export_request *request, const sc_history *run)
{
    unsigned wanted = request->format->level(&request->export);

    if (!run->is_told[SC_OPTION_log_level] || (unsigned)run->options.log_level >= wanted)
        return true;
    sc_say("export: %.300s was written at level %s, and %s needs %s: run the program with "
           "SHAPECACHE_LOG_LEVEL=%s",
           run->path, levels[run->options.log_level], request->format->name,
           wanted == SC_LEVEL_EVENT ? "a record of every request" : "a record of every step",
           levels[wanted]);
    return false;
}

/* After the log's first record. */
static bool convert(export_request *request, sc_reader *reader, sc_history *run)
{
    const sc_export_format *format = request->format;
    sc_export *export = &request->export;
    const sc_line *line;

    run->path = reader->path;
    sc_history_run(run, &reader->line);
    export->run = run;
    if (!has_level(request, run))
        return false;
    format->log(export);
    while ((line = sc_reader_next(reader)))
        if (!format->take(export, line))
            return fails(reader, export);
    if (reader->error[0])
        return fails(reader, export);
    if (reader->is_cut)
        sc_say("export: %.300s: the last line is cut short and left out", reader->path);
    if (format->log_end)
        format->log_end(export);
    return true;
}

static bool convert_log(export_request *request, const char *path)
{
    sc_history *run;
    sc_reader reader;
    bool is_good;

    if (!sc_reader_open(&reader, path)) {
        sc_say("export: %s: %s", path, strerror(errno));
        return false;
    }
    run = sc_need(sizeof *run);
    is_good =
        sc_reader_next(&reader) ? convert(request, &reader, run) : fails(&reader, &request->export);
    sc_history_delete(run);
    request->export.run = NULL;
    sc_reader_close(&reader);
    return is_good;
}

/* The earliest beginning; a log that cannot be read is told of when its turn comes. */
static uint64_t earliest(const sc_logs *logs)
{
    uint64_t base = UINT64_MAX;

    for (unsigned i = 0; i < logs->count; i++) {
        const sc_line *line = NULL;
        sc_reader reader;

        if (!strcmp(logs->at[i], "-") || !sc_reader_open(&reader, logs->at[i]))
            continue;
        line = sc_reader_next(&reader);
        if (line && sc_line_u64(line, SC_F_T0) < base)
            base = sc_line_u64(line, SC_F_T0);
        sc_reader_close(&reader);
    }
    return base == UINT64_MAX ? 0 : base;
}

/* False where there was nothing to write: that is no file. */
static bool has_written(const export_request *request)
{
    const sc_export *export = &request->export;

    if (export->written || request->format->level(export) < SC_LEVEL_EVENT)
        return true;
    if (export->has_device)
        sc_say("export: %.300s has no request on device %llu", request->logs.at[0],
               (unsigned long long)export->device);
    else
        sc_say("export: %.300s has no record of a request: run the program with "
               "SHAPECACHE_LOG_LEVEL=event",
               request->logs.at[0]);
    return false;
}

static int convert_all(export_request *request)
{
    sc_export *export = &request->export;
    bool is_good = true;
    sc_out out;

    if (!request->out && isatty(STDOUT_FILENO))
        sc_progress_off(); /* lines come as they are read */
    if (!sc_out_open(&out, request->out, "export"))
        return SC_EXIT_UNREADABLE;
    export->out = out.file;
    if (request->format->is_timed)
        export->base = earliest(&request->logs);
    request->format->begin(export);
    for (; is_good && export->number < request->logs.count; export->number++)
        is_good = convert_log(request, request->logs.at[export->number]);
    is_good = is_good && has_written(request);
    if (is_good)
        request->format->end(export);
    else
        request->format->drop(export);
    is_good = sc_out_close(&out, is_good) && is_good;
    return is_good ? SC_EXIT_DONE : SC_EXIT_UNREADABLE;
}

static int parse_format(export_request *request, const char *name)
{
    char names[128];
    sc_text text = sc_text_over(names, sizeof names);

    for (int i = 0; i < FORMATS; i++) {
        if (name && !strcmp(formats[i]->name, name)) {
            request->format = formats[i];
            return 0;
        }
        sc_text_string(&text, i == 0 ? "" : i + 1 < FORMATS ? ", " : " or ");
        sc_text_string(&text, formats[i]->name);
    }
    return sc_usage(&sc_command_export, "export: --to wants %s", sc_text_terminate(&text));
}

static int parse_rows(export_request *request, const char *name)
{
    for (int i = 0; name && i < SC_EV_COUNT; i++) {
        if (i != SC_EV_RUN && !strcmp(sc_event_name((sc_event)i), name)) {
            request->export.rows = (sc_event)i;
            return 0;
        }
    }
    return sc_usage(&sc_command_export,
                    "export: --rows wants a kind of record, such as step, shape, phase or alloc");
}

/* The option's value is used up; 0, or the exit status. */
static int parse_option(export_request *request, const char *option, const char *value)
{
    if (!strcmp(option, "--to"))
        return parse_format(request, value);
    if (!strcmp(option, "--rows"))
        return parse_rows(request, value);
    if (!strcmp(option, "--dev")) {
        request->export.has_device = true;
        if (!value || !sc_parse_u64(value, &request->export.device))
            return sc_usage(&sc_command_export, "export: --dev wants the number of a device");
        return 0;
    }
    if (!strcmp(option, "--last")) {
        if (!value || !sc_parse_u64(value, &request->export.last) || !request->export.last)
            return sc_usage(&sc_command_export, "export: --last wants a number of events");
        return 0;
    }
    if (!strcmp(option, "--out")) {
        request->out = value;
        return value && *value
                   ? 0
                   : sc_usage(&sc_command_export, "export: --out wants the name of a file");
    }
    return sc_usage(&sc_command_export, "export: no option \"%.64s\"", option);
}

/* 0, or the exit status. */
static int parse(export_request *request, int count, char **arguments)
{
    bool is_over = false;

    for (int i = 0; i < count; i++) {
        const char *argument = arguments[i];
        int status = 0;

        if (!is_over && !strcmp(argument, "--"))
            is_over = true;
        else if (!is_over && argument[0] == '-' && argument[1])
            status = parse_option(request, argument, i + 1 < count ? arguments[++i] : NULL);
        else if (!sc_logs_add(&request->logs, argument, "export"))
            status = SC_EXIT_UNREADABLE;
        if (status)
            return status;
    }
    if (!request->format)
        return parse_format(request, NULL);
    if (!request->logs.count)
        return sc_usage(&sc_command_export, "export: which log, or folder of a run?");
    if (request->format->is_binary && !request->out && isatty(STDOUT_FILENO))
        return sc_usage(&sc_command_export, "export: %s is no text: name a file with --out",
                        request->format->name);
    if (request->format->is_of_one && request->logs.count > 1)
        return sc_usage(&sc_command_export, "export: %s takes one log: name one, %s to %s",
                        request->format->name, request->logs.at[0],
                        request->logs.at[request->logs.count - 1]);
    return 0;
}

static int export_logs(int count, char **arguments)
{
    export_request request = {.export = {.rows = SC_EV_STEP, .last = DEFAULT_LAST}};
    int status = parse(&request, count, arguments);

    if (!status)
        status = sc_out_check(request.out, &request.logs, &sc_command_export);
    if (!status)
        status = convert_all(&request);
    sc_logs_release(&request.logs);
    return status;
}

const sc_command sc_command_export = {
    .name = "export",
    .run = export_logs,
    .summary = "a log as a file for other programs",
    .help = "usage: shapecache export --to FORMAT [--out FILE] [--dev N] PATH...\n"
            "\n"
            "Write a log in a format that other programs read. PATH is a log, - for standard\n"
            "input, or the folder of a run, which stands for all logs in it.\n"
            "\n"
            "  --to trace   requests by number and size, with the steps they fall in, for\n"
            "               build/bench/replay: one log, one device\n"
            "  --to rmm     requests with address and time, as RMM's logging adaptor writes\n"
            "               them: one log, one device\n"
            "  --to csv     records of one kind, a column for each of their fields\n"
            "  --to chrome  phases, steps and memory on a timeline, for Perfetto\n"
            "               (ui.perfetto.dev) and chrome://tracing\n"
            "  --to collapsed    call sites, each with the bytes its shapes had live at most,\n"
            "                    for flame graph scripts\n"
            "  --to speedscope   the same, for speedscope.app\n"
            "  --to openmetrics  the totals of each device\n"
            "  --to torch-snapshot  a pickle for PyTorch's memory_viz, as its memory snapshots\n"
            "               are: one log, one device\n"
            "\n"
            "  --out FILE   write there, replacing what is there; else to standard output\n"
            "  --dev N      only device N; the formats of one take the first they meet\n"
            "  --last N     of torch-snapshot, the last N events (200000)\n"
            "  --rows KIND  of csv, the kind of record (docs/log.md): step, if not told\n"
            "\n"
            "trace, rmm and torch-snapshot need a log of level event, csv and chrome of level\n"
            "step or event, the others any (SHAPECACHE_LOG_LEVEL, when the program runs).\n"
            "\n"
            "exit status: 0, 2 usage, 3 a log that is unreadable, malformed or lacks the\n"
            "records, or a FILE that cannot be written\n",
};
