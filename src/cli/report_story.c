/* SPDX-License-Identifier: MIT */
#include "base/text.h"
#include "cli/command.h"
#include "cli/emit.h"
#include "cli/report.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD = 8, TAIL = 4, TEXT_BYTES = 4096 };

/* One line each: "warmup 0-3", "fixed 4-39", "fallback 40-59". In a long run the middle is left
 * out. */
static char *phases_of(const sc_device *device)
{
    unsigned most = device->change_count + 1;
    sc_stretch *all = sc_need(sizeof *all * most);
    unsigned count = sc_report_stretches(device, all, most);
    char *lines = sc_need(TEXT_BYTES);
    sc_text text = sc_text_over(lines, TEXT_BYTES);

    for (unsigned i = 0; i < count; i++) {
        if (i == HEAD && count > HEAD + TAIL) {
            i = count - TAIL;
            sc_text_string(&text, "...\n");
        }
        sc_text_string(&text, all[i].phase);
        if (all[i].is_open && !all[i].first) {
            sc_text_string(&text, ", no step ended\n");
            continue;
        }
        sc_text_char(&text, ' ');
        sc_text_u64(&text, all[i].first);
        if (all[i].is_open || all[i].last != all[i].first)
            sc_text_char(&text, '-');
        if (!all[i].is_open && all[i].last != all[i].first)
            sc_text_u64(&text, all[i].last);
        sc_text_char(&text, '\n');
    }
    sc_text_terminate(&text);
    free(all);
    return lines;
}

/* The lines side by side, broken between two of them. */
static void put_lines(const char *head, unsigned indent, const char *lines)
{
    unsigned column = (unsigned)strlen(head);

    sc_emit("%s", head);
    for (bool is_first = true; *lines; is_first = false) {
        unsigned length = (unsigned)strcspn(lines, "\n");

        if (!is_first && column + 2 + length > SC_EMIT_WIDTH) {
            sc_emit("\n%*s", (int)indent, "");
            column = indent;
        } else if (!is_first) {
            sc_emit("  ");
            column += 2;
        }
        sc_emit("%.*s", (int)length, lines);
        column += length;
        lines += length + 1;
    }
    sc_emit("\n");
}

/* A meaning of phase.def with the settings it names replaced by their values in this run. */
static void explain(sc_text *text, const char *meaning, const sc_history *history)
{
    static const struct {
        const char *word;
        int row;
    } settings[] = {{"WARMUP", SC_OPTION_warmup},
                    {"MAX_SHAPES", SC_OPTION_max_shapes},
                    {"MAX_AGE", SC_OPTION_max_age}};
    char value[SC_OPTION_TEXT_BYTES];

    while (*meaning) {
        size_t length = 1;

        for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
            size_t word = strlen(settings[i].word);

            if (strncmp(meaning, settings[i].word, word) != 0 || !history->is_told[settings[i].row])
                continue;
            sc_options_print(&history->options, settings[i].row, value, sizeof value);
            sc_text_string(text, value);
            length = 0;
            meaning += word;
        }
        sc_text_bytes(text, meaning, length);
        meaning += length;
    }
}

static void put_size(sc_text *text, uint64_t bytes)
{
    char count[32];

    sc_text_size(text, bytes);
    if (bytes < 1000)
        return; /* that was exact */
    sc_text_string(text, " (");
    sc_text_string(text, sc_emit_count(count, bytes));
    sc_text_string(text, " bytes)");
}

/* Why, and the request that brought it about. */
static void put_cause(sc_text *text, const sc_history *history, const sc_change *change)
{
    const char *meaning = sc_report_reason_meaning(change->reason);

    explain(text, meaning ? meaning : change->reason, history);
    if (change->has_shape) {
        sc_text_string(text, ", ");
        put_size(text, change->bytes);
        sc_text_string(text, ", shape ");
        sc_text_u64(text, change->shape);
        if (change->site) {
            sc_text_string(text, ", asked for at ");
            sc_text_string(text, sc_history_place(history, change->site));
        }
    }
    sc_text_char(text, '.');
}

/* Shapes first asked for from the change on until the next one, without the one that brought it
 * about, and when the last of them came: one new shape, or a set that goes on changing? */
static void put_followers(sc_text *text, const sc_lane *lane, unsigned index)
{
    const sc_device *device = lane->device;
    const sc_change *change = &device->changes[index];
    bool is_last = index + 1 == device->change_count && !device->changes_left_out;
    uint64_t end = is_last ? UINT64_MAX : device->changes[index + 1].step;
    uint64_t count = 0, last = change->step;

    for (unsigned i = 0; i < device->shape_count; i++) {
        const sc_shape *shape = device->shapes[i];

        if (shape->first_step < change->step || shape->first_step >= end ||
            (change->has_shape && shape->id == change->shape))
            continue;
        count++;
        last = shape->first_step > last ? shape->first_step : last;
    }
    if (count) {
        sc_text_char(text, ' ');
        sc_text_u64(text, count);
        sc_text_string(text, count == 1 ? " more new shape followed, at step "
                                        : " more new shapes followed, the last at step ");
        sc_text_u64(text, last);
        sc_text_char(text, '.');
    }
    if (is_last && device->is_complete)
        sc_text_string(text, sc_history_is_observed(lane->history)
                                 ? " It would not have cached again."
                                 : " It did not cache again.");
}

