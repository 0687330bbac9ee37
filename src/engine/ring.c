/* SPDX-License-Identifier: MIT
 * The ring functions of shapecache/ring.h: the lock, memory and words around src/ring.
 *
 * Under a ring's lock entries are copied and a save is written; never is memory mapped, the driver
 * asked, or a line said. Of one ring only: no two are ever held. */
#include "ring/ring.h"
#include "base/cgroup.h"
#include "engine/logbook.h"
#include "engine/ring_log.h"
#include "engine/ring_memory.h"
#include "engine/thread.h"
#include "ring/describe.h"
#include "ring/load.h"
#include "ring/save.h"
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { LINE_BYTES = 2000, ERROR_BYTES = 2000, WHY_BYTES = 1000 };

struct shapecache_ring {
    sc_mutex lock;
    sc_ring core;
    sc_ring_source source;
    uint64_t worst;
    char error[ERROR_BYTES];
};

static atomic_ullong all_worst; /* bytes, of all rings of the process */

static struct shapecache_ring unmade; /* its error: why the last ring that was refused was */

EXPORT void shapecache_ring_defaults(shapecache_ring_config *config)
{
    sc_ring_plan_defaults(config);
}

static bool is_quiet(const shapecache_ring *ring)
{
    return ring->core.plan.flags & SHAPECACHE_RING_QUIET;
}

/* The next slab, had without the lock, which is held before and after. Another thread may have
 * given one meanwhile; then this one is not needed. False: out of memory. */
static bool give_slab(shapecache_ring *ring, size_t bytes, uint32_t room)
{
    sc_ring_source source = ring->source;
    bool was_pinning = source.is_pinning && ring->core.store.slab_count, is_given = false;
    sc_slab slab;

    sc_unlock(&ring->lock);
    bool is_mapped = sc_ring_map(&source, bytes, &slab);

    if (was_pinning && !source.is_pinning)
        sc_logbook_warn("a ring's memory is pageable from now on: it could not be page-locked");
    sc_lock(&ring->lock);
    if (!is_mapped)
        return false;
    if (!source.is_pinning)
        ring->source = source;
    bool is_needed = ring->core.store.room == room;

    if (is_needed)
        is_given = sc_store_give(&ring->core.store, slab);
    if (is_given)
        return true;
    sc_unlock(&ring->lock);
    sc_ring_unmap(&slab);
    sc_lock(&ring->lock);
    return !is_needed;
}

static bool make_room_for(shapecache_ring *ring, sc_ring_key key)
{
    size_t bytes;

    while ((bytes = sc_ring_wants(&ring->core, key)) > 0)
        if (!give_slab(ring, bytes, ring->core.store.room))
            return false;
    return true;
}

static bool make_room(shapecache_ring *ring, uint32_t entries)
{
    size_t bytes;

    while ((bytes = sc_store_wants(&ring->core.store, entries)) > 0)
        if (!give_slab(ring, bytes, ring->core.store.room))
            return false;
    return true;
}

static void say_start(const shapecache_ring *ring)
{
    char line_bytes[LINE_BYTES], storage_bytes[256];
    sc_text line = sc_text_over(line_bytes, sizeof line_bytes);
    sc_text storage = sc_text_over(storage_bytes, sizeof storage_bytes);
    const sc_ring_plan *plan = &ring->core.plan;

    sc_text_string(&storage, ring->source.is_pinning ? "pinned" : "pageable");
    if (ring->source.reason) {
        sc_text_string(&storage, " (not pinned: ");
        sc_text_string(&storage, ring->source.reason);
        sc_text_char(&storage, ')');
    }
    sc_ring_say_start(&line, plan, sc_text_terminate(&storage));
    if (!is_quiet(ring))
        sc_logbook_say(sc_text_terminate(&line));
    if (plan->owned)
        return;
    sc_text_clear(&line);
    sc_ring_say_nothing_owned(&line, plan);
    sc_logbook_warn(sc_text_terminate(&line));
}

static void warn_of_limit(const shapecache_ring *ring, uint64_t worst)
{
    char bytes[LINE_BYTES];
    sc_text line = sc_text_over(bytes, sizeof bytes);
    uint64_t limit = sc_cgroup_memory("/proc/self/cgroup", "/sys/fs/cgroup");

    if (!limit || worst <= limit)
        return;
    sc_ring_say_limit(&line, ring->core.plan.name, worst, limit);
    sc_logbook_warn(sc_text_terminate(&line));
}

