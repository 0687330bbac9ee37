/* SPDX-License-Identifier: MIT */
#include "engine/region.h"
#include "base/clock.h"
#include "base/text.h"
#include "engine/device.h"
#include "engine/logbook.h"
#include "engine/memory.h"
#include "engine/process.h"
#include "engine/thread.h"
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

_Static_assert((int)SHAPECACHE_SCOPE_OPEN_MOST == (int)SC_WATCH_MOST, "each may watch each device");

typedef struct sc_region {
    atomic_int thread; /* whose it is, as the kernel numbers them; 0: nobody's */
    struct sc_region *outer;
    sc_device *device; /* NULL: none was current */
    unsigned depth, flags;
    uint64_t began, trimmed;
    char name[SHAPECACHE_SCOPE_NAME_MOST + 1];
} sc_region;

static sc_region regions[SC_WATCH_MOST];

static int thread_number(void)
{
    return (int)syscall(SYS_gettid);
}

static bool is_alive(int thread)
{
    return syscall(SYS_tgkill, getpid(), thread, 0) == 0;
}

static void raise_to(uint64_t *most, uint64_t value)
{
    if (*most < value)
        *most = value;
}

/* Under the device's lock: every watch knows what has been seen so far, and a new lap begins.
 * What is there now. */
static sc_marks end_lap(sc_device *device)
{
    const sc_marks lap = sc_cache_lap(device->cache);
    sc_cache_totals now;

    for (unsigned i = 0; i < device->watch_count; i++) {
        raise_to(&device->watches[i].most.live, lap.live);
        raise_to(&device->watches[i].most.held, lap.held);
    }
    sc_cache_read_totals(device->cache, &now);
    return (sc_marks){.live = now.live, .held = now.live + now.idle};
}

static void watch(sc_device *device, const sc_region *region)
{
    sc_lock(&device->lock);
    const sc_marks now = end_lap(device);

    device->watches[device->watch_count++] =
        (sc_watch){.owner = region, .before = now, .most = now};
    sc_unlock(&device->lock);
}

/* Under the device's lock. False: the device came after the region. */
static bool take_watch(sc_device *device, const sc_region *region, sc_watch *out)
{
    for (unsigned i = 0; i < device->watch_count; i++) {
        if (device->watches[i].owner != region)
            continue;
        *out = device->watches[i];
        memmove(&device->watches[i], &device->watches[i + 1],
                (--device->watch_count - i) * sizeof *device->watches);
        return true;
    }
    return false;
}

static void unwatch(const sc_region *region)
{
    sc_watch unused;

    for (sc_device *device = sc_device_next(NULL); device; device = sc_device_next(device)) {
        sc_lock(&device->lock);
        (void)take_watch(device, region, &unused);
        sc_unlock(&device->lock);
    }
}

/* In a forked child no thread of its parent's is alive, but this one has what it had open there. */
static bool is_open_here(const sc_region *region)
{
    const sc_region *open = sc_thread_self.region;

    while (open && open != region)
        open = open->outer;
    return open != NULL;
}

/* One that is nobody's, or that a thread has left open and ended. NULL: there is none. Without a
 * lock, which a forked child might wait for in vain. */
static sc_region *claim(bool is_on)
{
    const int self = thread_number();

    for (unsigned i = 0; i < SC_WATCH_MOST; i++) {
        int nobody = 0;

        if (atomic_compare_exchange_strong(&regions[i].thread, &nobody, self))
            return &regions[i];
    }
    for (unsigned i = 0; i < SC_WATCH_MOST; i++) {
        int owner = atomic_load(&regions[i].thread);

        if (owner == 0 || is_alive(owner) || is_open_here(&regions[i]) ||
            !atomic_compare_exchange_strong(&regions[i].thread, &owner, self))
            continue;
        if (is_on)
            unwatch(&regions[i]);
        return &regions[i];
    }
    return NULL;
}

