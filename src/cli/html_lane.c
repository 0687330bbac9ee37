/* SPDX-License-Identifier: MIT */
#include "cli/html_lane.h"
#include "cli/command.h"
#include "cli/emit.h"
#include <stdlib.h>
#include <string.h>

enum {
    LANES_MOST = 16,
    STEPS_MOST = 2000,
    STEPS_LEAST = 250,
    CELLS_MOST = 480,
    CELLS_LEAST = 240,
    ROWS_MOST = 240,
    ROWS_LEAST = 60,
    SHAPES_MOST = 1000,
    SITES_MOST = 800,
    TABLE_LEAST = 100,
    CHANGES_MOST = 200
};

static unsigned share(unsigned most, unsigned least, unsigned lanes)
{
    unsigned each = lanes ? 2 * most / lanes : most;

    return each > most ? most : each < least ? least : each;
}

sc_html_room sc_html_room_for(unsigned lanes)
{
    unsigned full = lanes < LANES_MOST ? lanes : LANES_MOST;

    return (sc_html_room){.lanes = full,
                          .steps = share(STEPS_MOST, STEPS_LEAST, full),
                          .cells = share(CELLS_MOST, CELLS_LEAST, full),
                          .rows = share(ROWS_MOST, ROWS_LEAST, full),
                          .shapes = share(SHAPES_MOST, TABLE_LEAST, full),
                          .most = share(SITES_MOST, TABLE_LEAST, full)};
}

/* All lanes have buckets of the same steps, those of the longest, so that they can be compared. */
void sc_html_lane_begin(sc_html_lane *lane, const sc_report *report, unsigned number,
                        const sc_html_room *room, uint64_t steps)
{
    *lane = (sc_html_lane){.history = report->lanes[number].history,
                           .device = report->lanes[number].device,
                           .is_full = number < room->lanes};
    sc_report_label(report, number, lane->label);
    sc_html_steps_begin(&lane->steps, steps, room->steps);
    if (!lane->is_full)
        return;
    sc_html_presence_begin(&lane->presence, lane->device, room->rows, room->cells);
    lane->events = sc_need(sizeof *lane->events);
}

void sc_html_lane_add(sc_html_lane *lane, const sc_line *line)
{
    if (line->event == SC_EV_STEP)
        sc_html_steps_add(&lane->steps, line);
    else if (lane->is_full && (line->event == SC_EV_SHAPE || line->event == SC_EV_ALLOC))
        sc_html_presence_add(&lane->presence, line);
    else if (lane->is_full)
        sc_html_events_add(lane->events, lane->history, line);
}

static void emit_stretches(const sc_device *device)
{
    unsigned most = device->change_count + 1;
    sc_stretch *all = sc_need(most * sizeof *all);
    unsigned count = sc_report_stretches(device, all, most);

    sc_emit_open("phases", '[');
    for (unsigned i = 0; i < count && i < most && i < 2 * CHANGES_MOST; i++) {
        sc_emit_open(NULL, '{');
        sc_emit_text("phase", all[i].phase);
        sc_emit_u64("first", all[i].first);
        if (!all[i].is_open)
            sc_emit_u64("last", all[i].last);
        sc_emit_end('}');
    }
    sc_emit_end(']');
    free(all);
}

static void emit_changes(const sc_history *history, const sc_device *device)
{
    unsigned shown = device->change_count < CHANGES_MOST ? device->change_count : CHANGES_MOST;

    sc_emit_open("changes", '[');
    for (unsigned i = 0; i < shown; i++) {
        const sc_change *change = &device->changes[i];

        sc_emit_open(NULL, '{');
        sc_emit_u64("step", change->step);
        sc_emit_text("from", change->from);
        sc_emit_text("to", change->to);
        sc_emit_text("reason", change->reason);
        if (change->has_shape) {
            sc_emit_u64("shape", change->shape);
            sc_emit_u64("bytes", change->bytes);
        }
        sc_html_emit_text("site", sc_history_place(history, change->site));
        sc_emit_u64("set_size", change->set_size);
        sc_emit_u64("idle_released", change->idle_released);
        sc_emit_end('}');
    }
    sc_emit_end(']');
    sc_emit_u64("changes_left_out", device->changes_left_out + device->change_count - shown);
}

