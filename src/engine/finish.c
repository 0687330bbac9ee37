/* SPDX-License-Identifier: MIT
 * The end of the run: the last records, and what is said of it. */
#include "base/text.h"
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

void sc_engine_finish(void)
{
    static sc_cache_totals totals[SC_DEVICE_MOST]; /* finish runs once; stacks may be small */
    unsigned count = 0;

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
        sc_journal_end(&device->journal, &totals[count]);
        sc_unlock(&device->lock);
        count++;
    }
    sc_logbook_flush();
    sc_arenas_record();
    sc_logbook_close();
    if (sc_process_self.options.summary == SC_SUMMARY_LINE) {
        sc_summary_say(totals, count);
        sc_arenas_say();
    }
    sc_thread_self.is_inside = false;
}
