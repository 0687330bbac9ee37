/* SPDX-License-Identifier: MIT
 * report_causes.c - what a reader must know before the changes of phase: why nothing was cached. */
#include "base/text.h"
#include "cli/emit.h"
#include "cli/report.h"
#include "log/record.h"
#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 2048 };
enum { OVERHEAD_MOST = 10000 }; /* percent, as SHAPECACHE_OVERHEAD has it */

bool sc_report_is_passed_by(const sc_device *device)
{
    const sc_sums *all = &device->all;

    return all->requests && all->bypassed == all->requests && !device->shape_count &&
           !device->shapes_seen && !all->held_peak;
}

const sc_note *sc_report_hoarder(const sc_history *history)
{
    for (unsigned i = 0; i < history->note_count; i++)
        if (!strncmp(history->notes[i].text, SC_WARN_HOARDER, strlen(SC_WARN_HOARDER)))
            return &history->notes[i];
    return NULL;
}

void sc_report_passed_by(const sc_lane *lane)
{
    const sc_note *note = sc_report_hoarder(lane->history);
    char text[TEXT_BYTES], count[32];
    uint64_t requests = lane->device->all.bypassed;

    snprintf(text, sizeof text, "%s request%s, and all passed the cache by%s%.1900s",
             sc_emit_count(count, requests), requests == 1 ? "" : "s",
             note ? ". " : ": none was of a shape to cache", note ? note->text : "");
    sc_emit_wrapped("  ", 2, text);
}

/* Why, who had the memory, and what may help: where the log has it. */
static void explain(sc_text *text, const sc_lane *lane, const sc_oom *oom)
{
    const sc_allocator_said *said = &lane->device->incidents.allocator;
    const sc_oom_row *most = oom->holders.count ? &oom->holders.at[0] : NULL;
    char size[16];

    sc_text_string(text, " Why: ");
    sc_text_string(text, oom->verdict);
    if (oom->idle != SC_UNTOLD && oom->idle) {
        sc_text_string(text, "; ");
        sc_text_string(text, sc_emit_size(size, oom->idle));
        sc_text_string(text, " lay idle in the cache");
    }
    if (most) {
        sc_text_string(text, "; most of what was live, ");
        sc_text_string(text, sc_emit_size(size, most->fourth));
        sc_text_string(text, ", was in ");
        sc_text_u64(text, most->third);
        sc_text_string(text, " x ");
        sc_text_string(text, sc_emit_size(size, most->bytes));
        const char *name = sc_history_shape_name(lane->history, lane->device, most->shape);

        sc_text_string(text, name ? " from " : "");
        sc_text_string(text, name ? name : "");
    }
    if (said->is_told) {
        sc_text_string(text, "; PyTorch's allocator held ");
        sc_text_string(text, sc_emit_size(size, said->reserved));
        sc_text_string(text, ", of which tensors used ");
        sc_text_string(text, sc_emit_size(size, said->allocated));
    }
    sc_text_char(text, '.');
    const char *advice = said->advice ? said->advice : oom->advice;

    if (advice) {
        sc_text_string(text, " Try: ");
        sc_text_string(text, advice);
        sc_text_char(text, '.');
    }
    sc_text_string(text, " shapecache oom tells it in full.");
}

void sc_report_refused(const sc_lane *lane, const char *label)
{
    const sc_refused *refused = &lane->device->refused;
    char bytes[TEXT_BYTES], count[32], size[16];
    sc_text text = sc_text_over(bytes, sizeof bytes);

    if (!refused->count)
        return;
    if (label) {
        sc_text_string(&text, label);
        sc_text_string(&text, ": ");
    }
    sc_text_string(&text, sc_emit_count(count, refused->count));
    sc_text_string(&text, refused->count == 1
                              ? " out-of-memory answer reached the program, at step "
                              : " out-of-memory answers reached the program, the last at step ");
    sc_text_u64(&text, refused->step);
    sc_text_string(&text, ", for ");
    sc_text_string(&text, refused->bytes ? sc_emit_size(size, refused->bytes)
                                         : "an allocation of another kind");
    if (refused->site) {
        sc_text_string(&text, ", asked for at ");
        sc_text_string(&text, sc_history_place(lane->history, refused->site));
    }
    sc_text_char(&text, '.');
    const sc_oom *last = sc_incidents_last_refused(&lane->device->incidents);

    if (last && last->verdict)
        explain(&text, lane, last);
    sc_emit_wrapped("  ", 2, sc_text_terminate(&text));
}

/* Evictions make room under the cap, but also under SHAPECACHE_LIMIT, and where the driver was
 * short of memory: then less was held than the overhead alone would have allowed. */
static bool is_capped_by_overhead(const sc_lane *lane, const sc_sums *fixed)
{
    const sc_history *history = lane->history;
    uint64_t cap = sc_history_cap(history, lane->device), live = lane->device->all.live_peak;
    double factor = 1 + (double)history->options.overhead / 100;

    return cap && (double)cap >= (double)live * factor * 0.999 &&
           (double)fixed->held_peak >= (double)fixed->live_peak * factor * 0.875;
}

void sc_report_capped(const sc_lane *lane)
{
    const sc_sums *fixed = sc_report_fixed(lane->device);
    uint64_t overhead = lane->history->options.overhead, more = overhead < 50 ? 50 : 2 * overhead;
    uint64_t whole = 1 + overhead / 100, hundredths = overhead % 100;
    char text[TEXT_BYTES], count[32];

    if (!fixed || !fixed->requests || more > OVERHEAD_MOST ||
        (double)fixed->evicted <= (double)fixed->requests * 0.05 ||
        (double)fixed->hits >= (double)fixed->requests * 0.97 ||
        !is_capped_by_overhead(lane, fixed))
        return;
    snprintf(text, sizeof text,
             "In phase fixed the cap (%llu.%02llu x peak) evicted %s buffers, which later requests "
             "had to get from the driver; SHAPECACHE_OVERHEAD=%llu%% would let it keep more.",
             (unsigned long long)whole, (unsigned long long)hundredths,
             sc_emit_count(count, fixed->evicted), (unsigned long long)more);
    sc_emit_wrapped("  ", 2, text);
}
