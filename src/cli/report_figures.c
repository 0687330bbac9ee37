/* SPDX-License-Identifier: MIT */
#include "base/text.h"
#include "cli/emit.h"
#include "cli/outliers.h"
#include "cli/report.h"
#include <stdio.h>
#include <string.h>

enum { NOTE_BYTES = 1024, OUTLIERS = 24 };

/* One figure of the report, and how it is explained. */
typedef struct figure {
    const char *label;
    sc_metric metric;
    void (*explain)(sc_text *text, const sc_lane *lane);
} figure;

static void put_count(sc_text *text, uint64_t value, const char *after)
{
    char count[32];

    sc_text_string(text, sc_emit_count(count, value));
    sc_text_string(text, after);
}

const sc_sums *sc_report_fixed(const sc_device *device)
{
    for (unsigned i = 0; i < device->phase_count; i++)
        if (!strcmp(device->phases[i].phase, "fixed"))
            return &device->phases[i].sums;
    return NULL;
}

/* By the step rows; only a run that caches tells it in its hits and misses. */
static uint64_t requests_in_fixed(const sc_device *device)
{
    const sc_sums *fixed = sc_report_fixed(device);

    return fixed ? fixed->requests : 0;
}

static void explain_rate(sc_text *text, const sc_lane *lane)
{
    const sc_sums *all = &lane->device->all;

    if (sc_history_is_observed(lane->history)) {
        sc_text_string(text, "nothing is cached with SHAPECACHE=observe; ");
        put_count(text, requests_in_fixed(lane->device), " of ");
        put_count(text, all->requests,
                  " requests came in phase fixed and would have been eligible");
        return;
    }
    if (sc_report_is_passed_by(lane->device)) {
        put_count(text, all->bypassed,
                  all->bypassed == 1 ? " request, passed by" : " requests, all passed by");
        return;
    }
    if (all->hits + all->misses == 0) {
        sc_text_string(text, "no request came in phase fixed");
        return;
    }
    put_count(text, all->hits, " of ");
    put_count(text, all->hits + all->misses, " requests; ");
    put_count(text, all->bypassed, " came in other phases");
}

static void explain_live(sc_text *text, const sc_lane *lane)
{
    sc_text_string(text, sc_report_is_passed_by(lane->device)
                             ? "not known of what passes by"
                             : "most that the program held at once");
}

static void explain_held(sc_text *text, const sc_lane *lane)
{
    uint64_t cap = sc_history_cap(lane->history, lane->device);
    const sc_history *history = lane->history;

    if (sc_report_is_passed_by(lane->device))
        return;
    sc_text_string(text, "live + idle");
    if (history->is_told[SC_OPTION_gate] && !history->options.gate) {
        sc_text_string(text, "; no cap (SHAPECACHE_GATE=0)");
    } else if (cap) {
        sc_text_string(text, "; the cap was ");
        sc_text_size(text, cap);
    }
}

static void explain_calls(sc_text *text, const sc_lane *lane)
{
    const sc_sums *all = &lane->device->all;

    put_count(text, all->driver_allocs, " allocations, ");
    put_count(text, all->driver_frees, " frees");
    if (all->malloc_frees) {
        sc_text_string(text, ", ");
        put_count(text, all->malloc_frees, " of them inside an allocation");
    }
}

static void explain_evicted(sc_text *text, const sc_lane *lane)
{
    uint64_t expired = lane->device->all.expired;

    sc_text_string(text, "idle buffers that went back to make room");
    if (expired) {
        sc_text_string(text, "; ");
        put_count(text, expired, " more were unused for too long");
    }
}

static void explain_wait(sc_text *text, const sc_lane *lane)
{
    (void)lane;
    sc_text_string(text, "frees waiting for the device, as raw ones do");
}

static const figure figures[] = {
    {"hit rate in fixed", SC_METRIC_hit, explain_rate},
    {"peak live", SC_METRIC_live, explain_live},
    {"peak held", SC_METRIC_held, explain_held},
    {"evicted", SC_METRIC_evicted, explain_evicted},
    {"driver calls", SC_METRIC_calls, explain_calls},
    {"time in them", SC_METRIC_alloc, NULL},
    {"time in waits", SC_METRIC_wait, explain_wait},
};

enum { FIGURES = sizeof figures / sizeof *figures };

static const char *print(const figure *one, uint64_t value, char out[32])
{
    return sc_metric_print(sc_metric_rows[one->metric].unit, value, out);
}

static void tell_figures_of_one(const sc_lane *lane)
{
    sc_emit("totals\n");
    for (unsigned i = 0; i < FIGURES; i++) {
        char value[32], note[NOTE_BYTES], head[80];
        sc_text text = sc_text_over(note, sizeof note);

        if (figures[i].explain)
            figures[i].explain(&text, lane);
        snprintf(head, sizeof head, "  %-17s %11s%s", figures[i].label,
                 print(&figures[i], sc_metric_value(figures[i].metric, lane), value),
                 text.used ? "  " : "");
        sc_emit_wrapped(head, (unsigned)strlen(head), sc_text_terminate(&text));
    }
}

/* The first lane, and the least and most of all. */
static void tell_figures_of_many(const sc_report *report)
{
    char label[64], value[32];
    sc_table table = {
        .titles = {"totals", label, "least", "most"}, .is_left = {true}, .columns = 4, .gap = 2};

    sc_report_label(report, 0, label);
    for (unsigned i = 0; i < FIGURES; i++) {
        uint64_t least = SC_MISSING, most = 0;
        bool is_told = false;

        for (unsigned lane = 0; lane < report->lane_count; lane++) {
            uint64_t one = sc_metric_value(figures[i].metric, &report->lanes[lane]);

            if (one == SC_MISSING)
                continue;
            is_told = true;
            least = one < least ? one : least;
            most = one > most ? one : most;
        }
        sc_table_cell(&table, figures[i].label);
        sc_table_cell(&table, print(&figures[i],
                                    sc_metric_value(figures[i].metric, &report->lanes[0]), value));
        sc_table_cell(&table, print(&figures[i], least, value));
        sc_table_cell(&table, print(&figures[i], is_told ? most : SC_MISSING, value));
    }
    sc_table_print(&table);
}

/* Which ranks are not like the others, and in what. */
static void tell_outliers(const sc_report *report)
{
    sc_outliers odd;

    sc_outliers_find(&odd, report);
    if (odd.count || odd.missing || odd.general)
        sc_emit("\nranks that differ\n");
    sc_outliers_tell(&odd, report, OUTLIERS);
    sc_outliers_release(&odd);
}

void sc_report_figures(const sc_report *report)
{
    sc_emit("\n");
    if (report->lane_count == 1)
        tell_figures_of_one(&report->lanes[0]);
    else
        tell_figures_of_many(report);
    tell_outliers(report);
}