/* What happened, as a record. Without the lock. */
static void record(shapecache_ring *ring, const char *what, const char *sentence)
{
    shapecache_ring_info info;

    shapecache_ring_stats(ring, &info);
    sc_ring_record(&ring->core.plan, &info, what, sentence);
}

/* A pinned ring's first slab tells whether it is one. */
static bool begin(shapecache_ring *ring)
{
    bool is_done;

    sc_lock(&ring->lock);
    is_done = !ring->source.is_pinning || make_room(ring, 1);
    sc_unlock(&ring->lock);
    return is_done;
}

static void refuse_config(const char *name, const char *wrong)
{
    char bytes[LINE_BYTES];
    sc_text line = sc_text_over(bytes, sizeof bytes);

    sc_ring_say_name(&line, name && *name ? name : "ring");
    sc_text_string(&line, wrong);
    sc_lock(&unmade.lock);
    memcpy(unmade.error, sc_text_terminate(&line), line.used + 1);
    sc_unlock(&unmade.lock);
    sc_logbook_say(bytes);
}

EXPORT shapecache_status shapecache_ring_create(shapecache_ring **ring,
                                                const shapecache_ring_config *config)
{
    int saved_errno = errno;
    const char *wrong;
    sc_ring_plan plan;

    if (!ring || !config)
        return SHAPECACHE_EVALUE;
    if (!sc_ring_plan_make(&plan, config, &wrong)) {
        refuse_config(config->size == sizeof *config ? config->name : NULL, wrong);
        return SHAPECACHE_EVALUE;
    }
    shapecache_ring *made = calloc(1, sizeof *made);

    if (!made)
        return SHAPECACHE_EMEMORY;
    made->source.is_pinning = plan.flags & SHAPECACHE_RING_PINNED;
    made->worst = (uint64_t)plan.entries_most * plan.entry_bytes;
    if (!sc_ring_init(&made->core, &plan) || !begin(made)) {
        sc_ring_release(&made->core, sc_ring_unmap);
        free(made);
        return SHAPECACHE_EMEMORY;
    }
    uint64_t worst = atomic_fetch_add(&all_worst, made->worst) + made->worst;

    say_start(made);
    warn_of_limit(made, worst);
    record(made, "start", made->source.reason);
    *ring = made;
    errno = saved_errno;
    return SHAPECACHE_OK;
}

EXPORT void shapecache_ring_destroy(shapecache_ring *ring)
{
    if (!ring)
        return;
    record(ring, "end", NULL);
    (void)atomic_fetch_sub(&all_worst, ring->worst);
    sc_ring_release(&ring->core, sc_ring_unmap);
    free(ring);
}

static bool is_aligned(const shapecache_ring *ring, const void *data)
{
    return (uintptr_t)data % sc_ring_dtype_bytes(ring->core.plan.dtype) == 0;
}

static shapecache_status look(const shapecache_ring *ring, const shapecache_ring_item *item,
                              sc_ring_key *key)
{
    shapecache_status status = sc_ring_look(&ring->core, item, key);

    return status || is_aligned(ring, item->data) ? status : SHAPECACHE_EVALUE;
}

/* Under the lock. */
static shapecache_status put(shapecache_ring *ring, sc_ring_key key, const void *data,
                             unsigned *added)
{
    return make_room_for(ring, key) ? sc_ring_put(&ring->core, key, data, added)
                                    : SHAPECACHE_EMEMORY;
}

EXPORT shapecache_status shapecache_ring_add(shapecache_ring *ring,
                                             const shapecache_ring_item *item, unsigned *added)
{
    shapecache_status status;
    unsigned done = 0;
    sc_ring_key key;

    if (!ring || !item)
        return SHAPECACHE_EVALUE;
    status = look(ring, item, &key);
    sc_lock(&ring->lock);
    if (!status)
        status = put(ring, key, item->data, &done);
    if (status)
        ring->core.counters.refused++;
    sc_unlock(&ring->lock);
    if (added)
        *added = done;
    return status;
}

