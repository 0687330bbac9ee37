/* SPDX-License-Identifier: MIT
 * What the report and `shapecache arena` say of pinned arenas. */
#include "cli/report_arenas.h"
#include "base/text.h"
#include "cli/emit.h"
#include <stdio.h>

enum { TEXT_BYTES = 1024 };

static void put_size(sc_table *table, uint64_t bytes)
{
    char cell[16];

    sc_table_cell(table, sc_emit_size(cell, bytes));
}

static void put_count(sc_table *table, uint64_t count)
{
    char cell[32];

    snprintf(cell, sizeof cell, "%llu", (unsigned long long)count);
    sc_table_cell(table, cell);
}

/* "0", of the third rank "3", of its second device "3.1". */
static void put_lane(sc_table *table, const sc_report *report, const sc_lane *lane)
{
    char cell[64];
    unsigned long long rank = lane->history->rank, device = lane->device->ordinal;

    if (report->history_count == 1)
        snprintf(cell, sizeof cell, "%llu", device);
    else if (lane->history->device_count == 1)
        snprintf(cell, sizeof cell, "%llu", rank);
    else
        snprintf(cell, sizeof cell, "%llu.%llu", rank, device);
    sc_table_cell(table, cell);
}

static void put_arena(sc_table *table, const sc_arena_row *arena)
{
    const sc_arena_figures *last = &arena->last;
    char cell[16];

    put_size(table, last->capacity);
    put_size(table, last->used_peak);
    put_count(table, last->tickets_peak);
    put_size(table, last->bytes_out);
    put_size(table, last->bytes_in);
    sc_table_cell(table, sc_emit_time(cell, last->wait_ns));
    put_count(table, last->errors);
    sc_table_cell(table, arena->name);
}

unsigned sc_report_arenas_table(const sc_report *report, unsigned most)
{
    sc_table table = {.titles = {report->history_count > 1 ? "rank" : "dev", "capacity", "high",
                                 "depth", "out", "back", "waited", "errors", "arena"},
                      .is_left = {[8] = true},
                      .columns = 9,
                      .gap = 2};
    unsigned count = 0;

    for (unsigned i = 0; i < report->lane_count; i++) {
        const sc_arenas *arenas = &report->lanes[i].device->arenas;

        for (unsigned k = 0; k < arenas->count; k++) {
            if (count++ >= most)
                continue;
            put_lane(&table, report, &report->lanes[i]);
            put_arena(&table, &arenas->at[k]);
        }
    }
    if (count)
        sc_table_print(&table);
    return count;
}

/* What a device was spared, or why that is not known. */
static void say_spared(sc_text *text, const sc_arenas *arenas)
{
    const uint64_t without = arenas->live_without;
    const char *word = arenas->spared_unknown, *why = sc_arenas_why_not(word);

    if (*word) {
        sc_text_string(text, "what the device was spared is not known: ");
        sc_text_string(text, why ? why : word);
        return;
    }
    sc_text_string(text, "spared ");
    sc_text_size(text, arenas->spared);
    sc_text_string(text, " at the peak: at most ");
    sc_text_size(text, without > arenas->spared ? without - arenas->spared : 0);
    sc_text_string(text, " were live, without arenas ");
    sc_text_size(text, without);
    sc_text_string(text, " would have been");
}

void sc_report_arenas_spared(const sc_report *report)
{
    char bytes[TEXT_BYTES], head[80], label[64];

    for (unsigned i = 0; i < report->lane_count; i++) {
        const sc_arenas *arenas = &report->lanes[i].device->arenas;
        sc_text text = sc_text_over(bytes, sizeof bytes);

        if (!arenas->is_spared_told)
            continue;
        sc_report_label(report, i, label);
        snprintf(head, sizeof head, report->lane_count > 1 ? "%s: " : "%.0s", label);
        say_spared(&text, arenas);
        sc_emit_wrapped(head, 2, sc_text_terminate(&text));
    }
}

void sc_report_arenas(const sc_report *report)
{
    unsigned count = 0;

    for (unsigned i = 0; i < report->lane_count; i++)
        count += report->lanes[i].device->arenas.count;
    if (!count)
        return;
    sc_emit("\npinned arenas, %u of %u\n", count < report->top ? count : report->top, count);
    (void)sc_report_arenas_table(report, report->top);
    sc_report_arenas_spared(report);
}
