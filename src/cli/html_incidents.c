/* SPDX-License-Identifier: MIT
 * html_incidents.c - where the memory was when the driver had none left, for the page. */
#include "cli/emit.h"
#include "cli/html_lane.h"

enum { SHOWN_MOST = 24 };

static void emit_rows(const char *name, const sc_oom_rows *rows)
{
    if (!rows->is_told)
        return;
    sc_emit_open(name, '[');
    for (unsigned i = 0; i < rows->count; i++) {
        const uint64_t values[] = {rows->at[i].shape, rows->at[i].bytes, rows->at[i].third,
                                   rows->at[i].fourth};

        sc_emit_u64s(NULL, values, sizeof values / sizeof *values);
    }
    sc_emit_end(']');
}

static void emit_one(const sc_history *history, const sc_oom *oom)
{
    sc_emit_open(NULL, '{');
    sc_emit_u64("step", oom->step);
    sc_emit_u64("bytes", oom->bytes);
    sc_emit_text("answer", sc_oom_answer_word(sc_oom_answered(oom)));
    sc_html_emit_text("site", sc_history_place(history, oom->site));
    sc_html_emit_text("phase", oom->phase);
    sc_html_emit_text("verdict", oom->verdict);
    sc_html_emit_text("advice", oom->advice);
#define SHOW(member, field)                                                                        \
    if (oom->member != SC_UNTOLD)                                                                  \
        sc_emit_u64(sc_field_name(SC_F_##field), oom->member);
    SC_OOM_FIGURES(SHOW)
#undef SHOW
    emit_rows("holders", &oom->holders);
    emit_rows("changed", &oom->changed);
    sc_emit_end('}');
}

void sc_html_incidents_emit(const sc_history *history, const sc_incidents *incidents)
{
    unsigned first = incidents->oom_count > SHOWN_MOST ? incidents->oom_count - SHOWN_MOST : 0;

    sc_emit_open("incidents", '[');
    for (unsigned i = first; i < incidents->oom_count; i++)
        emit_one(history, &incidents->ooms[i]);
    sc_emit_end(']');
    sc_emit_u64("incidents_left_out", first + incidents->ooms_left_out);
}
