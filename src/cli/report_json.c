/* SPDX-License-Identifier: MIT */
#include "base/text.h"
#include "cli/emit.h"
#include "cli/outliers.h"
#include "cli/report.h"
#include <stdlib.h>

void sc_report_json_open(void)
{
    sc_emit_open(NULL, '{');
    sc_emit_u64("v", 1);
    sc_emit_open("runs", '[');
}

void sc_report_json_close(void)
{
    sc_emit_end(']');
    sc_emit_end('}');
}

static void sums(const sc_sums *sums)
{
#define SHOW(how, member, field) sc_emit_u64(sc_field_name(SC_F_##field), sums->member);
    SC_SUMS(SHOW)
#undef SHOW
}

static void stretches(const sc_device *device)
{
    unsigned most = device->change_count + 1;
    sc_stretch *all = calloc(most, sizeof *all);
    unsigned count = all ? sc_report_stretches(device, all, most) : 0;

    sc_emit_open("phases", '[');
    for (unsigned i = 0; i < count; i++) {
        sc_emit_open(NULL, '{');
        sc_emit_text("phase", all[i].phase);
        sc_emit_u64("first_step", all[i].first);
        if (!all[i].is_open)
            sc_emit_u64("last_step", all[i].last);
        sc_emit_end('}');
    }
    sc_emit_end(']');
    free(all);
}

static void changes(sc_symbols *symbols, const sc_device *device)
{
    sc_emit_open("changes", '[');
    for (unsigned i = 0; i < device->change_count; i++) {
        const sc_change *change = &device->changes[i];

        sc_emit_open(NULL, '{');
        sc_emit_u64("step", change->step);
        sc_emit_u64("t", change->t_ns);
        sc_emit_text("from", change->from);
        sc_emit_text("to", change->to);
        sc_emit_text("reason", change->reason);
        if (change->has_shape) {
            sc_emit_u64("shape", change->shape);
            sc_emit_u64("bytes", change->bytes);
        }
        sc_symbols_emit(symbols, change->site);
        sc_emit_u64("set_size", change->set_size);
        sc_emit_u64("idle_released", change->idle_released);
        sc_emit_end('}');
    }
    sc_emit_end(']');
    if (device->changes_left_out)
        sc_emit_u64("changes_left_out", device->changes_left_out);
}

static void by_phase(const sc_device *device)
{
    sc_emit_open("by_phase", '[');
    for (unsigned i = 0; i < device->phase_count; i++) {
        sc_emit_open(NULL, '{');
        sc_emit_text("phase", device->phases[i].phase);
        sc_emit_u64("step_rows", device->phases[i].sums.rows);
        sc_emit_u64("dur_ns", device->phases[i].sums.dur_ns);
        sums(&device->phases[i].sums);
        sc_emit_end('}');
    }
    sc_emit_end(']');
}

static void hint(const sc_hint *hint)
{
    if (hint->label[0])
        sc_emit_text("label", hint->label);
    if (!hint->count)
        return;
    sc_emit_open("dims", '[');
    for (unsigned i = 0; i < hint->count; i++)
        sc_emit_u64(NULL, hint->dims[i]);
    sc_emit_end(']');
}

static void shapes(sc_symbols *symbols, const sc_device *device, unsigned top)
{
    sc_emit_u64("shapes", device->shapes_seen);
    sc_emit_open("top_shapes", '[');
    for (unsigned i = 0; i < device->shape_count && i < top; i++) {
        const sc_shape *shape = device->shapes[i];

        sc_emit_open(NULL, '{');
        sc_emit_u64("id", shape->id);
        sc_emit_u64("bytes", shape->bytes);
        sc_symbols_emit(symbols, shape->site);
        hint(&shape->hint);
#define SHOW(member, field) sc_emit_u64(sc_field_name(SC_F_##field), shape->member);
        SC_SHAPE_COUNTS(SHOW)
#undef SHOW
        sc_emit_end('}');
    }
    sc_emit_end(']');
}

