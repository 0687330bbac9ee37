/* SPDX-License-Identifier: MIT */
#include "engine/gift.h"
#include "base/clock.h"
#include "cache/give.h"
#include "engine/device.h"
#include "engine/process.h"
#include "engine/thread.h"
#include "engine/wait.h"
#include "shapecache/shapecache.h"
#include <stdlib.h>

struct sc_gift {
    sc_gift *next;
    const sc_copy_driver *copies;
    sc_device *device; /* NULL: no cache knows the block, the driver gets it */
    sc_buffer *buffer;
    sc_address address;
    uint64_t bytes; /* that are copied */
    sc_context context;
    sc_gpu_event event;
};

static struct {
    sc_mutex lock;
    sc_gift *first, **end; /* oldest first; end NULL: as good as &first */
    unsigned holding;      /* threads that have taken some out */
    unsigned awaiting;     /* threads that wait for those to let go */
} list;

static atomic_uint let_go; /* how often one of them did; written under the lock */

atomic_uint sc_gifts_count;
static atomic_ullong all_bytes;

uint64_t sc_gifts_pending(void)
{
    return atomic_load(&sc_gifts_count);
}

/* Whose the block is; SC_HELD_NOT: no cache's. */
static sc_held find(sc_address address, sc_device **owner)
{
    sc_held held = SC_HELD_NOT;

    *owner = NULL;
    if (!sc_process_is_on())
        return held;
    for (sc_device *device = sc_device_next(NULL); device && held == SC_HELD_NOT;
         device = sc_device_next(device)) {
        sc_lock(&device->lock);
        held = sc_cache_holds(device->cache, address);
        sc_unlock(&device->lock);
        if (held != SC_HELD_NOT)
            *owner = device;
    }
    return held;
}

/* The driver would take it back: something it allocated starts there. */
static bool is_driver_block(sc_address address)
{
    sc_address base = 0;
    size_t bytes;

    return sc_process_driver()->mem_range(&base, &bytes, address) == SC_CUDA_SUCCESS &&
           base == address;
}

/* Given before: where no cache knows the block, the list alone does. */
static bool is_listed(sc_address address)
{
    sc_lock(&list.lock);
    const sc_gift *gift = list.first;

    while (gift && gift->address != address)
        gift = gift->next;
    sc_unlock(&list.lock);
    return gift != NULL;
}

int sc_gift_prepare(sc_gift **gift, const sc_copy_driver *copies, sc_address address,
                    uint64_t bytes, sc_context context)
{
    sc_device *device;
    sc_held held = find(address, &device);

    if (held == SC_HELD_OTHER ||
        (held == SC_HELD_NOT && (is_listed(address) || !is_driver_block(address))))
        return SHAPECACHE_EPOINTER;
    sc_gift *made = malloc(sizeof *made);

    if (!made)
        return SHAPECACHE_EMEMORY;
    *made = (sc_gift){
        .copies = copies, .device = device, .address = address, .bytes = bytes, .context = context};
    if (copies->event_create(&made->event) != SC_CUDA_SUCCESS) {
        free(made);
        return SHAPECACHE_EDRIVER;
    }
    *gift = made;
    return SHAPECACHE_OK;
}

sc_gpu_event sc_gift_event(const sc_gift *gift)
{
    return gift->event;
}

void sc_gift_cancel(sc_gift *gift)
{
    if (gift->copies->event_destroy(gift->event) != SC_CUDA_SUCCESS)
        (void)gift->copies->event_destroy(gift->event);
    free(gift);
}

static void append(sc_gift *gift)
{
    sc_lock(&list.lock);
    gift->next = NULL;
    if (!list.first)
        list.end = &list.first;
    *list.end = gift;
    list.end = &gift->next;
    sc_unlock(&list.lock);
}

void sc_gift_accept(sc_gift *gift)
{
    if (gift->device) {
        sc_lock(&gift->device->lock);
        gift->buffer = sc_cache_give(gift->device->cache, gift->address);
        sc_unlock(&gift->device->lock);
        if (!gift->buffer) { /* the program frees it as well, at this very moment */
            sc_gift_cancel(gift);
            return;
        }
    }
    (void)atomic_fetch_add(&sc_gifts_count, 1);
    (void)atomic_fetch_add(&all_bytes, gift->bytes);
    append(gift);
}

static void free_for_real(sc_device *device, sc_address address)
{
    uint64_t began = sc_clock_ns();
    int result = sc_process_driver()->mem_free(address);

    if (device) {
        uint64_t took = sc_clock_ns() - began;

        sc_lock(&device->lock);
        sc_cache_tally(device->cache)->driver_ns += took;
        sc_unlock(&device->lock);
    }
    sc_engine_result(result);
}

/* What `result`, of the event, means for the block. */
static void take(const sc_gift *gift, int result)
{
    bool is_done = result == SC_CUDA_SUCCESS, is_ours = is_done;

    if (gift->device) {
        sc_device *device = gift->device;

        sc_lock(&device->lock);
        bool is_parked = is_done && sc_cache_park(device->cache, gift->buffer, sc_clock_ns());

        if (!is_done)
            is_ours = sc_cache_unpark(device->cache, gift->buffer);
        else
            is_ours = !is_parked;
        sc_journal_free(&device->journal, gift->address,
                        is_parked ? SC_OUTCOME_PARKED : SC_OUTCOME_DRIVER, 0);
        sc_unlock(&device->lock);
    }
    if (is_ours)
        free_for_real(gift->device, gift->address);
    if (!is_done)
        sc_engine_result(result);
}

/* A block that would go to the driver, where it must not. */
static bool is_left(const sc_gift *gift, bool may_free)
{
    if (may_free)
        return false;
    if (!gift->device)
        return true;
    sc_lock(&gift->device->lock);
    bool is_kept = sc_cache_would_keep(gift->device->cache, gift->buffer);

    sc_unlock(&gift->device->lock);
    return !is_kept;
}

