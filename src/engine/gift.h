/* SPDX-License-Identifier: MIT
 * gift.h - device memory that an arena has taken over and whose copy may still be running.
 *
 * offload_free() hands a block over; an event behind its copy tells when nothing reads it any more.
 * Until then it is live in the cache (cache/give.h). Nobody waits for that: gifts lie in one list,
 * oldest first, and whoever comes by asks the oldest ones: calls on arenas, allocations, frees,
 * step ends, waits for the device. What is done is parked, or freed where the cache is not serving;
 * that may wait for the device, so inside an allocation such a gift is left for the next one who
 * comes.
 *
 * The list has a lock of its own, under which nothing else is taken and no driver called. While a
 * capture is open the driver is not asked. */
#ifndef SC_ENGINE_GIFT_H
#define SC_ENGINE_GIFT_H

#include "base/driver.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct sc_gift sc_gift;

/* A shapecache_status: for the allocation that starts at `address`, in `context`, which is current.
 * SHAPECACHE_EPOINTER: none does, or it was freed; SHAPECACHE_EMEMORY. */
int sc_gift_prepare(sc_gift **gift, const sc_copy_driver *copies, sc_address address,
                    uint64_t bytes, sc_context context);
sc_gpu_event sc_gift_event(const sc_gift *gift); /* to be recorded behind the copy */
void sc_gift_cancel(sc_gift *gift);
/* The event was recorded: the block is ours. */
void sc_gift_accept(sc_gift *gift);

/* Gives what is done to the cache. `may_free`: the caller may wait for the device. Without locks,
 * marked as inside. */
void sc_gifts_settle(bool may_free);
/* Waits until no more than so many bytes are on their way. True: it had to; *ns grows by how long.
 */
bool sc_gifts_wait(uint64_t bytes, uint64_t *ns);
/* Out of memory: waits for all of them first. Whether there were any. */
bool sc_gifts_await(void);
/* The context has ended, and what was in it with it. */
void sc_gifts_context_ends(sc_context context);
uint64_t sc_gifts_pending(void);

extern atomic_uint sc_gifts_count;

/* The same as settle, for where it costs nothing while there are none. */
static inline void sc_gifts_look(bool may_free)
{
    if (atomic_load_explicit(&sc_gifts_count, memory_order_relaxed))
        sc_gifts_settle(may_free);
}

#endif