static void emit_sums(const sc_sums *sums)
{
    sc_emit_u64("rows", sums->rows);
    sc_emit_u64("dur_ns", sums->dur_ns);
#define SHOW(how, member, field) sc_emit_u64(sc_field_name(SC_F_##field), sums->member);
    SC_SUMS(SHOW)
#undef SHOW
}

static void emit_by_phase(const sc_device *device)
{
    sc_emit_open("by_phase", '[');
    for (unsigned i = 0; i < device->phase_count; i++) {
        sc_emit_open(NULL, '{');
        sc_emit_text("phase", device->phases[i].phase);
        emit_sums(&device->phases[i].sums);
        sc_emit_end('}');
    }
    sc_emit_end(']');
}

/* In which bucket how many shapes were asked for the first time. */
static void emit_new_shapes(const sc_html_lane *lane)
{
    const sc_device *device = lane->device;
    uint64_t *counts = sc_need(lane->steps.count * sizeof *counts);

    for (unsigned i = 0; i < device->shape_count; i++)
        counts[sc_html_steps_bucket(&lane->steps, device->shapes[i]->first_step)]++;
    sc_emit_u64s("new_shapes", counts, lane->steps.count);
    free(counts);
}

static void emit_figures(const sc_html_lane *lane)
{
    const sc_device *device = lane->device;
    uint64_t cap = sc_history_cap(lane->history, device);

    sc_emit_u64("dev", device->ordinal);
    if (device->total)
        sc_emit_u64("total", device->total);
    if (cap)
        sc_emit_u64("cap", cap);
    sc_emit_bool("is_complete", device->is_complete);
    sc_emit_u64("steps", device->steps);
    sc_emit_text("last_phase", device->last_phase);
    sc_emit_u64("fallbacks", device->fallbacks);
    sc_emit_u64("ooms", device->ooms);
    sc_emit_u64("refused", device->refused.count);
    sc_emit_u64("shapes_seen", device->shapes_seen);
    sc_emit_open("totals", '{');
    emit_sums(&device->all);
    sc_emit_end('}');
    emit_by_phase(device);
}

void sc_html_lane_emit(sc_html_lane *lane, const sc_html_room *room)
{
    sc_emit_text("label", lane->label);
    sc_emit_u64("rank", lane->history->rank);
    emit_figures(lane);
    if (!lane->is_full)
        return;
    emit_stretches(lane->device);
    emit_changes(lane->history, lane->device);
    sc_emit_open("series", '{');
    sc_html_steps_emit(&lane->steps);
    emit_new_shapes(lane);
    sc_emit_end('}');
    sc_emit_open("presence", '{');
    sc_html_presence_emit(&lane->presence);
    sc_emit_end('}');
    sc_html_events_emit(lane->events);
    sc_html_incidents_emit(lane->history, &lane->device->incidents);
    sc_emit_open("arena", '{');
    sc_html_arenas_emit(&lane->device->arenas, room->most);
    sc_emit_end('}');
    sc_emit_open("shapes", '{');
    sc_html_shapes_emit(lane->history, lane->device, room->shapes);
    sc_emit_end('}');
    sc_emit_open("sites", '{');
    sc_html_sites_emit(lane->history, lane->device, room->most);
    sc_emit_end('}');
}

void sc_html_lane_release(sc_html_lane *lane)
{
    sc_html_steps_release(&lane->steps);
    sc_html_presence_release(&lane->presence);
    if (lane->events)
        sc_html_events_release(lane->events);
    free(lane->events);
    lane->events = NULL;
}
