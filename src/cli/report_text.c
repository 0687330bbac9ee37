/* SPDX-License-Identifier: MIT */
#include "base/text.h"
#include "cli/emit.h"
#include "cli/report_arenas.h"
#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 1024, NAMED = 4 };

void sc_report_label(const sc_report *report, unsigned lane, char out[64])
{
    const sc_lane *one = &report->lanes[lane];
    sc_text text = sc_text_over(out, 64);
    bool is_shared = false;

    for (unsigned i = 0; i < report->history_count; i++)
        is_shared = is_shared || (report->histories[i] != one->history &&
                                  report->histories[i]->rank == one->history->rank);
    sc_text_string(&text, "rank ");
    sc_text_u64(&text, one->history->rank);
    if (is_shared) {
        sc_text_string(&text, " pid ");
        sc_text_u64(&text, one->history->pid);
    }
    if (one->history->device_count > 1) {
        sc_text_string(&text, " dev ");
        sc_text_u64(&text, one->device->ordinal);
    }
    sc_text_terminate(&text);
}

/* 2025-11-29 19:30:12 is what the run's name usually starts with; the log has the rest. */
static void tell_where(const sc_report *report)
{
    const sc_history *first = report->histories[0];
    char took[16], steps[32];
    uint64_t longest = 0, most = 0;

    for (unsigned i = 0; i < report->history_count; i++) {
        uint64_t took_ns = report->histories[i]->duration_ns;

        longest = took_ns > longest ? took_ns : longest;
    }
    for (unsigned i = 0; i < report->lane_count; i++) {
        uint64_t count = report->lanes[i].device->steps;

        most = count > most ? count : most;
    }
    sc_emit("run       %s\n", *first->run ? first->run : "(unnamed)");
    sc_emit_wrapped("program   ", 10, *first->argv ? first->argv : "(not told)");
    if (report->history_count == 1)
        sc_emit("process   rank %llu of %llu, pid %llu on %s\n", (unsigned long long)first->rank,
                (unsigned long long)first->world, (unsigned long long)first->pid, first->host);
    else
        sc_emit("processes %u, of a world of %llu\n", report->history_count,
                (unsigned long long)first->world);
    sc_emit("took      %s steps in %s\n", sc_emit_count(steps, most), sc_emit_time(took, longest));
    if (*first->settings)
        sc_emit_wrapped("settings  ", 10, first->settings);
}

/* Was it effective? In one sentence, before all else. */
static void tell_verdict(const sc_report *report)
{
    char sentence[TEXT_BYTES], head[32];
    sc_text text = sc_text_over(sentence, sizeof sentence);
    const char *grade = sc_report_verdict(report, &text);

    if (strcmp(grade, "none") != 0)
        snprintf(head, sizeof head, "effective %s: ", grade);
    else
        snprintf(head, sizeof head, "effective ");
    sc_emit_wrapped(head, 10, sc_text_terminate(&text));
}

/* What a step cost in each phase: the plainest answer to "what did it do for me?" */
static void tell_phases(const sc_lane *lane)
{
    const sc_device *device = lane->device;
    sc_table table = {.titles = {"phase", "steps", "took", "requests", "hits", "driver calls",
                                 "in them", "peak held"},
                      .is_left = {true},
                      .columns = 8,
                      .gap = 2};
    bool has_late_hits = false;
    char cell[32];

    for (unsigned i = 0; i < device->phase_count; i++) {
        const sc_sums *sums = &device->phases[i].sums;
        uint64_t rows = sums->rows, calls = sums->driver_allocs + sums->driver_frees;

        has_late_hits =
            has_late_hits || (sums->hits && !strcmp(device->phases[i].phase, "fallback"));
        sc_table_cell(&table, device->phases[i].phase);
        sc_table_cell(&table, sc_emit_count(cell, rows));
        sc_table_cell(&table, sc_emit_time(cell, sums->dur_ns / rows));
        snprintf(cell, sizeof cell, "%.1f", (double)sums->requests / (double)rows);
        sc_table_cell(&table, cell);
        sc_table_cell(&table, sums->hits ? sc_emit_percent(cell, sums->hits, sums->requests) : "-");
        snprintf(cell, sizeof cell, "%.1f", (double)calls / (double)rows);
        sc_table_cell(&table, cell);
        sc_table_cell(&table, sc_emit_time(cell, sums->driver_ns / rows));
        sc_table_cell(&table, sc_emit_size(cell, sums->held_peak));
    }
    if (device->phase_count) {
        sc_emit("\na step, by the phase in which it ended\n");
        sc_table_print(&table);
        if (has_late_hits)
            sc_emit_wrapped("", 0,
                            "Hits in fallback: the step in which the phase changed counts under "
                            "the new phase.");
    }
}