/* Under the lock; items were looked at. */
static shapecache_status add_chosen(shapecache_ring *ring, const shapecache_ring_item *items,
                                    size_t count, sc_ring_choice choice, unsigned *added)
{
    for (size_t i = 0; i < count; i++) {
        shapecache_status status;
        sc_ring_key key;
        unsigned one = 0;

        if (!sc_ring_chooses_next(&choice))
            continue;
        (void)sc_ring_look(&ring->core, &items[i], &key);
        status = put(ring, key, items[i].data, &one);
        if (status)
            return status;
        *added += one;
    }
    return SHAPECACHE_OK;
}

EXPORT shapecache_status shapecache_ring_add_gathered(shapecache_ring *ring,
                                                      const shapecache_ring_item *items,
                                                      size_t count, size_t keep, uint64_t seed,
                                                      unsigned *added)
{
    shapecache_status status = SHAPECACHE_OK;
    unsigned done = 0;
    sc_ring_key key;

    if (!ring || (!items && count))
        return SHAPECACHE_EVALUE;
    for (size_t i = 0; i < count && !status; i++)
        status = look(ring, &items[i], &key);
    sc_lock(&ring->lock);
    if (!status)
        status = add_chosen(ring, items, count, sc_ring_choose(seed, count, keep), &done);
    if (status)
        ring->core.counters.refused += count - done;
    sc_unlock(&ring->lock);
    if (added)
        *added = done;
    return status;
}

static shapecache_status sample(shapecache_ring *ring, sc_ring_reach reach, double timestep,
                                long block, void *out, size_t bytes, shapecache_ring_drawn *drawn)
{
    shapecache_ring_drawn unwanted;
    shapecache_status status;

    if (!ring || !out || !is_aligned(ring, out))
        return SHAPECACHE_EVALUE;
    if (bytes != ring->core.plan.entry_bytes)
        return SHAPECACHE_EMISMATCH;
    sc_lock(&ring->lock);
    status = sc_ring_sample(&ring->core, reach, timestep, block, out, drawn ? drawn : &unwanted);
    sc_unlock(&ring->lock);
    return status;
}

EXPORT shapecache_status shapecache_ring_sample(shapecache_ring *ring, double timestep, long block,
                                                void *out, size_t bytes,
                                                shapecache_ring_drawn *drawn)
{
    return sample(ring, SC_REACH_BUCKET, timestep, block, out, bytes, drawn);
}

EXPORT shapecache_status shapecache_ring_sample_block(shapecache_ring *ring, long block, void *out,
                                                      size_t bytes, shapecache_ring_drawn *drawn)
{
    return sample(ring, SC_REACH_BLOCK, 0, block, out, bytes, drawn);
}

EXPORT shapecache_status shapecache_ring_sample_any(shapecache_ring *ring, void *out, size_t bytes,
                                                    shapecache_ring_drawn *drawn)
{
    return sample(ring, SC_REACH_ALL, 0, 0, out, bytes, drawn);
}

EXPORT uint64_t shapecache_ring_entries(shapecache_ring *ring, long block)
{
    uint64_t entries;

    if (!ring)
        return 0;
    sc_lock(&ring->lock);
    entries = sc_ring_entries(&ring->core, block);
    sc_unlock(&ring->lock);
    return entries;
}

EXPORT void shapecache_ring_stats(shapecache_ring *ring, shapecache_ring_info *info)
{
    sc_lock(&ring->lock);
    sc_ring_inform(&ring->core, info);
    sc_unlock(&ring->lock);
}

EXPORT void shapecache_ring_report(shapecache_ring *ring)
{
    char bytes[LINE_BYTES];
    sc_text line = sc_text_over(bytes, sizeof bytes);
    shapecache_ring_info info;

    shapecache_ring_stats(ring, &info);
    sc_ring_say_stats(&line, ring->core.plan.name, &info);
    if (!is_quiet(ring))
        sc_logbook_say(sc_text_terminate(&line));
    sc_ring_record(&ring->core.plan, &info, "report", NULL);
}

EXPORT void shapecache_ring_error(shapecache_ring *ring, char *out, size_t bytes)
{
    if (!bytes)
        return;
    if (!ring)
        ring = &unmade;
    sc_lock(&ring->lock);
    size_t length = sc_text_fitting(ring->error, strlen(ring->error), bytes - 1);

    memcpy(out, ring->error, length);
    sc_unlock(&ring->lock);
    out[length] = '\0';
}

