/* SPDX-License-Identifier: MIT */
#include "engine/release.h"
#include "base/clock.h"
#include "engine/process.h"
#include "engine/thread.h"

uint64_t sc_release(sc_device *device, sc_take why, bool is_inside)
{
    const sc_driver *driver = sc_process_driver();
    sc_victims victims;
    uint64_t released = 0;

    sc_lock(&device->lock);
    for (;;) {
        sc_cache_take(device->cache, why, &victims);
        if (victims.count == 0)
            break;
        device->returning++;
        sc_unlock(&device->lock);
        uint64_t began = sc_clock_ns();
        uint64_t freed = 0;

        /* a free that fails is of a context that has died, and its memory with it */
        for (unsigned i = 0; i < victims.count; i++)
            freed += driver->mem_free(victims.address[i]) == SC_CUDA_SUCCESS;
        uint64_t took = sc_clock_ns() - began;

        sc_lock(&device->lock);
        sc_cache_gone(device->cache, &victims);
        device->returning--;
        device->returned++;
        if (device->awaiting)
            sc_word_wake_all(&device->returned);
        sc_tally *tally = sc_cache_tally(device->cache);

        tally->driver_ns += took;
        if (is_inside)
            tally->malloc_frees += freed;
        released += victims.bytes;
    }
    sc_unlock(&device->lock);
    return released;
}

void sc_release_await(sc_device *device)
{
    sc_lock(&device->lock);
    unsigned returned = device->returned;
    const unsigned enough = returned + device->returning;

    device->awaiting++;
    sc_unlock(&device->lock);
    while ((int)(enough - returned) > 0) {
        sc_word_wait(&device->returned, returned);
        returned = device->returned;
    }
    sc_lock(&device->lock);
    device->awaiting--;
    sc_unlock(&device->lock);
}
