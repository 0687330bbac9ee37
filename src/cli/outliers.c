/* SPDX-License-Identifier: MIT */
#include "cli/outliers.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/runs.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES = 512 };
#define LEAST_NS    UINT64_C(100000000)
#define LEAST_BYTES (UINT64_C(2) << 20) /* a page of the driver's */

void sc_outliers_add(sc_outliers *all, sc_outlier one)
{
    if ((all->count & (all->count - 1)) == 0)
        all->at = sc_need_again(all->at, sizeof *all->at * (all->count ? 2 * all->count : 1));
    one.order = all->count;
    all->at[all->count++] = one;
}

bool sc_outliers_has(const sc_outliers *all, unsigned lane)
{
    for (unsigned i = 0; i < all->count; i++)
        if (all->at[i].lane == lane)
            return true;
    return false;
}

void sc_outliers_release(sc_outliers *all)
{
    for (unsigned i = 0; i < all->count; i++)
        free(all->at[i].text);
    free(all->at);
    free(all->missing);
    free(all->general);
    *all = (sc_outliers){NULL, 0, NULL, NULL};
}

static int ascending(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return a < b ? -1 : a > b;
}

/* The middle one, the lower of two; sorts them. */
static uint64_t median(uint64_t *values, unsigned count)
{
    qsort(values, count, sizeof *values, ascending);
    return values[(count - 1) / 2];
}

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* As metrics.def has it. */
static bool is_far(const sc_metric_row *row, uint64_t value, uint64_t usual)
{
    uint64_t away = distance(value, usual);

    switch (row->odd) {
    case SC_ODD_ANY:
        return away > 0;
    case SC_ODD_POINT:
        return away >= 100;
    case SC_ODD_TENTH:
        return away > usual / 10 && away >= (row->unit == SC_UNIT_SIZE ? LEAST_BYTES : 2);
    case SC_ODD_HALF:
        return away > usual / 2 && away >= LEAST_NS;
    default:
        return false;
    }
}

/* "peak held 96.0 MiB; the median is 72.0 MiB (+33%)" */
static char *describe(const sc_metric_row *row, uint64_t value, uint64_t usual, bool is_pair)
{
    char text[TEXT_BYTES], mine[32], others[32], share[32] = "";
    bool has_share = usual && row->unit != SC_UNIT_RATE;

    if (has_share)
        snprintf(share, sizeof share, " (%+.0f%%)",
                 ((double)value - (double)usual) / (double)usual * 100);
    snprintf(text, sizeof text, "%s %s; %s %s%s", row->label,
             sc_metric_print(row->unit, value, mine), is_pair ? "the other's is" : "the median is",
             sc_metric_print(row->unit, usual, others), share);
    return sc_need_copy(text);
}

static void add_metric(sc_outliers *all, unsigned lane, sc_metric metric, uint64_t value,
                       uint64_t usual, bool is_pair)
{
    const sc_metric_row *row = &sc_metric_rows[metric];

    sc_outliers_add(all, (sc_outlier){.lane = lane,
                                      .what = row->name,
                                      .value = value,
                                      .usual = usual,
                                      .text = describe(row, value, usual, is_pair)});
}

/* The last one told of this lane; "": none. */
static bool is_told(const sc_outliers *all, unsigned lane, const char *what)
{
    for (unsigned i = 0; i < all->count; i++)
        if (all->at[i].lane == lane && !strcmp(all->at[i].what, what))
            return true;
    return false;
}

/* What another one has told already, better. */
static bool is_implied(const sc_outliers *all, unsigned lane, sc_metric metric)
{
    return (metric == SC_METRIC_fallback && is_told(all, lane, "phases")) ||
           (metric == SC_METRIC_refused && is_told(all, lane, "oom"));
}

/* Those that have a value; the rest is no outlier but a different program. */
static void compare_metric(sc_outliers *all, const sc_report *report, const sc_peers *peers,
                           sc_metric metric)
{
    uint64_t *values = sc_need(sizeof *values * peers->count), usual, spread;
    unsigned count = 0;
    bool is_pair;

    for (unsigned i = 0; i < peers->count; i++) {
        uint64_t value = sc_metric_value(metric, &report->lanes[peers->at[i]]);

        if (value != SC_MISSING)
            values[count++] = value;
    }
    is_pair = count == 2;
    if (count > 1) {
        usual = is_pair ? values[0] : median(values, count);
        for (unsigned i = 0; i < count; i++)
            values[i] = distance(values[i], usual);
        spread = is_pair ? 0 : median(values, count);
        for (unsigned i = 0; i < peers->count; i++) {
            uint64_t value = sc_metric_value(metric, &report->lanes[peers->at[i]]);

            if (value != SC_MISSING && is_far(&sc_metric_rows[metric], value, usual) &&
                distance(value, usual) / 3 >= spread && !is_implied(all, peers->at[i], metric))
                add_metric(all, peers->at[i], metric, value, usual, is_pair);
        }
    }
    free(values);
}

