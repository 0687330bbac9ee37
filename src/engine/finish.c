/* SPDX-License-Identifier: MIT
 * The end of the run: the last records, and what is said of it. */
#include "base/text.h"
#include "cache/away.h"
#include "engine/arena_call.h"
#include "engine/device.h"
#include "engine/engine.h"
#include "engine/logbook.h"
#include "engine/process.h"
#include "engine/summary.h"
#include "engine/thread.h"

static void warn_of_dropped(void)
{
    char bytes[128];
    sc_text text = sc_text_over(bytes, sizeof bytes);
    uint64_t rows = 0;

    for (sc_device *device = sc_device_next(NULL); device; device = sc_device_next(device)) {
        sc_lock(&device->lock);
        rows += device->journal.outbox.dropped;
        sc_unlock(&device->lock);
    }
    if (!rows)
        return;
    sc_text_u64(&text, rows);
    sc_text_string(&text,
                   " records came faster than they could be written and are missing in the log");
    sc_logbook_warn(sc_text_terminate(&text));
}

/* The last one is the last of all devices. */
static void add_refusals(sc_refusals *all, const sc_refusals *one)
{
    uint64_t count = all->count + one->count;

    if (one->count && (!all->count || one->last_ns > all->last_ns))
        *all = *one;
    all->count = count;
}

static void add_fallback(sc_fallback *last, const sc_fallback *one)
{
    if (one->is_there && (!last->is_there || one->ns > last->ns))
        *last = *one;
}

void sc_engine_finish(void)
{
    static sc_cache_totals totals[SC_DEVICE_MOST]; /* finish runs once; stacks may be small */
    sc_refusals refusals = {.count = 0};
    sc_fallback fallback = {.is_there = false};
    unsigned count = 0;
    sc_spared spared;

    /* exit() was called from a signal handler while this thread holds a lock of ours */
    if (sc_thread_self.locks || !sc_process_end())
        return;
    sc_thread_self.is_inside = true;
    sc_logbook_flush_all();
    warn_of_dropped();
    sc_summary_warn();
    for (sc_device *device = sc_device_next(NULL); device; device = sc_device_next(device)) {
        sc_lock(&device->lock);
        sc_cache_read_totals(device->cache, &totals[count]);
        sc_cache_read_spared(device->cache, &spared);
        sc_journal_end(&device->journal, &totals[count], &spared, sc_oom_is_unrecovered(device));
        add_refusals(&refusals, &device->journal.refusals);
        add_fallback(&fallback, &device->journal.fallback);
        sc_unlock(&device->lock);
        count++;
    }
    sc_logbook_flush();
    sc_arenas_record();
    sc_logbook_close();
    for (sc_device *device = sc_device_next(NULL); device; device = sc_device_next(device))
        sc_oom_finish(device);
    if (sc_process_self.options.summary != SC_SUMMARY_OFF) {
        sc_summary_say(totals, count, &refusals, &fallback);
        sc_arenas_say();
    }
    sc_thread_self.is_inside = false;
}
