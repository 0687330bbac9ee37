/* SPDX-License-Identifier: MIT */
#include "cli/metrics.h"
#include "cli/emit.h"
#include <stdio.h>
#include <string.h>

const sc_metric_row sc_metric_rows[SC_METRIC_COUNT] = {
#define METRIC(symbol, name, label, unit, odd, meaning)                                            \
    [SC_METRIC_##symbol] = {name, label, meaning, SC_UNIT_##unit, SC_ODD_##odd},
#include "cli/metrics.def"
};

/* In hundredths of a percent, cut. */
static uint64_t rate(uint64_t part, uint64_t whole)
{
    return whole ? (uint64_t)((double)part * 10000 / (double)whole) : SC_MISSING;
}

/* What passed the cache by left no mark of its memory. */
static uint64_t peak(const sc_lane *lane, uint64_t bytes)
{
    return sc_report_is_passed_by(lane->device) ? SC_MISSING : bytes;
}

static uint64_t rate_of(sc_metric metric, const sc_device *device)
{
    const sc_sums *all = &device->all;

    switch (metric) {
    case SC_METRIC_hit:
        return rate(all->hits, all->hits + all->misses);
    case SC_METRIC_settled:
        return rate(device->settled_hits, device->settled_requests);
    case SC_METRIC_served:
        return rate(all->hits, all->requests);
    default:
        return rate(device->steps_fixed, device->is_complete ? device->steps : all->rows);
    }
}

static uint64_t strict_of(const sc_lane *lane)
{
    const sc_incidents *incidents = &lane->device->incidents;
    bool is_on = lane->history->is_told[SC_OPTION_strict] && lane->history->options.strict;

    return is_on || incidents->is_strict_told ? incidents->strict : SC_MISSING;
}

uint64_t sc_metric_value(sc_metric metric, const sc_lane *lane)
{
    const sc_device *device = lane->device;
    const sc_sums *all = &device->all;

    switch (metric) {
    case SC_METRIC_fallback:
        return device->fallbacks;
    case SC_METRIC_oom:
        return device->ooms;
    case SC_METRIC_refused:
        return device->refused.count;
    case SC_METRIC_strict:
        return strict_of(lane);
    case SC_METRIC_miss:
        return all->misses;
    case SC_METRIC_evicted:
        return all->evicted;
    case SC_METRIC_requests:
        return all->requests;
    case SC_METRIC_calls:
        return all->driver_allocs + all->driver_frees;
    case SC_METRIC_steps:
        return device->steps;
    case SC_METRIC_shapes:
        return device->shapes_seen;
    case SC_METRIC_live:
        return peak(lane, all->live_peak);
    case SC_METRIC_held:
        return peak(lane, all->held_peak);
    case SC_METRIC_alloc:
        return all->driver_ns;
    case SC_METRIC_wait:
        return all->wait_ns;
    default:
        return rate_of(metric, device);
    }
}

const char *sc_metric_print(sc_unit unit, uint64_t value, char out[32])
{
    char small[16];

    if (value == SC_MISSING)
        return memcpy(out, "-", 2);
    if (unit == SC_UNIT_COUNT)
        return sc_emit_count(out, value);
    if (unit == SC_UNIT_RATE)
        (void)sc_emit_percent(small, value, 10000);
    else if (unit == SC_UNIT_SIZE)
        (void)sc_emit_size(small, value);
    else
        (void)sc_emit_time(small, value);
    return memcpy(out, small, sizeof small);
}

sc_metric sc_metric_find(const char *name, size_t length)
{
    for (int i = 0; i < SC_METRIC_COUNT; i++)
        if (strlen(sc_metric_rows[i].name) == length &&
            !strncmp(sc_metric_rows[i].name, name, length))
            return (sc_metric)i;
    return SC_METRIC_COUNT;
}
