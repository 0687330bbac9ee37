/* SPDX-License-Identifier: MIT */
#include "engine/spared.h"
#include "engine/device.h"
#include "engine/process.h"
#include "engine/thread.h"
#include <stdatomic.h>

/* A tensor left a device that has no cache. */
static atomic_bool is_unseen;

static const struct {
    const char *word, *meaning;
} doubts[SC_SPARE_DOUBTS] = {
#define DOUBT(symbol, word, meaning) [SC_SPARE_##symbol] = {word, meaning},
#include "cache/doubt.def"
};

void sc_spared_record(sc_record *record, const sc_spared *spared)
{
    if (spared->doubt) {
        sc_record_string(record, SC_F_SPARED_UNKNOWN, doubts[spared->doubt].word);
        return;
    }
    sc_record_u64(record, SC_F_SPARED, spared->bytes);
    sc_record_u64(record, SC_F_LIVE_WITHOUT, spared->without);
}

const char *sc_spared_why_not(sc_spare_doubt doubt)
{
    return doubts[doubt].meaning;
}

/* Of the driver's allocation around the address; 0: there is none. */
static sc_address base_of(sc_address inside)
{
    sc_address base = 0;
    size_t bytes;

    return sc_process_driver()->mem_range(&base, &bytes, inside) == SC_CUDA_SUCCESS ? base : 0;
}

static sc_spare_block *leave(sc_device *device, sc_address base, bool is_last_try)
{
    sc_lock(&device->lock);
    sc_spare_block *block = sc_cache_leave(device->cache, base);

    if (!block && is_last_try)
        sc_cache_doubt(device->cache, SC_SPARE_UNSEEN);
    sc_unlock(&device->lock);
    return block;
}

static void *left(void *self, sc_address source)
{
    const shapecache_arena *arena = self;
    sc_device *device = sc_device_by_ordinal(arena->device);

    if (!device) {
        atomic_store(&is_unseen, true);
        return NULL;
    }
    sc_spare_block *block = leave(device, source, false);

    return block ? block : leave(device, base_of(source), true);
}

/* False: no block that the cache knows starts at `base`. */
static bool come_back(sc_device *device, sc_spare_block *block, sc_address base, bool is_in_place)
{
    sc_lock(&device->lock);
    bool is_known = sc_cache_return(device->cache, block, base, is_in_place);

    sc_unlock(&device->lock);
    return is_known;
}

static void ended(void *self, void *home, sc_address source, sc_address target)
{
    const shapecache_arena *arena = self;
    sc_device *device = sc_device_by_ordinal(arena->device);
    bool is_in_place = source == target;

    if (target && (come_back(device, home, target, is_in_place) ||
                   come_back(device, home, base_of(target), is_in_place)))
        return;
    sc_lock(&device->lock);
    sc_cache_drop(device->cache, home);
    if (target)
        sc_cache_doubt(device->cache, SC_SPARE_UNSEEN);
    sc_unlock(&device->lock);
}

sc_arena_watcher sc_spared_watcher(shapecache_arena *arena)
{
    return (sc_arena_watcher){.self = arena, .left = left, .ended = ended};
}

bool sc_spared_step(int ordinal, uint64_t *step)
{
    sc_device *device = sc_device_by_ordinal(ordinal);

    if (!device)
        return false;
    sc_lock(&device->lock);
    *step = device->journal.step;
    sc_unlock(&device->lock);
    return true;
}

static void read_one(sc_device *device, sc_spared *out)
{
    sc_lock(&device->lock);
    sc_cache_read_spared(device->cache, out);
    sc_unlock(&device->lock);
}

void sc_spared_read(int ordinal, sc_spared *out)
{
    sc_device *device = sc_device_by_ordinal(ordinal);

    *out = (sc_spared){.doubt = atomic_load(&is_unseen) ? SC_SPARE_UNSEEN : SC_SPARE_NOTHING};
    if (device)
        read_one(device, out);
}

void sc_spared_sum(sc_spared *sum)
{
    bool is_known = false;

    *sum = (sc_spared){.doubt = SC_SPARE_NOTHING};
    for (sc_device *device = sc_device_next(NULL); device; device = sc_device_next(device)) {
        sc_spared one;

        read_one(device, &one);
        if (one.doubt == SC_SPARE_NOTHING)
            continue;
        if (one.doubt)
            sum->doubt = one.doubt;
        else
            is_known = true;
        sum->without += one.without;
        sum->bytes += one.bytes;
    }
    if (atomic_load(&is_unseen))
        sum->doubt = SC_SPARE_UNSEEN;
    else if (is_known && sum->doubt == SC_SPARE_NOTHING)
        sum->doubt = SC_SPARE_SURE;
}
