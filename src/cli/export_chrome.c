/* SPDX-License-Identifier: MIT
 * export_chrome.c - a timeline for Perfetto and chrome://tracing, in the trace event format: a
 * process for each log, and in it for each device a track of phases, one of steps, and counters of
 * live, idle and the driver's free memory at each step's end. What happens at a moment (a new
 * shape, an out-of-memory, a mark, a warning) is an instant.
 *
 * Several logs share one clock, by the wall clock of their beginnings. */
#include "base/text.h"
#include "cli/command.h"
#include "cli/emit.h"
#include "cli/export.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { PHASES = 0, STEPS = 1, TRACKS = 2 };

/* The phase that a device is in. */
typedef struct span {
    bool is_seen;
    char phase[SC_WORD_BYTES];
    uint64_t began; /* ns */
} span;

typedef struct chrome {
    span devices[SC_DEVICES_MOST];
    uint64_t shift; /* ns between the earliest log's beginning and this one's */
    uint64_t last;  /* t of the record before */
} chrome;

static unsigned level(const sc_export *export)
{
    (void)export;
    return SC_LEVEL_STEP;
}

/* The separator and the fields that all events have; `tail` follows, and the caller closes. */
static void __attribute__((format(printf, 5, 6)))
put(sc_export *export, const char *kind, uint64_t track, uint64_t t_ns, const char *tail, ...)
{
    const chrome *all = export->state;
    uint64_t t = t_ns + all->shift;
    va_list arguments;

    fprintf(export->out, "%s{\"ph\":\"%s\",\"pid\":%u,\"tid\":%llu,\"ts\":%llu.%03u,",
            export->written++ ? ",\n" : "", kind, export->number, (unsigned long long)track,
            (unsigned long long)(t / 1000), (unsigned)(t % 1000));
    va_start(arguments, tail);
    vfprintf(export->out, tail, arguments);
    va_end(arguments);
    fputc('}', export->out);
}

/* `text` as a JSON string in `out`, cut where it is longer than any name should be. */
static const char *quoted(char out[512], const char *text)
{
    char cut[81];
    sc_text into = sc_text_over(out, 512);

    snprintf(cut, sizeof cut, "%.*s", (int)sc_text_fitting(text, strlen(text), 80), text);
    sc_text_json(&into, cut);
    return sc_text_terminate(&into);
}

static void name_track(sc_export *export, uint64_t device, unsigned track, const char *what)
{
    put(export, "M", device * TRACKS + track, 0,
        "\"name\":\"thread_name\",\"args\":{\"name\":\"device %llu: %s\"}",
        (unsigned long long)device, what);
}

static void instant(sc_export *export, const sc_line *line, const char *text)
{
    char name[512];
    uint64_t track = sc_line_u64(line, SC_F_DEV) * TRACKS + PHASES;

    put(export, "i", line->has[SC_F_DEV] ? track : 0, sc_line_u64(line, SC_F_T),
        "\"s\":\"p\",\"name\":%s", quoted(name, text));
}

static void end_phase(sc_export *export, uint64_t device, uint64_t t_ns)
{
    const chrome *all = export->state;
    const span *in = &all->devices[device];
    uint64_t took = t_ns > in->began ? t_ns - in->began : 0;
    char name[512];

    if (took)
        put(export, "X", device * TRACKS + PHASES, in->began, "\"name\":%s,\"dur\":%llu.%03u",
            quoted(name, in->phase), (unsigned long long)(took / 1000), (unsigned)(took % 1000));
}

/* NULL: a record of no device, or of one beyond those that are told apart. */
static span *meet(sc_export *export, const sc_line *line, const char *phase)
{
    chrome *all = export->state;
    uint64_t device = sc_line_u64(line, SC_F_DEV);
    span *in = device < SC_DEVICES_MOST && line->has[SC_F_DEV] ? &all->devices[device] : NULL;

    if (in && !in->is_seen) {
        in->is_seen = true;
        snprintf(in->phase, sizeof in->phase, "%s", phase);
        name_track(export, device, PHASES, "phase");
        name_track(export, device, STEPS, "step");
    }
    return in;
}

static void take_phase(sc_export *export, const sc_line *line)
{
    span *in = meet(export, line, sc_line_text(line, SC_F_FROM));
    char text[256], size[16];

    if (!in)
        return;
    if (!line->has[SC_F_SCOPE]) {
        end_phase(export, sc_line_u64(line, SC_F_DEV), sc_line_u64(line, SC_F_T));
        in->began = sc_line_u64(line, SC_F_T);
        snprintf(in->phase, sizeof in->phase, "%s", sc_line_text(line, SC_F_TO));
    }
    if (strcmp(sc_line_text(line, SC_F_TO), "fallback") != 0)
        return;
    snprintf(text, sizeof text, "%s%s%s%s%s", sc_line_text(line, SC_F_REASON),
             line->has[SC_F_BYTES] ? " " : "",
             line->has[SC_F_BYTES] ? sc_emit_size(size, sc_line_u64(line, SC_F_BYTES)) : "",
             line->has[SC_F_SITE] ? " from " : "",
             line->has[SC_F_SITE] ? sc_line_text(line, SC_F_SITE) : "");
    instant(export, line, text);
}

