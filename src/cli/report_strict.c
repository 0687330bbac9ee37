/* SPDX-License-Identifier: MIT
 * report_strict.c - what SHAPECACHE_STRICT minds: driver allocations of a settled cache. */
#include "base/text.h"
#include "cli/command.h"
#include "cli/emit.h"
#include "cli/report.h"
#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 2048, ROWS = 8 };

/* "12 driver allocations in phase fixed that a settled cache should have served" */
static void put_count(sc_text *text, const sc_device *device)
{
    uint64_t strict = device->incidents.strict;
    char count[32];

    sc_text_string(text, device->is_complete ? "" : "at least ");
    sc_text_string(text, sc_emit_count(count, strict));
    sc_text_string(text, strict == 1 ? " driver allocation" : " driver allocations");
    sc_text_string(text, " in phase fixed that a settled cache should have served");
}

static void tell_row(const sc_history *history, const sc_lapse_row *row)
{
    const char *meaning = sc_lapse_meaning(row->word);
    char head[64], bytes[TEXT_BYTES], size[16];
    sc_text text = sc_text_over(bytes, sizeof bytes);

    snprintf(head, sizeof head, "  step %-6llu ", (unsigned long long)row->step);
    sc_text_string(&text, sc_emit_size(size, row->bytes));
    sc_text_string(&text, ", shape ");
    sc_text_u64(&text, row->shape);
    if (row->site) {
        sc_text_string(&text, ", asked for at ");
        sc_text_string(&text, sc_history_place(history, row->site));
    }
    sc_text_string(&text, ": ");
    sc_text_string(&text, meaning ? meaning : row->word);
    sc_text_char(&text, '.');
    sc_emit_wrapped(head, (unsigned)strlen(head), sc_text_terminate(&text));
}

void sc_report_strict(const sc_lane *lane, const char *label)
{
    const sc_incidents *all = &lane->device->incidents;
    char bytes[TEXT_BYTES];
    sc_text text = sc_text_over(bytes, sizeof bytes);

    if (!all->strict)
        return;
    if (label) {
        sc_text_string(&text, label);
        sc_text_string(&text, ": ");
    }
    put_count(&text, lane->device);
    sc_text_string(&text, " (SHAPECACHE_STRICT), the first of each shape:");
    sc_emit_wrapped("  ", 2, sc_text_terminate(&text));
    for (unsigned i = 0; i < all->lapse_count && i < ROWS; i++)
        tell_row(lane->history, &all->lapses[i]);
    if (all->lapse_count > ROWS)
        sc_emit("  ... and %u more shapes; --json has them\n", all->lapse_count - ROWS);
}

void sc_report_strict_json(const sc_history *history, const sc_device *device)
{
    const sc_incidents *all = &device->incidents;

    if (!all->is_strict_told)
        return;
    sc_emit_u64(sc_field_name(SC_F_STRICT), all->strict);
    sc_emit_open("strict_shapes", '[');
    for (unsigned i = 0; i < all->lapse_count; i++) {
        sc_emit_open(NULL, '{');
        sc_emit_u64("step", all->lapses[i].step);
        sc_emit_u64("shape", all->lapses[i].shape);
        sc_emit_u64("bytes", all->lapses[i].bytes);
        sc_symbols_emit(history->symbols, all->lapses[i].site);
        sc_emit_text("lapse", all->lapses[i].word);
        sc_emit_end('}');
    }
    sc_emit_end(']');
}

/* "shape 15, 1.82 MiB, at step 9 from train+0x6d0c" */
static void put_first(sc_text *text, const sc_lane *lane)
{
    const sc_incidents *all = &lane->device->incidents;
    const sc_lapse_row *row = all->lapses;
    char size[16];

    if (!all->lapse_count)
        return;
    sc_text_string(text, ", the first of shape ");
    sc_text_u64(text, row->shape);
    sc_text_string(text, ", ");
    sc_text_string(text, sc_emit_size(size, row->bytes));
    sc_text_string(text, ", at step ");
    sc_text_u64(text, row->step);
    if (row->site) {
        sc_text_string(text, " from ");
        sc_text_string(text, sc_history_place(lane->history, row->site));
    }
}

bool sc_report_strict_trips(const sc_report *report)
{
    bool is_tripped = false;

    for (unsigned i = 0; i < report->lane_count; i++) {
        const sc_device *device = report->lanes[i].device;
        char label[64], bytes[TEXT_BYTES];
        sc_text text = sc_text_over(bytes, sizeof bytes);

        if (!device->incidents.strict)
            continue;
        is_tripped = true;
        sc_report_label(report, i, label);
        put_count(&text, device);
        put_first(&text, &report->lanes[i]);
        sc_say("report: SHAPECACHE_STRICT: %s: %s", label, sc_text_terminate(&text));
    }
    return is_tripped;
}
