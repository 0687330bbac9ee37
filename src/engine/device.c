/* SPDX-License-Identifier: MIT */
#include "engine/device.h"
#include "base/clock.h"
#include "engine/declared.h"
#include "engine/process.h"
#include "engine/thread.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t SECOND = 1000000000;

typedef struct owner {
    sc_context context;
    sc_device *device; /* NULL: has not allocated */
} owner;

static _Atomic(sc_device *) devices[SC_DEVICE_MOST];
static sc_mutex table_lock;
static owner owners[SC_CONTEXT_MOST]; /* the first `owner_count` are in use */
static unsigned owner_count;
static atomic_ullong generation = 1; /* a thread's struct starts at 0 */

sc_device *sc_device_by_ordinal(int ordinal)
{
    if (ordinal < 0 || ordinal >= SC_DEVICE_MOST)
        return NULL;
    return atomic_load_explicit(&devices[ordinal], memory_order_acquire);
}

sc_device *sc_device_next(const sc_device *device)
{
    for (int i = device ? device->ordinal + 1 : 0; i < SC_DEVICE_MOST; i++) {
        sc_device *next = sc_device_by_ordinal(i);

        if (next)
            return next;
    }
    return NULL;
}

static owner *find_owner(sc_context context)
{
    for (unsigned i = 0; i < owner_count; i++)
        if (owners[i].context == context)
            return &owners[i];
    return NULL;
}

sc_device *sc_device_of_context(sc_context context)
{
    sc_lock(&table_lock);
    const owner *found = find_owner(context);
    sc_device *device = found ? found->device : NULL;

    sc_unlock(&table_lock);
    return device;
}

sc_context sc_device_some_context(const sc_device *device)
{
    sc_context context = 0;

    sc_lock(&table_lock);
    for (unsigned i = 0; i < owner_count && !context; i++)
        if (owners[i].device == device)
            context = owners[i].context;
    sc_unlock(&table_lock);
    return context;
}

unsigned sc_device_contexts(sc_context *contexts, unsigned most)
{
    unsigned count = 0;

    sc_lock(&table_lock);
    while (count < owner_count && count < most) {
        contexts[count] = owners[count].context;
        count++;
    }
    sc_unlock(&table_lock);
    return count;
}

/* What the driver is to keep free. The default is for cards of many GiB; on a small device it would
 * leave nothing to cache with. */
static uint64_t reserve(uint64_t total)
{
    uint64_t wanted = sc_process_self.options.reserve, share = total / 32;

    return sc_process_self.is_set[SC_OPTION_reserve] || wanted < share ? wanted : share;
}

static sc_cache_rules rules(uint64_t total)
{
    static const sc_step_source step_sources[] = {[SC_STEP_AUTO] = SC_STEPS_INFERRED,
                                                  [SC_STEP_API] = SC_STEPS_NAMED,
                                                  [SC_STEP_REQUESTS] = SC_STEPS_COUNTED};
    const sc_options *options = &sc_process_self.options;
    /* a device whose size is not known has no limit but its own */
    uint64_t limit =
        total || !options->limit.is_percent ? sc_share_bytes(options->limit, total) : UINT64_MAX;

    return (sc_cache_rules){
        .gate = {.warmup = options->warmup,
                 .rearm = options->rearm,
                 .max_shapes = options->max_shapes,
                 .is_gated = options->gate},
        .is_observing = options->mode == SC_MODE_OBSERVE,
        .step_source = step_sources[options->step.choice],
        .step_requests = options->step.number,
        .is_keyed_by_site = options->key == SC_KEY_SITE,
        .is_scoped_by_site = options->scope == SC_SCOPE_SITE,
        .overhead_percent = options->overhead,
        .limit = limit,
        .max_age = options->max_age,
        .small = options->small,
        .total = total,
        .reserve = reserve(total),
        .max_idle = options->max_idle * SECOND,
    };
}

static void delete_device(sc_device *device)
{
    if (!device)
        return;
    sc_journal_release(&device->journal);
    free(device);
}

/* Of the current context's device; not published yet. */
static sc_device *new_device(int ordinal)
{
    sc_device *device = calloc(1, sizeof *device);
    size_t free_bytes = 0, total = 0;

    if (!device)
        return NULL;
    device->ordinal = ordinal;
    if (sc_process_driver()->mem_info(&free_bytes, &total) != SC_CUDA_SUCCESS)
        total = 0;
    sc_cache_rules made = rules(total);

    made.declared = sc_declared_on(ordinal, total);
    if (!sc_journal_init(&device->journal, ordinal, made.step_source)) {
        delete_device(device);
        return NULL;
    }
    sc_cache_observer observer = sc_journal_observer(&device->journal);

    device->cache = sc_cache_new(&made, &observer);
    if (!device->cache) {
        delete_device(device);
        return NULL;
    }
    if (total) {
        sc_cache_driver_free(device->cache, free_bytes);
        device->journal.driver_free = free_bytes;
        /* what this process has by other allocators cannot be told from what others have */
        if (!atomic_load(&sc_process_self.has_others) && total > free_bytes)
            device->at_start = total - free_bytes;
    }
    device->asked = sc_clock_ns();
    return device;
}