/* Kept, said and recorded. */
static void fail(shapecache_ring *ring, const char *what, const char *path, const sc_text *why,
                 shapecache_status status)
{
    char bytes[ERROR_BYTES];
    sc_text line = sc_text_over(bytes, sizeof bytes);

    sc_text_string(&line, what);
    sc_text_string(&line, path);
    sc_text_string(&line, ": ");
    if (why->used)
        sc_text_bytes(&line, why->at, why->used);
    else
        sc_text_string(&line, shapecache_status_text(status));
    sc_lock(&ring->lock);
    memcpy(ring->error, sc_text_terminate(&line), line.used + 1);
    sc_unlock(&ring->lock);
    sc_logbook_say(bytes);
    record(ring, "failed", bytes);
}

EXPORT shapecache_status shapecache_ring_save(shapecache_ring *ring, const char *path)
{
    char bytes[WHY_BYTES];
    sc_text why = sc_text_over(bytes, sizeof bytes);
    shapecache_status status;
    int cancellation;

    if (!ring || !path || !*path)
        return SHAPECACHE_EVALUE;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellation);
    sc_lock(&ring->lock);
    status = sc_ring_save(&ring->core, path, &why);
    sc_unlock(&ring->lock);
    if (status)
        fail(ring, "cannot save ", path, &why, status);
    else
        record(ring, "save", path);
    (void)pthread_setcancelstate(cancellation, &cancellation);
    return status;
}

/* The ring is what was read; what it held is returned in its place. Their plan is the same, and is
 * read without the lock. */
static void swap(shapecache_ring *ring, sc_ring *fresh)
{
    sc_lock(&ring->lock);
    sc_store old = ring->core.store;

    ring->core.store = fresh->store;
    ring->core.random = fresh->random;
    ring->core.counters = fresh->counters;
    sc_unlock(&ring->lock);
    fresh->store = old;
}

static shapecache_status merge(shapecache_ring *ring, const sc_ring *fresh)
{
    bool is_done;

    sc_lock(&ring->lock);
    is_done = make_room(ring, fresh->store.used) && sc_ring_merge(&ring->core, fresh);
    sc_unlock(&ring->lock);
    return is_done ? SHAPECACHE_OK : SHAPECACHE_EMEMORY;
}

static void say_loaded(shapecache_ring *ring, const char *path,
                       const shapecache_ring_loaded *loaded)
{
    char bytes[LINE_BYTES];
    sc_text line = sc_text_over(bytes, sizeof bytes);

    sc_ring_say_loaded(&line, ring->core.plan.name, path, loaded);
    if (!is_quiet(ring))
        sc_logbook_say(sc_text_terminate(&line));
    record(ring, "load", sc_text_terminate(&line));
}

static shapecache_status load(shapecache_ring *ring, const char *path, unsigned flags,
                              shapecache_ring_loaded *loaded, sc_text *why)
{
    sc_lock(&ring->lock);
    sc_ring_source source = ring->source;
    sc_unlock(&ring->lock);
    const sc_ring_memory memory = {sc_ring_map, sc_ring_unmap, &source};
    sc_ring fresh;
    shapecache_status status =
        sc_ring_load(&fresh, &ring->core.plan, path, flags, &memory, loaded, why);

    if (status)
        return status;
    if (flags & SHAPECACHE_RING_MERGE)
        status = merge(ring, &fresh);
    else
        swap(ring, &fresh);
    sc_ring_release(&fresh, sc_ring_unmap);
    return status;
}

EXPORT shapecache_status shapecache_ring_load(shapecache_ring *ring, const char *path,
                                              unsigned flags, shapecache_ring_loaded *loaded)
{
    char bytes[WHY_BYTES];
    sc_text why = sc_text_over(bytes, sizeof bytes);
    shapecache_ring_loaded here;
    shapecache_status status;
    int cancellation;

    if (!ring || !path || !*path ||
        flags & ~(unsigned)(SHAPECACHE_RING_OVERLAP | SHAPECACHE_RING_MERGE))
        return SHAPECACHE_EVALUE;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellation);
    status = load(ring, path, flags, &here, &why);
    if (!status)
        say_loaded(ring, path, &here);
    else
        fail(ring, status == SHAPECACHE_EFILE ? "cannot read " : "Refusing to load ", path, &why,
             status);
    (void)pthread_setcancelstate(cancellation, &cancellation);
    if (!status && loaded)
        *loaded = here;
    return status;
}
