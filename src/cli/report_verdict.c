/* SPDX-License-Identifier: MIT
 * report_verdict.c - was the cache effective? One answer and one sentence of all lanes together,
 * from the same figures as the rest of the report. */
#include "base/text.h"
#include "cli/emit.h"
#include "cli/report.h"
#include <stdio.h>
#include <string.h>

/* Of all requests: from here on the answer is yes, unless memory ran out all the same; below the
 * second it is no. */
static const double EFFECTIVE = 0.8, FUTILE = 0.05;

typedef struct tally {
    uint64_t requests, hits, eligible, refused;
    uint64_t steps, shapes; /* of the lane that has most */
    unsigned passed_by, observed, fixed;
    const sc_lane *fallen; /* the first that fell back */
    const sc_change *fall;
} tally;

static void add_fall(tally *all, const sc_lane *lane)
{
    const sc_device *device = lane->device;

    for (unsigned i = 0; i < device->change_count && !all->fall; i++) {
        if (strcmp(device->changes[i].to, "fallback") != 0)
            continue;
        all->fallen = lane;
        all->fall = &device->changes[i];
    }
}

/* Whether it was ever in phase fixed. */
static bool was_fixed(const sc_device *device)
{
    if (!strcmp(device->first_phase, "fixed") || sc_report_fixed(device))
        return true;
    for (unsigned i = 0; i < device->change_count; i++)
        if (!strcmp(device->changes[i].to, "fixed"))
            return true;
    return false;
}

static void raise_to(uint64_t *most, uint64_t value)
{
    if (*most < value)
        *most = value;
}

static tally count_up(const sc_report *report)
{
    tally all = {0};

    for (unsigned i = 0; i < report->lane_count; i++) {
        const sc_lane *lane = &report->lanes[i];
        const sc_device *device = lane->device;

        all.requests += device->all.requests;
        all.hits += device->all.hits;
        all.eligible += device->all.hits + device->all.misses;
        all.refused += device->refused.count;
        all.passed_by += sc_report_is_passed_by(device);
        all.observed += sc_history_is_observed(lane->history);
        all.fixed += was_fixed(device);
        raise_to(&all.steps, device->steps);
        raise_to(&all.shapes, device->shapes_seen);
        add_fall(&all, lane);
    }
    return all;
}

static void put_count(sc_text *text, uint64_t value)
{
    char count[32];

    sc_text_string(text, sc_emit_count(count, value));
}

static void put_percent(sc_text *text, uint64_t value, uint64_t whole)
{
    char percent[16];

    sc_text_string(text, sc_emit_percent(percent, value, whole));
}

/* "; rank 2 let go at step 40: a request of a shape never seen before, ..." */
static void put_fall(sc_text *text, const sc_report *report, const tally *all)
{
    const char *meaning = sc_report_reason_meaning(all->fall->reason);
    char label[64] = "it";

    for (unsigned i = 0; report->lane_count > 1 && i < report->lane_count; i++)
        if (&report->lanes[i] == all->fallen)
            sc_report_label(report, i, label);
    sc_text_string(text, "; ");
    sc_text_string(text, label);
    sc_text_string(text, " let go at step ");
    sc_text_u64(text, all->fall->step);
    sc_text_string(text, ": ");
    sc_text_string(text, meaning ? meaning : all->fall->reason);
    if (!all->fall->has_shape)
        return;
    sc_text_string(text, ", ");
    sc_text_size(text, all->fall->bytes);
    if (all->fall->site) {
        const char *place = sc_history_place(all->fallen->history, all->fall->site);

        sc_text_string(text, " asked for at ");
        sc_text_bytes(text, place, sc_text_fitting(place, strlen(place), 300));
    }
}

/* Each hit saves a driver allocation and the free that belongs to it, but not what that free waited
 * for the device: raw ones do, and so do parked ones. */
static void put_saved(sc_text *text, const sc_report *report)
{
    double saved = 0;
    char time[16];

    for (unsigned i = 0; i < report->lane_count; i++) {
        const sc_sums *sums = &report->lanes[i].device->all;

        saved -= (double)sums->wait_ns;
        if (sums->driver_allocs)
            saved += (double)sums->hits * ((double)sums->driver_ns / (double)sums->driver_allocs);
    }
    if (saved < 1 || saved > 1e18)
        return;
    sc_text_string(text, ", which saved about ");
    sc_text_string(text, sc_emit_time(time, (uint64_t)saved));
    sc_text_string(text, " in the driver (an estimate)");
}

static void tell_served(const sc_report *report, const tally *all, sc_text *text)
{
    put_count(text, all->hits);
    sc_text_string(text, " of ");
    put_count(text, all->requests);
    sc_text_string(text, " requests (");
    put_percent(text, all->hits, all->requests);
    sc_text_string(text, ") were served without a driver call");
    if (all->eligible && all->eligible < all->requests) {
        sc_text_string(text, ", ");
        put_percent(text, all->hits, all->eligible);
        sc_text_string(text, " of those that came in phase fixed");
    }
    put_saved(text, report);
    if (all->fall)
        put_fall(text, report, all);
}

static void tell_never(const tally *all, sc_text *text)
{
    sc_text_string(text, "the set of shapes never became fixed in ");
    put_count(text, all->steps);
    sc_text_string(text, all->steps == 1 ? " step" : " steps");
    if (all->shapes) {
        sc_text_string(text, " (");
        put_count(text, all->shapes);
        sc_text_string(text, all->shapes == 1 ? " shape)" : " different shapes)");
    }
    sc_text_string(text, "; of ");
    put_count(text, all->requests);
    sc_text_string(text, all->requests == 1 ? " request" : " requests");
    sc_text_string(text, " none was served from the cache");
}

/* What else there is to say comes after it. */
static void put_refused(sc_text *text, uint64_t times)
{
    sc_text_string(text, "it ran out of memory, which the program was told ");
    if (times > 1)
        put_count(text, times);
    sc_text_string(text, times == 1 ? "once; " : " times; ");
}

/* The answer is none: nothing was to be cached. */
static const char *without(const sc_report *report, const tally *all, sc_text *text)
{
    if (!report->lane_count || !all->requests) {
        sc_text_string(text, "nothing was allocated on any device");
    } else if (all->passed_by == report->lane_count) {
        put_count(text, all->requests);
        sc_text_string(text, " requests, and all passed the cache by");
    } else if (all->observed == report->lane_count) {
        sc_text_string(text, "SHAPECACHE=observe looked on and cached nothing");
    } else {
        return NULL;
    }
    return "none";
}

const char *sc_report_verdict(const sc_report *report, sc_text *text)
{
    const tally all = count_up(report);
    const char *grade;
    double share = all.requests ? (double)all.hits / (double)all.requests : 0;

    if (all.refused)
        put_refused(text, all.refused);
    grade = without(report, &all, text);
    if (!grade && !all.fixed && !all.eligible)
        tell_never(&all, text);
    else if (!grade)
        tell_served(report, &all, text);
    sc_text_char(text, '.');
    if (grade)
        return grade;
    return share < FUTILE ? "no" : share < EFFECTIVE || all.refused ? "partly" : "yes";
}
