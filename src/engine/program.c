/* SPDX-License-Identifier: MIT
 * What a program that knows of the cache tells it and asks of it: the part of engine.h that api.c
 * and the Python package stand on. Nothing here starts the cache. */
#include "engine/device.h"
#include "engine/engine.h"
#include "engine/gift.h"
#include "engine/logbook.h"
#include "engine/memory.h"
#include "engine/process.h"
#include "engine/region.h"
#include "engine/serve.h"
#include "engine/thread.h"
#include "engine/visit.h"
#include "shapecache/shapecache.h"
#include <errno.h>

/* The device that the program means, -1 being the current one. */
static int find_device(int ordinal, sc_device **device)
{
    sc_context context = 0;

    if (ordinal == -1) {
        *device = sc_device_current_known(&context);
        if (!context)
            return SHAPECACHE_EDEVICE;
    } else {
        if (ordinal < 0 || ordinal >= SC_DEVICE_MOST)
            return SHAPECACHE_EDEVICE;
        *device = sc_device_by_ordinal(ordinal);
    }
    return *device ? SHAPECACHE_OK : SHAPECACHE_EOFF;
}

int sc_engine_step(int ordinal)
{
    sc_device *device;
    int saved_errno;

    if (!sc_visit_enter(&saved_errno))
        return SHAPECACHE_EOFF;
    int status = find_device(ordinal, &device);

    if (status == SHAPECACHE_OK) {
        sc_lock(&device->lock);
        sc_cache_step_end(device->cache);
        sc_unlock(&device->lock);
        sc_gifts_look(true);
        sc_serve_settle(device);
    }
    sc_visit_leave(saved_errno);
    return status;
}

int sc_engine_hint(sc_address address, const sc_hint *hint)
{
    static const int statuses[] = {[SC_HINT_TAKEN] = SHAPECACHE_OK,
                                   [SC_HINT_UNKNOWN] = SHAPECACHE_EPOINTER,
                                   [SC_HINT_NO_MEMORY] = SHAPECACHE_EMEMORY};
    sc_hint_answer answer = SC_HINT_UNKNOWN;
    int saved_errno;

    if (!sc_visit_enter(&saved_errno))
        return SHAPECACHE_EOFF;
    for (sc_device *device = sc_device_next(NULL); device && answer == SC_HINT_UNKNOWN;
         device = sc_device_next(device)) {
        sc_lock(&device->lock);
        answer = sc_cache_hint(device->cache, address, hint);
        sc_unlock(&device->lock);
    }
    sc_visit_leave(saved_errno);
    return statuses[answer];
}

sc_phase sc_engine_phase(int ordinal)
{
    sc_phase phase = SC_PHASE_OFF;
    sc_device *device;
    int saved_errno;

    if (!sc_visit_enter(&saved_errno))
        return phase;
    if (find_device(ordinal, &device) == SHAPECACHE_OK) {
        sc_cache_totals totals;

        sc_lock(&device->lock);
        sc_cache_read_totals(device->cache, &totals);
        sc_unlock(&device->lock);
        phase = totals.phase;
    }
    sc_visit_leave(saved_errno);
    return phase;
}

int sc_engine_mark(const char *name)
{
    sc_context context;
    int saved_errno;

    if (!sc_visit_enter(&saved_errno))
        return SHAPECACHE_EOFF;
    sc_device *device = sc_device_current_known(&context);

    if (device) {
        sc_lock(&device->lock);
        sc_journal_mark(&device->journal, name);
        sc_unlock(&device->lock);
    } else {
        sc_logbook_mark(name);
    }
    sc_visit_leave(saved_errno);
    return SHAPECACHE_OK;
}

int sc_engine_allocator(int ordinal, bool at_end, const sc_allocator *allocator)
{
    sc_device *device;
    int saved_errno;

    if (!sc_visit_enter(&saved_errno))
        return SHAPECACHE_EOFF;
    int status = find_device(ordinal, &device);

    if (status == SHAPECACHE_OK) {
        sc_lock(&device->lock);
        sc_oom_note_allocator(device, at_end, allocator);
        sc_unlock(&device->lock);
    }
    sc_visit_leave(saved_errno);
    return status;
}

int sc_engine_trim(int ordinal)
{
    sc_device *device;
    int saved_errno;

    if (!sc_visit_enter(&saved_errno))
        return SHAPECACHE_EOFF;
    int status = find_device(ordinal, &device);

    if (status == SHAPECACHE_OK && sc_process_is_capturing())
        status = SHAPECACHE_ECAPTURE;
    if (status == SHAPECACHE_OK)
        sc_memory_trim_and_tell(device);
    sc_visit_leave(saved_errno);
    return status;
}

int sc_engine_memory(int ordinal, shapecache_memory_info *info)
{
    sc_device *device;
    int saved_errno;

    if (!sc_visit_enter(&saved_errno))
        return SHAPECACHE_EOFF;
    int status = find_device(ordinal, &device);

    if (status == SHAPECACHE_OK)
        sc_memory_read(device, info);
    sc_visit_leave(saved_errno);
    return status;
}

/* Memory scopes are balanced whether the cache is on or not, so that a program need not ask. */
int sc_engine_scope_begin(const char *name, unsigned flags)
{
    int saved_errno = errno;

    if (sc_thread_self.is_inside)
        return SHAPECACHE_EOFF;
    bool is_on = sc_visit_enter(&saved_errno);
    int status = sc_region_begin(name, flags, is_on);

    if (is_on)
        sc_visit_leave(saved_errno);
    errno = saved_errno;
    return status;
}

int sc_engine_scope_end(shapecache_scope_info *info)
{
    int saved_errno = errno;

    if (sc_thread_self.is_inside)
        return SHAPECACHE_EOFF;
    bool is_on = sc_visit_enter(&saved_errno);
    int status = sc_region_end(info, is_on);

    if (is_on)
        sc_visit_leave(saved_errno);
    errno = saved_errno;
    return status;
}