/* "weights 16x512", or where it was asked for; the line has room for one of them. */
static const char *what_or_where(char out[TEXT_BYTES], const sc_history *history,
                                 const sc_shape *shape)
{
    sc_text text = sc_text_over(out, TEXT_BYTES);
    const sc_hint *hint = &shape->hint;

    sc_text_string(&text, hint->label);
    if (hint->label[0] && hint->count)
        sc_text_char(&text, ' ');
    sc_hint_dims(hint, &text);
    if (!text.used)
        sc_text_string(&text, shape->site ? sc_history_place(history, shape->site) : "");
    return sc_text_terminate(&text);
}

static void tell_shapes(const sc_report *report, unsigned lane)
{
    const sc_device *device = report->lanes[lane].device;
    sc_table table = {.titles = {"shape", "bytes", "high", "live", "idle", "requests", "hits",
                                 "misses", "steps", "site"},
                      .is_left = {[9] = true},
                      .columns = 10,
                      .gap = 1};
    unsigned shown = device->shape_count < report->top ? device->shape_count : report->top;
    char label[64], cell[64], what[TEXT_BYTES];

    if (!shown)
        return;
    sc_report_label(report, lane, label);
    sc_emit("\nshapes by high-water bytes, %u of %llu", shown,
            (unsigned long long)device->shapes_seen);
    sc_emit(report->lane_count > 1 ? " (%s)\n" : "\n", label);
    for (unsigned i = 0; i < shown; i++) {
        const sc_shape *shape = device->shapes[i];
        const uint64_t numbers[] = {shape->high,     shape->live, shape->idle,
                                    shape->requests, shape->hits, shape->misses};

        snprintf(cell, sizeof cell, "%llu", (unsigned long long)shape->id);
        sc_table_cell(&table, cell);
        sc_table_cell(&table, sc_emit_size(cell, shape->bytes));
        for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++) {
            snprintf(cell, sizeof cell, "%llu", (unsigned long long)numbers[n]);
            sc_table_cell(&table, cell);
        }
        snprintf(cell, sizeof cell, "%llu-%llu", (unsigned long long)shape->first_step,
                 (unsigned long long)shape->last_step);
        sc_table_cell(&table, cell);
        sc_table_cell(&table, what_or_where(what, report->lanes[lane].history, shape));
    }
    sc_table_print(&table);
    if (device->shapes_left_out)
        sc_emit("more shapes than this tool keeps: %llu rows left out\n",
                (unsigned long long)device->shapes_left_out);
}

static void tell_sites(const sc_report *report, unsigned lane)
{
    const sc_sites *sites = &report->lanes[lane].device->sites;
    sc_table table = {
        .titles = {"phase", "since", "fallbacks", "shapes", "requests", "hits", "site"},
        .is_left = {[0] = true, [6] = true},
        .columns = 7,
        .gap = 2};
    unsigned shown = sites->count < report->top ? sites->count : report->top;
    char label[64], cell[64], percent[16];

    if (!shown)
        return;
    sc_report_label(report, lane, label);
    sc_emit("\ncall sites by requests, %u of %u", shown, sites->count);
    sc_emit(report->lane_count > 1 ? " (%s)\n" : "\n", label);
    for (unsigned i = 0; i < shown; i++) {
        const sc_site *site = sites->at[i];
        const uint64_t numbers[] = {site->since, site->fallbacks, site->shapes, site->requests};

        sc_table_cell(&table, site->phase);
        for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++) {
            snprintf(cell, sizeof cell, "%llu", (unsigned long long)numbers[n]);
            sc_table_cell(&table, cell);
        }
        sc_table_cell(&table, sc_emit_percent(percent, site->hits, site->requests));
        sc_table_cell(&table, sc_history_place(report->lanes[lane].history, site->name));
    }
    sc_table_print(&table);
    if (sites->left_out)
        sc_emit("more call sites than this tool keeps: %llu changes left out\n",
                (unsigned long long)sites->left_out);
}

/* Processes that note the same, from this one on; 0 when an earlier one did. */
static unsigned processes_noting(const sc_report *report, unsigned process, const char *text)
{
    unsigned count = 0;

    for (unsigned i = 0; i < report->history_count; i++) {
        const sc_history *history = report->histories[i];
        unsigned at = 0;

        while (at < history->note_count && strcmp(history->notes[at].text, text) != 0)
            at++;
        if (at == history->note_count)
            continue;
        if (i < process)
            return 0;
        count++;
    }
    return count;
}

/* The story begins with it. */
static bool is_told(const sc_report *report, const sc_note *note)
{
    return report->lane_count == 1 && sc_report_is_passed_by(report->lanes[0].device) &&
           note == sc_report_hoarder(report->lanes[0].history);
}