/* With one gate a call site. */
static void sites(sc_symbols *symbols, const sc_sites *sites, unsigned top)
{
    sc_emit_u64("sites", sites->count);
    sc_emit_open("top_sites", '[');
    for (unsigned i = 0; i < sites->count && i < top; i++) {
        const sc_site *site = sites->at[i];

        sc_emit_open(NULL, '{');
        sc_symbols_emit(symbols, site->name);
        sc_emit_text("phase", site->phase);
        sc_emit_u64("since", site->since);
        sc_emit_u64("fallbacks", site->fallbacks);
        sc_emit_u64("shapes", site->shapes);
        sc_emit_u64("requests", site->requests);
        sc_emit_u64("hits", site->hits);
        sc_emit_u64("misses", site->misses);
        sc_emit_end('}');
    }
    sc_emit_end(']');
}

static void one_device(const sc_history *history, const sc_device *device, unsigned top)
{
    uint64_t cap = sc_history_cap(history, device);

    sc_emit_open(NULL, '{');
    sc_emit_u64("dev", device->ordinal);
    if (device->total)
        sc_emit_u64("total", device->total);
    sc_emit_bool("is_complete", device->is_complete);
    sc_emit_u64("steps", device->steps);
    sc_emit_u64("step_rows", device->all.rows);
    sc_emit_text("last_phase", device->last_phase);
    sc_emit_u64("fallbacks", device->fallbacks);
    sc_emit_u64("ooms", device->ooms);
    sc_report_strict_json(history, device);
    if (cap)
        sc_emit_u64("cap", cap);
    sums(&device->all);
    stretches(device);
    changes(history->symbols, device);
    by_phase(device);
    if (device->sites.count)
        sites(history->symbols, &device->sites, top);
    shapes(history->symbols, device, top);
    sc_arenas_json(&device->arenas, false);
    sc_emit_end('}');
}

static void notes(const sc_history *history)
{
    sc_emit_open("notes", '[');
    for (unsigned i = 0; i < history->note_count; i++) {
        const sc_note *note = &history->notes[i];

        sc_emit_open(NULL, '{');
        if (note->has_step)
            sc_emit_u64("step", note->step);
        sc_emit_u64("t", note->t_ns);
        sc_emit_text("text", note->text);
        sc_emit_end('}');
    }
    sc_emit_end(']');
    if (history->notes_left_out)
        sc_emit_u64("notes_left_out", history->notes_left_out);
}

static void process(const sc_history *history, unsigned top)
{
    sc_emit_open(NULL, '{');
    sc_emit_text("log", history->path);
    sc_emit_text("build", history->build);
    sc_emit_u64("pid", history->pid);
    sc_emit_text("host", history->host);
    sc_emit_u64("rank", history->rank);
    sc_emit_u64("world", history->world);
    sc_emit_text("command", history->argv);
    sc_emit_text("settings", history->settings);
    sc_emit_u64("t0_unix_ns", history->t0_unix_ns);
    sc_emit_u64("duration_ns", history->duration_ns);
    sc_emit_bool("is_complete", sc_history_is_complete(history));
    sc_emit_bool("is_cut", history->is_cut);
    sc_emit_open("devices", '[');
    for (unsigned i = 0; i < history->device_count; i++)
        one_device(history, history->devices[i], top);
    sc_emit_end(']');
    notes(history);
    sc_emit_end('}');
}

/* Of one rank there is nothing to compare. */
static void outliers(const sc_report *report)
{
    sc_outliers odd;

    if (report->lane_count < 2)
        return;
    sc_outliers_find(&odd, report);
    sc_outliers_json(&odd, report);
    sc_outliers_release(&odd);
}

static void verdict(const sc_report *report)
{
    char sentence[1024];
    sc_text text = sc_text_over(sentence, sizeof sentence);

    sc_emit_open("verdict", '{');
    sc_emit_text("effective", sc_report_verdict(report, &text));
    sc_emit_text("text", sc_text_terminate(&text));
    sc_emit_end('}');
}

void sc_report_json(const sc_report *report)
{
    sc_emit_open(NULL, '{');
    sc_emit_text("run", report->histories[0]->run);
    verdict(report);
    sc_emit_open("processes", '[');
    for (unsigned i = 0; i < report->history_count; i++)
        process(report->histories[i], report->top);
    sc_emit_end(']');
    outliers(report);
    sc_emit_end('}');
}
