/* SPDX-License-Identifier: MIT
 * ring.h - a ring's decisions: which bucket, who goes for whom, which entry is drawn.
 *
 * Pure: no lock, no file, no clock; memory for entries is given to it. The same configuration and
 * the same calls have the same results everywhere. Adding is in parts, so that memory can be had
 * between them without the lock: look (is the item one of ours?), wants (a slab?), put.
 *
 * What a byte cap leaves out: while there are fewer slots than the buckets could hold, a full store
 * takes an entry of the fullest bucket for one that has at least two less, so that all buckets come
 * to hold about as many; else a bucket replaces one of its own. The caller locks. */
#ifndef SC_RING_RING_H
#define SC_RING_RING_H

#include "ring/plan.h"
#include "ring/random.h"
#include "ring/store.h"
#include "shapecache/ring.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sc_ring_counters {
    uint64_t added, evicted, refused, not_owned, sampled, remapped;
} sc_ring_counters;

typedef struct sc_ring {
    sc_ring_plan plan;
    sc_store store;
    sc_ring_random random;
    sc_ring_counters counters;
} sc_ring;

bool sc_ring_init(sc_ring *ring, const sc_ring_plan *plan); /* false: out of memory */
void sc_ring_release(sc_ring *ring, void (*take)(const sc_slab *slab));

/* OK and the item's key, or why it cannot be added. Counts nothing. */
shapecache_status sc_ring_look(const sc_ring *ring, const shapecache_ring_item *item,
                               sc_ring_key *key);
/* Bytes of a slab to give before an entry of `key` is put; 0: none. */
size_t sc_ring_wants(const sc_ring *ring, sc_ring_key key);
/* Copies an entry in, or counts one that is not ours: *added is 1 or 0. EMEMORY: as before. */
shapecache_status sc_ring_put(sc_ring *ring, sc_ring_key key, const void *data, unsigned *added);

typedef enum sc_ring_reach { SC_REACH_BUCKET, SC_REACH_BLOCK, SC_REACH_ALL } sc_ring_reach;

/* `timestep` is looked at for a bucket only, `block` not for all. */
shapecache_status sc_ring_sample(sc_ring *ring, sc_ring_reach reach, double timestep, long block,
                                 void *out, shapecache_ring_drawn *drawn);

/* Of a block; of all where it is SHAPECACHE_NO_BLOCK or the ring has none. */
uint64_t sc_ring_entries(const sc_ring *ring, long block);
void sc_ring_inform(const sc_ring *ring, shapecache_ring_info *info);

/* Everything `from` holds, as if added to `into`, which is of the same plan and has been given
 * slabs until sc_store_wants() for as many was 0. False: out of memory, `into` is as before. */
bool sc_ring_merge(sc_ring *into, const sc_ring *from);

/* A random choice of `keep` of `count`, one after the other. */
typedef struct sc_ring_choice {
    sc_ring_random random;
    uint64_t keep, left;
} sc_ring_choice;

sc_ring_choice sc_ring_choose(uint64_t seed, uint64_t count, uint64_t keep);
bool sc_ring_chooses_next(sc_ring_choice *choice);

#endif