/* Step of the first change to fallback; SC_MISSING: there was none. */
static uint64_t fell_at(const sc_device *device)
{
    for (unsigned i = 0; i < device->change_count; i++)
        if (!strcmp(device->changes[i].to, "fallback"))
            return device->changes[i].step;
    return SC_MISSING;
}

static char *describe_fall(uint64_t mine, uint64_t usual, bool is_pair)
{
    char text[TEXT_BYTES];

    if (mine == SC_MISSING)
        snprintf(text, sizeof text, "it never fell back; %s did, at step %llu",
                 is_pair ? "the other" : "most", (unsigned long long)usual);
    else if (usual == SC_MISSING)
        snprintf(text, sizeof text, "it fell back at step %llu; %s never did",
                 (unsigned long long)mine, is_pair ? "the other" : "most");
    else
        snprintf(text, sizeof text, "it fell back first at step %llu; %s at step %llu",
                 (unsigned long long)mine, is_pair ? "the other" : "most",
                 (unsigned long long)usual);
    return sc_need_copy(text);
}

/* What more than half of them did; of two, the first. */
static void compare_falls(sc_outliers *all, const sc_report *report, const sc_peers *peers)
{
    uint64_t *falls = sc_need(sizeof *falls * peers->count), usual;
    bool is_pair = peers->count == 2;
    unsigned same = 0;

    for (unsigned i = 0; i < peers->count; i++)
        falls[i] = fell_at(report->lanes[peers->at[i]].device);
    usual = is_pair || !peers->count ? 0 : median(falls, peers->count);
    for (unsigned i = 0; i < peers->count; i++)
        same += falls[i] == usual;
    if (is_pair)
        usual = falls[0];
    for (unsigned i = 0; i < peers->count && (is_pair || same > peers->count / 2); i++) {
        uint64_t mine = fell_at(report->lanes[peers->at[i]].device);

        if (mine != usual)
            sc_outliers_add(all, (sc_outlier){.lane = peers->at[i],
                                              .what = "phases",
                                              .value = mine,
                                              .usual = usual,
                                              .text = describe_fall(mine, usual, is_pair)});
    }
    free(falls);
}

/* A log without an end, where others have one or go on for longer. */
static void find_ends(sc_outliers *all, const sc_report *report, sc_peers *peers)
{
    uint64_t most = 0;
    unsigned ended = 0;

    for (unsigned i = 0; i < report->lane_count; i++) {
        const sc_device *device = report->lanes[i].device;

        ended += device->is_complete;
        most = device->steps > most ? device->steps : most;
    }
    for (unsigned i = 0; i < report->lane_count; i++) {
        const sc_device *device = report->lanes[i].device;
        char text[TEXT_BYTES];

        if (device->is_complete || (!ended && device->steps + 1 >= most)) {
            peers->at[peers->count++] = i;
            continue;
        }
        snprintf(text, sizeof text,
                 "its log has no end and stops after %llu step%s; the longest has %llu",
                 (unsigned long long)device->steps, device->steps == 1 ? "" : "s",
                 (unsigned long long)most);
        sc_outliers_add(all, (sc_outlier){.lane = i,
                                          .what = "end",
                                          .value = device->steps,
                                          .usual = most,
                                          .text = sc_need_copy(text)});
    }
}

/* The histories are sorted by rank. */
static void find_missing(sc_outliers *all, const sc_report *report)
{
    uint64_t world = report->histories[0]->world, next = 0;
    char bytes[TEXT_BYTES];
    sc_text text = sc_text_over(bytes, sizeof bytes);

    for (unsigned i = 0; i < report->history_count && next < world; i++) {
        uint64_t rank = report->histories[i]->rank;

        if (rank > next && next < world)
            sc_runs_put_range(&text, next, (rank < world ? rank : world) - 1);
        next = rank >= next && rank != UINT64_MAX ? rank + 1 : next;
    }
    if (next < world)
        sc_runs_put_range(&text, next, world - 1);
    if (text.used)
        all->missing = sc_need_copy(sc_text_terminate(&text));
}

static int by_lane(const void *left, const void *right)
{
    const sc_outlier *a = left, *b = right;

    if (a->lane != b->lane)
        return a->lane < b->lane ? -1 : 1;
    return a->order < b->order ? -1 : 1;
}

void sc_outliers_find(sc_outliers *all, const sc_report *report)
{
    sc_peers peers = {.count = 0};

    *all = (sc_outliers){NULL, 0, NULL, NULL};
    if (report->lane_count < 2)
        return;
    peers.at = sc_need(sizeof *peers.at * report->lane_count);
    if (report->history_count > 1)
        find_missing(all, report);
    find_ends(all, report, &peers);
    if (peers.count > 1) {
        compare_falls(all, report, &peers);
        for (int metric = 0; metric < SC_METRIC_COUNT; metric++)
            compare_metric(all, report, &peers, (sc_metric)metric);
        sc_outliers_shapes(all, report, &peers);
    }
    if (all->count)
        qsort(all->at, all->count, sizeof *all->at, by_lane);
    free(peers.at);
}
