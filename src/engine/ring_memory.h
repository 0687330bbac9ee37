/* SPDX-License-Identifier: MIT
 * ring_memory.h - where rings' entries lie: anonymous mappings, page-locked where asked for.
 *
 * A mapping is exactly as long as it must be (a pinned allocation by the driver or a framework may
 * be rounded to a power of two). Where pages cannot be locked, and at any time after, memory is
 * pageable and `reason` says why: a ring that works slowly is better than none. The driver is asked
 * without a lock, never while a stream capture is open, and only where the process uses it already:
 * a ring starts no CUDA. A forked child unmaps, but leaves the driver alone. */
#ifndef SC_ENGINE_RING_MEMORY_H
#define SC_ENGINE_RING_MEMORY_H

#include "ring/store.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct sc_ring_source {
    bool is_pinning;
    const char *reason; /* why it is not, though asked to; NULL: it was not asked */
} sc_ring_source;

/* `self` is a source. False: out of memory. */
bool sc_ring_map(void *self, size_t bytes, sc_slab *slab);
void sc_ring_unmap(const sc_slab *slab);

#endif