static void start_watching(sc_region *region)
{
    sc_context context;

    region->device = sc_device_current_known(&context);
    if (region->device && region->flags & SHAPECACHE_SCOPE_TRIM_BEFORE)
        region->trimmed = sc_memory_trim(region->device);
    if (region->device)
        watch(region->device, region);
    else
        for (sc_device *device = sc_device_next(NULL); device; device = sc_device_next(device))
            watch(device, region);
}

int sc_region_begin(const char *name, unsigned flags, bool is_on)
{
    sc_region *outer = sc_thread_self.region, *region;

    if (outer && outer->depth + 1 == SHAPECACHE_SCOPE_DEPTH_MOST)
        return SHAPECACHE_ESCOPE;
    region = claim(is_on);
    if (!region)
        return SHAPECACHE_ESCOPE;
    region->outer = outer;
    region->device = NULL;
    region->depth = outer ? outer->depth + 1 : 0;
    region->flags = flags;
    region->trimmed = 0;
    size_t length = sc_text_fitting(name, strlen(name), SHAPECACHE_SCOPE_NAME_MOST);

    memcpy(region->name, name, length);
    region->name[length] = '\0';
    if (is_on)
        start_watching(region);
    region->began = sc_clock_ns();
    sc_thread_self.region = region;
    return SHAPECACHE_OK;
}

/* What `region` saw of `device`, which it watches no more. */
static void conclude(sc_region *region, sc_device *device, shapecache_scope_info *info)
{
    sc_cache_totals totals;
    sc_watch seen;

    sc_lock(&device->lock);
    (void)end_lap(device);
    sc_cache_read_totals(device->cache, &totals);
    if (!take_watch(device, region, &seen))
        seen = (sc_watch){.most = {.live = totals.all.live_peak, .held = totals.all.held_peak}};
    sc_unlock(&device->lock);
    *info = (shapecache_scope_info){
        .device = device->ordinal,
        .depth = region->depth,
        .live_before = seen.before.live,
        .idle_before = seen.before.held - seen.before.live,
        .live_peak = seen.most.live,
        .held_peak = seen.most.held,
        .live = totals.live,
        .idle = totals.idle,
        .trimmed = region->trimmed,
        .ns = sc_clock_ns() - region->began,
    };
}

static void trim_after(sc_device *device, shapecache_scope_info *info)
{
    sc_cache_totals totals;

    info->trimmed += sc_memory_trim(device);
    sc_lock(&device->lock);
    sc_cache_read_totals(device->cache, &totals);
    sc_unlock(&device->lock);
    info->live = totals.live;
    info->idle = totals.idle;
}

/* Scopes may be many, and end where no record would be written for long. */
static void write_down(sc_device *device, const char *name, const shapecache_scope_info *info)
{
    bool is_filling;

    sc_lock(&device->lock);
    sc_journal_scope(&device->journal, name, info);
    is_filling = sc_journal_is_filling(&device->journal);
    sc_unlock(&device->lock);
    if (is_filling && !sc_process_is_capturing())
        sc_logbook_flush();
}

int sc_region_end(shapecache_scope_info *info, bool is_on)
{
    sc_region *region = sc_thread_self.region;
    sc_device *device = NULL;
    shapecache_scope_info told;
    sc_context context;

    if (!region)
        return SHAPECACHE_ESCOPE;
    sc_thread_self.region = region->outer;
    if (is_on)
        device = region->device ? region->device : sc_device_current_known(&context);
    if (device) {
        conclude(region, device, &told);
        if (region->flags & SHAPECACHE_SCOPE_TRIM_AFTER)
            trim_after(device, &told);
        if (region->flags & SHAPECACHE_SCOPE_LOG)
            write_down(device, region->name, &told);
        if (info)
            *info = told;
    }
    if (is_on && !region->device)
        unwatch(region);
    atomic_store(&region->thread, 0);
    return device ? SHAPECACHE_OK : SHAPECACHE_EOFF;
}
