/* SPDX-License-Identifier: MIT */
#include "base/text.h"
#include "cli/emit.h"
#include "cli/report.h"
#include <stdio.h>
#include <string.h>

enum { NOTE_BYTES = 1024 };

/* One figure of the report: how it is taken from a lane, printed, and explained. */
typedef struct figure {
    const char *label;
    uint64_t (*value)(const sc_lane *lane);
    const char *(*print)(char out[16], uint64_t value);
    void (*explain)(sc_text *text, const sc_lane *lane);
} figure;

/* In hundredths of a percent; UINT64_MAX stands for "none was eligible". */
static uint64_t hit_rate(const sc_lane *lane)
{
    const sc_sums *all = &lane->device->all;
    uint64_t eligible = all->hits + all->misses;

    return eligible ? (uint64_t)((double)all->hits * 10000 / (double)eligible) : UINT64_MAX;
}

/* There is no such figure. */
static const char *print_none(char out[16])
{
    memcpy(out, "-", 2);
    return out;
}

static const char *print_rate(char out[16], uint64_t value)
{
    return value == UINT64_MAX ? print_none(out) : sc_emit_percent(out, value, 10000);
}

static const char *print_size(char out[16], uint64_t value)
{
    return value == UINT64_MAX ? print_none(out) : sc_emit_size(out, value);
}

static const char *print_count(char out[16], uint64_t value)
{
    char digits[32];

    snprintf(out, 16, "%.15s", sc_emit_count(digits, value));
    return out;
}

static uint64_t live_peak(const sc_lane *lane)
{
    return sc_report_is_passed_by(lane->device) ? UINT64_MAX : lane->device->all.live_peak;
}

static uint64_t held_peak(const sc_lane *lane)
{
    return sc_report_is_passed_by(lane->device) ? UINT64_MAX : lane->device->all.held_peak;
}

static uint64_t driver_calls(const sc_lane *lane)
{
    return lane->device->all.driver_allocs + lane->device->all.driver_frees;
}

static uint64_t driver_time(const sc_lane *lane)
{
    return lane->device->all.driver_ns;
}

static uint64_t wait_time(const sc_lane *lane)
{
    return lane->device->all.wait_ns;
}

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

static uint64_t evicted(const sc_lane *lane)
{
    return lane->device->all.evicted;
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
    {"hit rate in fixed", hit_rate, print_rate, explain_rate},
    {"peak live", live_peak, print_size, explain_live},
    {"peak held", held_peak, print_size, explain_held},
    {"evicted", evicted, print_count, explain_evicted},
    {"driver calls", driver_calls, print_count, explain_calls},
    {"time in them", driver_time, sc_emit_time, NULL},
    {"time in waits", wait_time, sc_emit_time, explain_wait},
};

enum { FIGURES = sizeof figures / sizeof *figures };

static void tell_figures_of_one(const sc_lane *lane)
{
    sc_emit("totals\n");
    for (unsigned i = 0; i < FIGURES; i++) {
        char value[16], note[NOTE_BYTES], head[64];
        sc_text text = sc_text_over(note, sizeof note);

        (void)figures[i].print(value, figures[i].value(lane));
        if (figures[i].explain)
            figures[i].explain(&text, lane);
        snprintf(head, sizeof head, "  %-17s %11s%s", figures[i].label, value,
                 text.used ? "  " : "");
        sc_emit_wrapped(head, (unsigned)strlen(head), sc_text_terminate(&text));
    }
}

/* The first lane, and the least and most of all. */
static void tell_figures_of_many(const sc_report *report)
{
    char label[64], value[16];
    sc_table table = {
        .titles = {"totals", label, "least", "most"}, .is_left = {true}, .columns = 4, .gap = 2};

    sc_report_label(report, 0, label);
    for (unsigned i = 0; i < FIGURES; i++) {
        uint64_t least = UINT64_MAX, most = 0;
        bool is_told = false;

        for (unsigned lane = 0; lane < report->lane_count; lane++) {
            uint64_t one = figures[i].value(&report->lanes[lane]);

            if (one == UINT64_MAX)
                continue;
            is_told = true;
            least = one < least ? one : least;
            most = one > most ? one : most;
        }
        sc_table_cell(&table, figures[i].label);
        sc_table_cell(&table, figures[i].print(value, figures[i].value(&report->lanes[0])));
        sc_table_cell(&table, figures[i].print(value, least));
        sc_table_cell(&table, figures[i].print(value, is_told ? most : UINT64_MAX));
    }
    sc_table_print(&table);
}

void sc_report_figures(const sc_report *report)
{
    sc_emit("\n");
    if (report->lane_count == 1)
        tell_figures_of_one(&report->lanes[0]);
    else
        tell_figures_of_many(report);
}
