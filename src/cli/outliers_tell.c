/* SPDX-License-Identifier: MIT */
#include "cli/emit.h"
#include "cli/outliers.h"
#include <stdio.h>

void sc_outliers_tell(const sc_outliers *all, const sc_report *report, unsigned most)
{
    char label[64], head[80];

    if (all->missing)
        sc_emit_wrapped("  no log of rank ", 10, all->missing);
    if (all->general)
        sc_emit_wrapped("  ", 2, all->general);
    for (unsigned i = 0; i < all->count && i < most; i++) {
        bool is_first = !i || all->at[i - 1].lane != all->at[i].lane;

        sc_report_label(report, all->at[i].lane, label);
        snprintf(head, sizeof head, "  %-8s  ", is_first ? label : "");
        sc_emit_wrapped(head, 12, all->at[i].text);
    }
    if (all->count > most)
        sc_emit("  ... and %u more; shapecache ranks has them\n", all->count - most);
}

void sc_outliers_json(const sc_outliers *all, const sc_report *report)
{
    if (all->missing)
        sc_emit_text("ranks_without_log", all->missing);
    if (all->general)
        sc_emit_text("most_differ", all->general);
    sc_emit_open("outliers", '[');
    for (unsigned i = 0; i < all->count; i++) {
        const sc_outlier *one = &all->at[i];
        const sc_lane *lane = &report->lanes[one->lane];

        sc_emit_open(NULL, '{');
        sc_emit_u64("rank", lane->history->rank);
        sc_emit_u64("pid", lane->history->pid);
        sc_emit_u64("dev", lane->device->ordinal);
        sc_emit_text("what", one->what);
        if (one->value != SC_MISSING)
            sc_emit_u64("value", one->value);
        if (one->usual != SC_MISSING)
            sc_emit_u64("usual", one->usual);
        sc_emit_text("text", one->text);
        sc_emit_end('}');
    }
    sc_emit_end(']');
}