static void take_step(sc_export *export, const sc_line *line)
{
    uint64_t device = sc_line_u64(line, SC_F_DEV), t = sc_line_u64(line, SC_F_T);
    uint64_t took = sc_line_u64(line, SC_F_DUR);

    if (!meet(export, line, sc_line_text(line, SC_F_PHASE)))
        return;
    took = took > t ? t : took;
    put(export, "X", device * TRACKS + STEPS, t - took,
        "\"name\":\"step %llu\",\"dur\":%llu.%03u,\"args\":{\"requests\":%llu,\"hits\":%llu,"
        "\"misses\":%llu}",
        (unsigned long long)sc_line_u64(line, SC_F_STEP), (unsigned long long)(took / 1000),
        (unsigned)(took % 1000), (unsigned long long)sc_line_u64(line, SC_F_REQUESTS),
        (unsigned long long)sc_line_u64(line, SC_F_HITS),
        (unsigned long long)sc_line_u64(line, SC_F_MISSES));
    put(export, "C", 0, t, "\"name\":\"device %llu held\",\"args\":{\"live\":%llu,\"idle\":%llu}",
        (unsigned long long)device, (unsigned long long)sc_line_u64(line, SC_F_LIVE),
        (unsigned long long)sc_line_u64(line, SC_F_IDLE));
    if (line->has[SC_F_DRIVER_FREE])
        put(export, "C", 0, t, "\"name\":\"device %llu free\",\"args\":{\"driver\":%llu}",
            (unsigned long long)device, (unsigned long long)sc_line_u64(line, SC_F_DRIVER_FREE));
}

static void take_oom(sc_export *export, const sc_line *line)
{
    char text[64], size[16];

    snprintf(text, sizeof text, "out of memory: %s%s",
             sc_emit_size(size, sc_line_u64(line, SC_F_BYTES)),
             sc_line_u64(line, SC_F_RESULT) ? "" : ", recovered");
    instant(export, line, text);
}

static void begin(sc_export *export)
{
    export->state = sc_need(sizeof(chrome));
}

static void log_begins(sc_export *export)
{
    const sc_history *run = export->run;
    chrome *all = export->state;
    char text[128], name[512];

    *all = (chrome){.shift = run->t0_unix_ns > export->base ? run->t0_unix_ns - export->base : 0};
    if (!export->number)
        fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n", export->out);
    snprintf(text, sizeof text, "rank %llu: process %llu on %.64s", (unsigned long long)run->rank,
             (unsigned long long)run->pid, run->host);
    put(export, "M", 0, 0, "\"name\":\"process_name\",\"args\":{\"name\":%s}", quoted(name, text));
    put(export, "M", 0, 0, "\"name\":\"process_sort_index\",\"args\":{\"sort_index\":%llu}",
        (unsigned long long)run->rank);
}

static bool take(sc_export *export, const sc_line *line)
{
    chrome *all = export->state;

    if (sc_export_is_other(export, line))
        return true;
    all->last = sc_line_u64(line, SC_F_T);
    switch (line->event) {
    case SC_EV_PHASE:
        take_phase(export, line);
        break;
    case SC_EV_STEP:
        take_step(export, line);
        break;
    case SC_EV_OOM:
        take_oom(export, line);
        break;
    case SC_EV_MARK:
        instant(export, line, sc_line_text(line, SC_F_NAME));
        break;
    case SC_EV_WARN:
        instant(export, line, sc_line_text(line, SC_F_TEXT));
        break;
    default:
        break;
    }
    return true;
}

static void log_ends(sc_export *export)
{
    const chrome *all = export->state;

    for (uint64_t device = 0; device < SC_DEVICES_MOST; device++)
        if (all->devices[device].is_seen)
            end_phase(export, device, all->last);
}

static void end(sc_export *export)
{
    fputs("\n]}\n", export->out);
    free(export->state);
}

static void drop(sc_export *export)
{
    free(export->state);
}

const sc_export_format sc_export_chrome = {
    .name = "chrome",
    .is_timed = true,
    .level = level,
    .begin = begin,
    .log = log_begins,
    .take = take,
    .log_end = log_ends,
    .end = end,
    .drop = drop,
};