static void put_set(sc_text *text, const sc_lane *lane, unsigned index)
{
    const sc_device *device = lane->device;
    const sc_change *change = &device->changes[index];
    bool is_fallback = !strcmp(change->to, "fallback");

    if (!is_fallback && strcmp(change->to, "off") != 0) {
        if (!change->set_size)
            return;
        sc_text_string(text, " The set has ");
        sc_text_u64(text, change->set_size);
        sc_text_string(text, change->set_size == 1 ? " shape." : " shapes.");
        return;
    }
    if (sc_history_is_observed(lane->history)) {
        ; /* nothing was ever idle */
    } else if (change->idle_released) {
        sc_text_char(text, ' ');
        sc_text_size(text, change->idle_released);
        sc_text_string(text, " of idle buffers went back to the driver.");
    } else {
        sc_text_string(text, !strcmp(change->reason, "oom") ? " What was idle filled no page alone."
                                                            : " Nothing was idle.");
    }
    if (is_fallback)
        put_followers(text, lane, index);
}

/* The first time a phase is entered, what it means. */
static void put_phase(sc_text *text, const sc_lane *lane, unsigned index)
{
    const sc_device *device = lane->device;
    const char *phase = device->changes[index].to, *meaning = sc_report_phase_meaning(phase);

    for (unsigned i = 0; i < index; i++)
        if (!strcmp(device->changes[i].to, phase))
            return;
    if (!meaning)
        return;
    sc_text_string(text, sc_history_is_observed(lane->history)
                             ? " Nothing was cached, because of SHAPECACHE=observe; with "
                               "SHAPECACHE=on, from here on: "
                             : " From here on ");
    sc_text_string(text, meaning);
    sc_text_char(text, '.');
}

static void tell_change(const sc_lane *lane, unsigned index)
{
    const sc_change *change = &lane->device->changes[index];
    char head[128], what[TEXT_BYTES];
    sc_text text = sc_text_over(what, sizeof what);

    snprintf(head, sizeof head, "  step %-6llu ", (unsigned long long)change->step);
    sc_text_string(&text, change->from);
    sc_text_string(&text, " -> ");
    sc_text_string(&text, change->to);
    sc_text_string(&text, ": ");
    put_cause(&text, lane->history, change);
    put_set(&text, lane, index);
    put_phase(&text, lane, index);
    sc_emit_wrapped(head, (unsigned)strlen(head), sc_text_terminate(&text));
}

/* There were steps enough, and still no set. */
static void tell_never_fixed(const sc_lane *lane)
{
    if (!lane->device->shapes_seen || sc_history_is_observed(lane->history))
        return;
    sc_emit_wrapped("  ", 2,
                    "new shapes kept coming, so nothing was cached and nothing held beyond what "
                    "was live: each request was a driver allocation");
}

/* Why it never left warmup: too few steps, or what the line before tells of new shapes. */
static void tell_warmup(const sc_lane *lane)
{
    const sc_history *history = lane->history;
    uint64_t needed = history->options.warmup + 1;
    char text[512], steps[32], least[64];

    if (!history->is_told[SC_OPTION_warmup])
        snprintf(least, sizeof least, "SHAPECACHE_WARMUP + 1");
    else if (lane->device->steps < needed)
        snprintf(least, sizeof least, "%llu", (unsigned long long)needed);
    else {
        tell_never_fixed(lane);
        return;
    }
    snprintf(text, sizeof text, "%s step%s seen, %s needed%s",
             sc_emit_count(steps, lane->device->steps), lane->device->steps == 1 ? "" : "s", least,
             history->is_told[SC_OPTION_step] && history->options.step.choice != SC_STEP_AUTO
                 ? ""
                 : "; a step is inferred and is at least 8 requests: SHAPECACHE_STEP=requests:N or "
                   "shapecache_step() make it exact");
    sc_emit_wrapped("  ", 2, text);
}

/* No change at all: how far the set was from being fixed. */
static void tell_stay(const sc_lane *lane)
{
    const sc_device *device = lane->device;
    uint64_t last = 0;
    char text[256];

    for (unsigned i = 0; i < device->shape_count; i++)
        last = device->shapes[i]->first_step > last ? device->shapes[i]->first_step : last;
    snprintf(text, sizeof text,
             "it stayed in %s from the first step to the last: %llu shapes, the last new one at "
             "step %llu",
             device->first_phase[0] ? device->first_phase : "warmup",
             (unsigned long long)device->shapes_seen, (unsigned long long)last);
    sc_emit_wrapped("  ", 2, text);
    if (!strcmp(device->first_phase[0] ? device->first_phase : "warmup", "warmup"))
        tell_warmup(lane);
}

