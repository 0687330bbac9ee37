/* SPDX-License-Identifier: MIT
 * store.h - where a ring's entries lie: slots in a few slabs of memory, and who has which.
 *
 *     slabs   | slot 0 | 1 | 2 | ... |    | n | n+1 | ...  |     | free ...  |
 *     places  block 0 bucket 1: slots 4, 0, 9 (oldest first)      each a circle of `capacity`
 *             block 0 bucket 5: slots 1
 *
 * Slots are taken in order and never given back: an entry that goes leaves its slot to the one it
 * goes for. Which slot an entry has is nobody's business: whatever is chosen is chosen by place and
 * age, so that a ring that was saved and loaded goes on exactly as it would have.
 *
 * The store asks for memory but never takes any for entries itself: its owner maps a slab when
 * sc_store_wants() says so, outside any lock if it likes, and gives it. Invariants
 * (sc_store_check()): every used slot is in exactly one place, and no other is. The caller locks.
 */
#ifndef SC_RING_STORE_H
#define SC_RING_STORE_H

#include "ring/plan.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memory for entries, and how it comes and goes. */
typedef struct sc_slab {
    unsigned char *at;
    size_t bytes;
    uintptr_t context; /* that it was page-locked in; 0: pageable */
} sc_slab;

typedef struct sc_place {
    uint32_t *slots; /* NULL until the first entry */
    uint32_t first, count;
} sc_place;

typedef struct sc_store {
    size_t entry_bytes;
    uint32_t capacity, entries_most, place_count;
    uint32_t per_slab; /* slots of each slab but perhaps the last */
    uint32_t used, room;
    sc_place *places;
    sc_slab *slabs;
    uint32_t slab_count;
} sc_store;

bool sc_store_init(sc_store *store, const sc_ring_plan *plan); /* false: out of memory */
/* Each slab goes back to where it came from. */
void sc_store_release(sc_store *store, void (*take)(const sc_slab *slab));

/* Bytes of the next slab, without which `more` new slots (as far as there may be more at all)
 * cannot be had; 0: they can. */
size_t sc_store_wants(const sc_store *store, uint32_t more);
/* A slab of as many bytes as it wanted. False: out of memory, the slab stays the caller's. */
bool sc_store_give(sc_store *store, sc_slab slab);

unsigned char *sc_store_entry(const sc_store *store, uint32_t slot);
/* The i-th oldest of a place. */
uint32_t sc_store_slot(const sc_store *store, uint32_t place, uint32_t i);

/* Room for what a place is to get; false: out of memory. Then these cannot fail. */
bool sc_store_prepare(sc_store *store, uint32_t place);
/* Is there a slot for one more entry without another going? */
bool sc_store_has_slot(const sc_store *store);
/* A new slot, as the youngest of a prepared place that is not full. */
uint32_t sc_store_push(sc_store *store, uint32_t place);
/* Makes the i-th oldest of `from` the youngest of `to`, which is prepared and, unless it is `from`,
 * not full. Where i is not 0, the youngest of `from` takes its turn. The slot. */
uint32_t sc_store_move(sc_store *store, uint32_t from, uint32_t i, uint32_t to);

/* The place with the most entries, the first of several. */
uint32_t sc_store_fullest(const sc_store *store);
/* The entries of so many places, from `first` on. */
uint64_t sc_store_count(const sc_store *store, uint32_t first, uint32_t places);

size_t sc_store_mapped(const sc_store *store); /* bytes of all slabs */
bool sc_store_is_pinned(const sc_store *store);

/* Do the invariants hold? Looks at everything. */
bool sc_store_check(const sc_store *store);

#endif