static void close_device(sc_device *device, sc_reason reason)
{
    sc_lock(&device->lock);
    sc_cache_close(device->cache, reason);
    sc_unlock(&device->lock);
}

/* The record of device `ordinal`, which is the current context's. */
static sc_device *make_device(int ordinal)
{
    sc_device *device = sc_device_by_ordinal(ordinal);
    sc_device *none = NULL;

    if (device || ordinal < 0 || ordinal >= SC_DEVICE_MOST)
        return device;
    device = new_device(ordinal);
    if (!device)
        return NULL;
    if (!atomic_compare_exchange_strong(&devices[ordinal], &none, device)) {
        sc_cache_delete(device->cache);
        delete_device(device);
        return none;
    }
    /* after publishing: a reason set before this is seen here, one set later finds the device */
    sc_reason reason = atomic_load(&sc_process_self.closing);

    if (reason != SC_REASON_SET_FIXED)
        close_device(device, reason);
    return device;
}

/* False: the table is full. What it does not hold must not be cached, since a wait that has to
 * cover every context would leave that one out. */
static bool remember(sc_context context, sc_device *device)
{
    bool is_held = true;

    sc_lock(&table_lock);
    owner *found = find_owner(context);

    if (found && device)
        found->device = device;
    else if (!found && owner_count < SC_CONTEXT_MOST)
        owners[owner_count++] = (owner){context, device};
    else
        is_held = found != NULL;
    sc_unlock(&table_lock);
    return is_held;
}

bool sc_device_peer(sc_context context)
{
    return remember(context, NULL);
}

/* This thread's place for what it knows of a context; emptied when a context has ended since. */
static unsigned place_of(sc_thread *thread, sc_context context, uint64_t now)
{
    if (thread->generation != now) {
        memset(thread->known, 0, sizeof thread->known);
        thread->generation = now;
    }
    return (unsigned)((uint64_t)context * UINT64_C(0x9e3779b97f4a7c15) >> 32) % SC_THREAD_CONTEXTS;
}

static sc_device *current(sc_context *context, bool may_make)
{
    const sc_driver *driver = sc_process_driver();
    sc_thread *thread = &sc_thread_self;
    sc_device *device;
    int ordinal;

    *context = 0;
    if (driver->context_current(context) != SC_CUDA_SUCCESS || !*context)
        return NULL;
    /* read before the table: a context that ends meanwhile makes what we store stale at once */
    uint64_t now = atomic_load_explicit(&generation, memory_order_acquire);
    unsigned place = place_of(thread, *context, now);

    if (thread->known[place].context == *context)
        return thread->last = thread->known[place].device;
    device = sc_device_of_context(*context);
    if (!device && may_make) {
        if (driver->context_device(&ordinal) != SC_CUDA_SUCCESS)
            return NULL;
        device = make_device(ordinal);
        if (device && !remember(*context, device))
            device = NULL;
    }
    if (device) {
        thread->known[place].context = *context;
        thread->known[place].device = device;
        thread->last = device;
    }
    return device;
}

sc_device *sc_device_current(sc_context *context)
{
    return current(context, true);
}

sc_device *sc_device_current_known(sc_context *context)
{
    return current(context, false);
}

void sc_device_context_ends(sc_context context)
{
    sc_device *device = NULL;

    sc_lock(&table_lock);
    owner *found = find_owner(context);

    if (found) {
        device = found->device;
        *found = owners[--owner_count];
    }
    sc_unlock(&table_lock);
    atomic_fetch_add_explicit(&generation, 1, memory_order_acq_rel);
    if (!device)
        return;
    bool has_others = sc_device_some_context(device) != 0;

    sc_lock(&device->lock);
    sc_cache_forget_context(device->cache, context);
    if (!has_others)
        sc_passed_clear(&device->passed);
    sc_unlock(&device->lock);
}

void sc_device_close_all(sc_reason reason)
{
    sc_reason none = SC_REASON_SET_FIXED;

    if (!atomic_compare_exchange_strong(&sc_process_self.closing, &none, reason))
        return;
    for (sc_device *device = sc_device_next(NULL); device; device = sc_device_next(device))
        close_device(device, reason);
}