/* With one gate a call site, the changes above are of the device as a whole. */
static void tell_sites(const sc_history *history, const sc_sites *sites)
{
    const sc_site *first = NULL;
    unsigned fell = 0, fixed = 0;
    char what[TEXT_BYTES];
    sc_text text = sc_text_over(what, sizeof what);

    for (unsigned i = 0; i < sites->count; i++) {
        const sc_site *site = sites->at[i];

        fixed += !strcmp(site->phase, "fixed");
        if (!site->fallbacks)
            continue;
        fell++;
        if (!first || site->first_fallback < first->first_fallback)
            first = site;
    }
    sc_text_u64(&text, sites->count);
    sc_text_string(&text, sites->count == 1 ? " call site has a gate of its own. "
                                            : " call sites have a gate each. ");
    if (first) {
        sc_text_u64(&text, fell);
        sc_text_string(&text, " fell back, the first at step ");
        sc_text_u64(&text, first->first_fallback);
        sc_text_string(&text, ": ");
        sc_text_string(&text, sc_history_place(history, first->name));
        sc_text_string(&text, ". ");
    }
    sc_text_u64(&text, fixed);
    sc_text_string(&text, fixed == 1 ? " is fixed in the end." : " are fixed in the end.");
    sc_emit_wrapped("  ", 2, sc_text_terminate(&text));
}

static void tell_lane(const sc_lane *lane)
{
    const sc_device *device = lane->device;
    unsigned count = device->change_count;

    if (sc_report_is_passed_by(device))
        sc_report_passed_by(lane);
    else if (!count)
        tell_stay(lane);
    for (unsigned i = 0; i < count; i++) {
        if (i == HEAD && count > HEAD + TAIL) {
            i = count - TAIL;
            sc_emit("  ... %u more changes; --json has them\n", i - HEAD);
        }
        tell_change(lane, i);
    }
    if (device->changes_left_out)
        sc_emit("  ... and %llu later changes\n", (unsigned long long)device->changes_left_out);
    if (device->sites.count)
        tell_sites(lane->history, &device->sites);
    sc_report_capped(lane);
}

/* The labels of all lanes of this one's group: "rank 0, rank 1 and 6 more". */
static void label_group(const sc_report *report, char *const *phases, unsigned lane, char *out,
                        size_t bytes)
{
    enum { NAMED = 3 };
    sc_text text = sc_text_over(out, bytes);
    unsigned count = 0;
    char label[64];

    for (unsigned i = lane; i < report->lane_count; i++) {
        if (strcmp(phases[i], phases[lane]) != 0 || ++count > NAMED)
            continue;
        sc_report_label(report, i, label);
        sc_text_string(&text, count > 1 ? ", " : "");
        sc_text_string(&text, label);
    }
    if (count > NAMED) {
        sc_text_string(&text, " and ");
        sc_text_u64(&text, count - NAMED);
        sc_text_string(&text, " more");
    }
    sc_text_terminate(&text);
}

static bool is_first_of_group(char *const *phases, unsigned lane)
{
    for (unsigned i = 0; i < lane; i++)
        if (!strcmp(phases[i], phases[lane]))
            return false;
    return true;
}

/* Of every lane of this one's group: they agree in their phases, not in this. */
static void tell_incidents(const sc_report *report, char *const *phases, unsigned lane)
{
    char label[64];

    for (unsigned i = lane; i < report->lane_count; i++) {
        if (strcmp(phases[i], phases[lane]) != 0)
            continue;
        sc_report_label(report, i, label);
        const char *name = report->lane_count > 1 ? label : NULL;

        sc_report_refused(&report->lanes[i], name);
        sc_report_strict(&report->lanes[i], name);
    }
}

void sc_report_story(const sc_report *report)
{
    char **phases = sc_need(sizeof *phases * report->lane_count);
    unsigned groups = 0;
    char group[256];

    for (unsigned i = 0; i < report->lane_count; i++) {
        phases[i] = phases_of(report->lanes[i].device);
        groups += is_first_of_group(phases, i);
    }
    for (unsigned i = 0; i < report->lane_count; i++) {
        if (!is_first_of_group(phases, i))
            continue;
        label_group(report, phases, i, group, sizeof group);
        if (groups > 1)
            sc_emit_wrapped("phases    of ", 10, group);
        put_lines(groups > 1 ? "          " : "phases    ", 10, phases[i]);
    }
    for (unsigned i = 0; i < report->lane_count; i++) {
        if (!is_first_of_group(phases, i))
            continue;
        label_group(report, phases, i, group, sizeof group);
        sc_emit("\nwhat happened%s%s\n", groups > 1 ? ": " : "", groups > 1 ? group : "");
        tell_incidents(report, phases, i);
        tell_lane(&report->lanes[i]);
    }
    for (unsigned i = 0; i < report->lane_count; i++)
        free(phases[i]);
    free(phases);
}