/* Those of one thread: NULL, or let_go_of() must follow. */
static sc_gift *take_all(void)
{
    sc_lock(&list.lock);
    sc_gift *first = list.first;

    list.first = NULL;
    list.end = &list.first;
    list.holding += first != NULL;
    sc_unlock(&list.lock);
    return first;
}

/* Under the lock: before those that have come since. */
static void put_back(sc_gift *first)
{
    sc_gift **end = &first;

    if (!first)
        return;
    while (*end)
        end = &(*end)->next;
    *end = list.first;
    if (!list.first)
        list.end = end;
    list.first = first;
}

/* What is left of those that were taken. */
static void let_go_of(sc_gift *first)
{
    sc_lock(&list.lock);
    put_back(first);
    list.holding--;
    let_go++;
    if (list.awaiting)
        sc_word_wake_all(&let_go);
    sc_unlock(&list.lock);
}

/* Under the lock, which is given meanwhile: until each thread that has taken some now has let go.
 * Those wait for the device at most. */
static void await_holders(void)
{
    unsigned seen = let_go;
    const unsigned enough = seen + list.holding;

    list.awaiting++;
    sc_unlock(&list.lock);
    while ((int)(enough - seen) > 0) {
        sc_word_wait(&let_go, seen);
        seen = let_go;
    }
    sc_lock(&list.lock);
    list.awaiting--;
}

static void drop(sc_gift *gift)
{
    (void)atomic_fetch_sub(&all_bytes, gift->bytes);
    sc_gift_cancel(gift);
    (void)atomic_fetch_sub(&sc_gifts_count, 1);
}

/* A thread that frees may have no context, or one that has ended: the driver would not answer it.
 */
static bool enter_context(sc_context context, bool *is_pushed)
{
    const sc_driver *driver = sc_process_driver();
    sc_context current = 0;

    *is_pushed = false;
    if (driver->context_current(&current) == SC_CUDA_SUCCESS && current == context)
        return true;
    *is_pushed = driver->context_push(context) == SC_CUDA_SUCCESS;
    return *is_pushed;
}

void sc_gifts_settle(bool may_free)
{
    if (sc_process_is_capturing())
        return;
    sc_gift *first = take_all();
    bool is_pushed = false;

    if (!first)
        return;
    if (is_left(first, may_free) || !enter_context(first->context, &is_pushed)) {
        let_go_of(first);
        return;
    }
    do {
        sc_gift *gift = first;
        int result = gift->copies->event_query(gift->event);

        if (result == SC_CUDA_NOT_READY)
            break;
        first = gift->next;
        take(gift, result);
        drop(gift);
    } while (first && !is_left(first, may_free));
    if (is_pushed)
        (void)sc_process_driver()->context_pop();
    let_go_of(first);
}

/* All but the first. */
static void keep_first(sc_gift *first)
{
    sc_lock(&list.lock);
    put_back(first->next);
    sc_unlock(&list.lock);
    first->next = NULL;
}

bool sc_gifts_wait(uint64_t bytes, uint64_t *ns)
{
    bool has_waited = false;

    if (sc_process_is_capturing())
        return false;
    while (atomic_load(&all_bytes) > bytes) {
        sc_gift *oldest = take_all();
        uint64_t began = sc_clock_ns();

        if (!oldest) /* another thread is looking at them */
            break;
        keep_first(oldest);
        int result = oldest->copies->event_query(oldest->event);

        if (result == SC_CUDA_NOT_READY) {
            result = oldest->copies->event_finish(oldest->event);
            has_waited = true;
            *ns += sc_clock_ns() - began;
        }
        take(oldest, result);
        drop(oldest);
        let_go_of(NULL);
    }
    return has_waited;
}

bool sc_gifts_await(void)
{
    sc_context contexts[SC_CONTEXT_MOST];
    unsigned count = 0;

    if (sc_process_is_capturing() || !sc_gifts_pending())
        return false;
    sc_lock(&list.lock);
    await_holders();
    for (const sc_gift *gift = list.first; gift && count < SC_CONTEXT_MOST; gift = gift->next)
        if (!count || contexts[count - 1] != gift->context)
            contexts[count++] = gift->context;
    sc_unlock(&list.lock);
    for (unsigned i = 0; i < count; i++)
        (void)sc_wait(sc_process_driver(), contexts[i], false);
    sc_gifts_settle(true);
    sc_lock(&list.lock);
    await_holders();
    sc_unlock(&list.lock);
    return true;
}

/* The context's own, out of the list; nobody else has any of them. */
static sc_gift *take_of(sc_context context)
{
    sc_gift *taken = NULL, **at = &list.first;

    sc_lock(&list.lock);
    while (list.holding)
        await_holders();
    while (*at) {
        sc_gift *gift = *at;

        if (gift->context != context) {
            at = &gift->next;
            continue;
        }
        *at = gift->next;
        gift->next = taken;
        taken = gift;
    }
    list.end = at;
    sc_unlock(&list.lock);
    return taken;
}

void sc_gifts_context_ends(sc_context context)
{
    sc_gift *gift = take_of(context);

    while (gift) {
        sc_gift *dead = gift;

        gift = dead->next;
        if (dead->device) {
            sc_lock(&dead->device->lock);
            (void)sc_cache_unpark(dead->device->cache, dead->buffer);
            sc_unlock(&dead->device->lock);
        }
        (void)atomic_fetch_sub(&all_bytes, dead->bytes);
        free(dead); /* its event has died, too */
        (void)atomic_fetch_sub(&sc_gifts_count, 1);
    }
}
