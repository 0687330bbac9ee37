/* SPDX-License-Identifier: MIT */
#include "engine/memory.h"
#include "engine/gift.h"
#include "engine/process.h"
#include "engine/release.h"
#include "engine/thread.h"

uint64_t sc_memory_trim(sc_device *device)
{
    if (sc_process_is_capturing())
        return 0;
    sc_gifts_look(true);
    uint64_t bytes = sc_release(device, SC_TAKE_ALL, false);

    sc_release_await(device);
    return bytes;
}

void sc_memory_trim_and_tell(sc_device *device)
{
    uint64_t bytes = sc_memory_trim(device);

    sc_lock(&device->lock);
    sc_journal_trim(&device->journal, bytes);
    sc_unlock(&device->lock);
}

/* The driver answers for the current context's device. */
static bool ask_driver(const sc_device *device, size_t *free_bytes, size_t *total)
{
    const sc_driver *driver = sc_process_driver();
    sc_context context = 0;

    if (sc_process_is_capturing())
        return false;
    if (sc_device_current_known(&context) == device)
        return driver->mem_info(free_bytes, total) == SC_CUDA_SUCCESS;
    context = sc_device_some_context(device);
    if (!context || driver->context_push(context) != SC_CUDA_SUCCESS)
        return false;
    bool is_told = driver->mem_info(free_bytes, total) == SC_CUDA_SUCCESS;

    (void)driver->context_pop();
    return is_told;
}

void sc_memory_read(sc_device *device, shapecache_memory_info *info)
{
    sc_cache_totals totals;
    size_t free_bytes = 0, total = 0;
    bool is_told = ask_driver(device, &free_bytes, &total);

    sc_lock(&device->lock);
    sc_cache_read_totals(device->cache, &totals);
    sc_unlock(&device->lock);
    *info = (shapecache_memory_info){
        .live = totals.live,
        .idle = totals.idle,
        .held = totals.live + totals.idle,
        .live_peak = totals.all.live_peak,
        .held_peak = totals.all.held_peak,
        .driver_free = is_told ? free_bytes : 0,
        .driver_total = is_told ? total : 0,
    };
}
