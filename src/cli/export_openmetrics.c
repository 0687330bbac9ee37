/* SPDX-License-Identifier: MIT
 * export_openmetrics.c - the totals of a run as a page of OpenMetrics, for a gateway or a textfile
 * collector: a family for each figure, and in it a sample for each device of each log. A run that
 * was killed has the sums of its steps. */
#include "base/text.h"
#include "cli/command.h"
#include "cli/export.h"
#include <stdlib.h>
#include <string.h>

enum { SECOND = 1000000000 };

/* What is told of a device. X(FIELD, family, kind, unit, "meaning"): bytes and counts as they are,
 * ns as seconds. */
#define FAMILIES(X)                                                                                \
    X(REQUESTS, requests, counter, , "allocation calls of the driver's layer")                     \
    X(HITS, hits, counter, , "requests served from the cache")                                     \
    X(MISSES, misses, counter, , "requests in phase fixed that went to the driver")                \
    X(BYPASSED, bypassed, counter, , "every other request")                                        \
    X(EVICTED, evicted, counter, , "idle buffers given back for room")                             \
    X(DRIVER_ALLOCS, driver_allocs, counter, , "driver allocations that succeeded")                \
    X(DRIVER_FREES, driver_frees, counter, , "driver frees that succeeded")                        \
    X(STEPS, steps, counter, , "steps that ended")                                                 \
    X(STEPS_FIXED, steps_fixed, counter, , "steps that ended in phase fixed")                      \
    X(FALLBACKS, fallbacks, counter, , "changes to phase fallback")                                \
    X(OOMS, oom, counter, , "driver allocations that ran out of memory")                           \
    X(DRIVER_NS, driver_seconds, counter, seconds, "time in driver allocations and frees")         \
    X(WAIT_NS, wait_seconds, counter, seconds, "time parked frees waited for the device")          \
    X(LIVE, live_bytes, gauge, bytes, "mapped bytes that the program holds")                       \
    X(IDLE, idle_bytes, gauge, bytes, "mapped bytes parked in the cache")                          \
    X(LIVE_PEAK, live_peak_bytes, gauge, bytes, "most bytes live")                                 \
    X(HELD_PEAK, held_peak_bytes, gauge, bytes, "most bytes live and idle")

