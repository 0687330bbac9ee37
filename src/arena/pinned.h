/* SPDX-License-Identifier: MIT
 * pinned.h - the memory of an arena: one anonymous mapping of whole pages, page-locked by the
 * driver in chunks.
 *
 * A mapping is as long as was asked for (pinned allocations of drivers and frameworks may be
 * rounded to a power of two), near the device where the kernel says which node that is, and its
 * pages come when they are locked. A chunk goes
 *
 *     LOOSE -> LOCKING -> LOCKED        whoever comes first locks it; others wait for him, or
 *                     \-> REFUSED       leave it pageable, for good
 *
 * Copies must not cross from one chunk into the next: each is a registration of its own. The driver
 * is called in the context that was current when the mapping was made; a helper thread pushes it.
 * The words of chunks are atomic, the rest is constant from sc_pinned_map() on. */
#ifndef SC_ARENA_PINNED_H
#define SC_ARENA_PINNED_H

#include "base/driver.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct sc_pinned {
    const sc_driver *driver;
    sc_context context;
    char *at;
    uint64_t bytes; /* in whole pages */
    uint64_t chunk; /* bytes of each, the last may be shorter */
    uint32_t chunks;
    atomic_uint *states; /* of chunks; their last word counts changes, to be waited for */
    atomic_ullong locked, ns;
    atomic_uint refused; /* chunks that could not be locked */
    atomic_int result;   /* the driver's answer for the last of them */
    pthread_t helper;
    bool has_helper;
    atomic_bool is_ending;
} sc_pinned;

/* `bytes` above 0; `chunk` 0: all at once; `node` -1: wherever. False: out of memory. */
bool sc_pinned_map(sc_pinned *pinned, const sc_driver *driver, sc_context context, uint64_t bytes,
                   uint64_t chunk, int64_t node);
/* Every chunk, now. False: one was refused. */
bool sc_pinned_lock_all(sc_pinned *pinned);
/* By a thread of its own, from now on. False: there can be none; chunks are locked when used. */
bool sc_pinned_start(sc_pinned *pinned);
/* The chunks under [offset, offset + bytes) are locked, or refused, when this returns. */
void sc_pinned_use(sc_pinned *pinned, uint64_t offset, uint64_t bytes);
/* Waits for the helper; gives back everything. `is_idle`: no copy can still touch the memory; else
 * it stays mapped and locked for good. */
void sc_pinned_unmap(sc_pinned *pinned, bool is_idle);

/* The context has ended, and with it the page-locks. */
void sc_pinned_abandon(sc_pinned *pinned);

/* The NUMA node of the device at this place on the bus, read below `sysfs` ("/sys", but for tests);
 * -1: unknown. */
int64_t sc_pinned_node(const char *sysfs, const char *bus);

#endif
