/* SPDX-License-Identifier: MIT
 * load.h - a ring from a file, or no ring.
 *
 * Reads into a new ring that nobody else knows yet, so that neither a lock is held nor anything
 * half done: only when the last byte was read and the checksum found right is there a result.
 * Trusts nothing: every number of a file is checked against the file's length before it is
 * believed. */
#ifndef SC_RING_LOAD_H
#define SC_RING_LOAD_H

#include "base/text.h"
#include "ring/ring.h"

/* Where memory for entries comes from, and goes back to. */
typedef struct sc_ring_memory {
    bool (*map)(void *self, size_t bytes, sc_slab *slab);
    void (*unmap)(const sc_slab *slab);
    void *self;
} sc_ring_memory;

/* `ring` is made of `plan`; but for OK there is none, and `why` has why for EREFUSED, EFORMAT and
 * EFILE. `flags` as for shapecache_ring_load(). */
shapecache_status sc_ring_load(sc_ring *ring, const sc_ring_plan *plan, const char *path,
                               unsigned flags, const sc_ring_memory *memory,
                               shapecache_ring_loaded *loaded, sc_text *why);

#endif