static void tell_note(const sc_report *report, unsigned process, const sc_note *note)
{
    unsigned count = processes_noting(report, process, note->text);
    char head[64];

    if (!count || is_told(report, note))
        return;
    if (note->has_step)
        snprintf(head, sizeof head, "  step %-6llu ", (unsigned long long)note->step);
    else
        snprintf(head, sizeof head, "  ");
    sc_emit_wrapped(head, (unsigned)strlen(head), note->text);
    if (report->history_count > 1)
        sc_emit("  %*s(rank %llu%s)\n", (int)strlen(head) - 2, "",
                (unsigned long long)report->histories[process]->rank,
                count > 1 ? " and others" : "");
}

static void tell_notes(const sc_report *report)
{
    bool is_first = true;

    for (unsigned i = 0; i < report->history_count; i++) {
        const sc_history *history = report->histories[i];

        if (history->note_count > (is_told(report, &history->notes[0]) ? 1U : 0U) && is_first) {
            sc_emit("\nworth knowing\n");
            is_first = false;
        }
        for (unsigned n = 0; n < history->note_count; n++)
            tell_note(report, i, &history->notes[n]);
        if (history->notes_left_out)
            sc_emit("  ... and %llu more of rank %llu\n",
                    (unsigned long long)history->notes_left_out, (unsigned long long)history->rank);
    }
}

/* Up to which step it is told, and whether steps without a row make its sums too low. */
static uint64_t last_of(const sc_history *history, bool *has_gaps)
{
    uint64_t last = 0;

    for (unsigned i = 0; i < history->device_count; i++) {
        const sc_device *device = history->devices[i];

        last = device->steps > last ? device->steps - 1 : last;
        *has_gaps = *has_gaps || (!device->is_complete && device->all.rows < device->steps);
    }
    return last;
}

static void tell_end(const sc_history *first, unsigned count, const char *steps, bool has_gaps)
{
    char text[2 * TEXT_BYTES];

    if (count == 1)
        snprintf(text, sizeof text,
                 "%.300s has no end: the program was killed or still runs. What follows is told "
                 "from its step rows, %s.%s",
                 first->path, steps,
                 has_gaps ? " Not every step has a row, so sums are too low." : "");
    else
        snprintf(text, sizeof text,
                 "%u logs have no end: the program was killed or still runs. What follows is told "
                 "from their step rows, %s%s.%s",
                 count, steps, count > NAMED ? ", ..." : "",
                 has_gaps ? " Not every step has a row, so sums are too low." : "");
    sc_emit_wrapped("note      ", 10, text);
}

/* What the reader must know before believing the figures: logs without an end. */
static void tell_ends(const sc_report *report)
{
    char bytes[TEXT_BYTES];
    sc_text text = sc_text_over(bytes, sizeof bytes);
    const sc_history *first = NULL;
    unsigned count = 0;
    bool has_gaps = false;

    for (unsigned i = 0; i < report->history_count; i++) {
        const sc_history *history = report->histories[i];

        if (sc_history_is_complete(history))
            continue;
        first = first ? first : history;
        uint64_t last = last_of(history, &has_gaps);

        if (++count > NAMED)
            continue;
        sc_text_string(&text, count > 1 ? ", " : "");
        if (report->history_count > 1) {
            sc_text_string(&text, "rank ");
            sc_text_u64(&text, history->rank);
            sc_text_char(&text, ' ');
        }
        sc_text_string(&text, "up to step ");
        sc_text_u64(&text, last);
    }
    if (count)
        tell_end(first, count, sc_text_terminate(&text), has_gaps);
}

static void tell_state(const sc_report *report)
{
    bool is_observed = false, is_cut = false;

    tell_ends(report);
    for (unsigned i = 0; i < report->history_count; i++) {
        is_observed = is_observed || sc_history_is_observed(report->histories[i]);
        is_cut = is_cut || report->histories[i]->is_cut;
    }
    if (is_observed)
        sc_emit_wrapped("note      ", 10,
                        "With SHAPECACHE=observe nothing is cached: no buffer was parked and no "
                        "request served. The phases are those the cache would have gone through.");
    if (is_cut)
        sc_emit_wrapped("note      ", 10,
                        report->history_count > 1
                            ? "The last line of a log was cut short and is left out."
                            : "The last line was cut short and is left out.");
}

void sc_report_text(const sc_report *report)
{
    tell_where(report);
    tell_state(report);
    if (!report->lane_count) {
        sc_emit("nothing was allocated on any device\n");
        return;
    }
    tell_verdict(report);
    sc_report_story(report);
    sc_report_figures(report);
    tell_phases(&report->lanes[0]);
    tell_sites(report, 0);
    tell_shapes(report, 0);
    sc_report_arenas(report);
    tell_notes(report);
}