static const struct {
    sc_field field;
    const char *name, *kind, *unit, *meaning;
} families[] = {
#define ROW(field, name, kind, unit, meaning)                                                      \
    {SC_F_##field, "shapecache_" #name, #kind, #unit, meaning},
    FAMILIES(ROW)
#undef ROW
};

enum { FAMILY_COUNT = sizeof families / sizeof *families };

typedef struct sample {
    char *labels;
    bool is_whole; /* its values are those of an `end` */
    uint64_t device;
    uint64_t values[FAMILY_COUNT];
} sample;

typedef struct samples {
    sample *at;
    size_t count, first; /* first: of this log */
} samples;

static unsigned level(const sc_export *export)
{
    (void)export;
    return SC_LEVEL_SUMMARY;
}

static void begin(sc_export *export)
{
    export->state = sc_need(sizeof(samples));
}

static void log_begins(sc_export *export)
{
    samples *all = export->state;

    all->first = all->count;
}

/* {run="a",rank="0",pid="9",device="1"}: of a label's value only these are escaped, as JSON
 * does, too. */
static char *labels_of(const sc_history *run, uint64_t device)
{
    size_t room = 6 * strlen(run->run) + 128;
    char *bytes = sc_need(room);
    sc_text text = sc_text_over(bytes, room);

    sc_text_string(&text, "{run=\"");
    for (const char *c = run->run; *c; c++) {
        if (*c == '"' || *c == '\\')
            sc_text_char(&text, '\\');
        if (*c == '\n')
            sc_text_string(&text, "\\n");
        else
            sc_text_char(&text, *c);
    }
    sc_text_string(&text, "\",rank=\"");
    sc_text_u64(&text, run->rank);
    sc_text_string(&text, "\",pid=\""); /* a rank may have had several processes */
    sc_text_u64(&text, run->pid);
    sc_text_string(&text, "\",device=\"");
    sc_text_u64(&text, device);
    sc_text_string(&text, "\"}");
    (void)sc_text_terminate(&text);
    return bytes;
}

static sample *sample_of(sc_export *export, uint64_t device)
{
    samples *all = export->state;

    for (size_t i = all->first; i < all->count; i++)
        if (all->at[i].device == device)
            return &all->at[i];
    all->at = sc_need_again(all->at, (all->count + 1) * sizeof *all->at);
    all->at[all->count] = (sample){.labels = labels_of(export->run, device), .device = device};
    return &all->at[all->count++];
}

static bool is_gauge(int family)
{
    return families[family].kind[0] == 'g';
}

/* A step's counters add up; of its peaks the largest stays, of live and idle the last. */
static void add_step(sample *into, const sc_line *line)
{
    for (int i = 0; i < FAMILY_COUNT; i++) {
        sc_field field = families[i].field;
        uint64_t value = field == SC_F_STEPS ? 1 : sc_line_u64(line, field);
        bool is_peak = field == SC_F_LIVE_PEAK || field == SC_F_HELD_PEAK;

        if (field == SC_F_STEPS_FIXED)
            value = !strcmp(sc_line_text(line, SC_F_PHASE), "fixed");
        if (!is_gauge(i))
            into->values[i] += value;
        else if (!is_peak || value > into->values[i])
            into->values[i] = value;
    }
}

static void count_one(sample *into, sc_field field)
{
    for (int i = 0; i < FAMILY_COUNT; i++)
        into->values[i] += families[i].field == field;
}

static bool take(sc_export *export, const sc_line *line)
{
    sample *into;

    if (sc_export_is_other(export, line) || !line->has[SC_F_DEV])
        return true;
    if (sc_line_u64(line, SC_F_DEV) >= SC_DEVICES_MOST)
        return sc_export_bad(export, "expected a device below %d", SC_DEVICES_MOST);
    into = sample_of(export, sc_line_u64(line, SC_F_DEV));
    if (line->event == SC_EV_END) {
        into->is_whole = true;
        for (int i = 0; i < FAMILY_COUNT; i++)
            into->values[i] = sc_line_u64(line, families[i].field);
    } else if (into->is_whole) {
        return true;
    } else if (line->event == SC_EV_STEP) {
        add_step(into, line);
    } else if (line->event == SC_EV_OOM) {
        count_one(into, SC_F_OOMS);
    } else if (line->event == SC_EV_PHASE && !line->has[SC_F_SCOPE] &&
               !strcmp(sc_line_text(line, SC_F_TO), "fallback")) {
        count_one(into, SC_F_FALLBACKS);
    }
    return true;
}

static void log_ends(sc_export *export)
{
    const samples *all = export->state;

    for (size_t i = all->first; i < all->count; i++)
        if (!all->at[i].is_whole)
            sc_say("export: %.300s: device %llu has no end: its figures are those of its steps",
                   export->run->path, (unsigned long long)all->at[i].device);
}

static void drop(sc_export *export)
{
    samples *all = export->state;

    for (size_t i = 0; i < all->count; i++)
        free(all->at[i].labels);
    free(all->at);
    free(all);
}

static void end(sc_export *export)
{
    const samples *all = export->state;
    FILE *out = export->out;

    for (int i = 0; i < FAMILY_COUNT; i++) {
        const char *name = families[i].name, *unit = families[i].unit;

        fprintf(out, "# TYPE %s %s\n", name, families[i].kind);
        if (*unit)
            fprintf(out, "# UNIT %s %s\n", name, unit);
        fprintf(out, "# HELP %s %s\n", name, families[i].meaning);
        for (size_t s = 0; s < all->count; s++) {
            uint64_t value = all->at[s].values[i];

            fprintf(out, "%s%s%s ", name, is_gauge(i) ? "" : "_total", all->at[s].labels);
            if (!strcmp(unit, "seconds"))
                fprintf(out, "%llu.%09llu\n", (unsigned long long)(value / SECOND),
                        (unsigned long long)(value % SECOND));
            else
                fprintf(out, "%llu\n", (unsigned long long)value);
        }
    }
    fputs("# EOF\n", out);
    drop(export);
}

const sc_export_format sc_export_openmetrics = {
    .name = "openmetrics",
    .level = level,
    .begin = begin,
    .log = log_begins,
    .take = take,
    .log_end = log_ends,
    .end = end,
    .drop = drop,
};
