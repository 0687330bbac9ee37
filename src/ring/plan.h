/* SPDX-License-Identifier: MIT
 * plan.h - what a ring is to be: a configuration that was found good, and what follows from it.
 *
 * A rank's buckets lie in one array, block by block, only those that it owns:
 *
 *     shard 1 of 4, 10 buckets, 2 blocks      place  0     1     2  |  3     4     5
 *                                             block  0     0     0  |  1     1     1
 *                                             bucket 1     5     9  |  1     5     9
 *
 * Constant once made; nothing in it points anywhere. */
#ifndef SC_RING_PLAN_H
#define SC_RING_PLAN_H

#include "shapecache/ring.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SC_RING_NAME_BYTES = 64 };

typedef struct sc_ring_plan {
    uint32_t buckets, capacity, timesteps;
    uint32_t blocks, block_offset; /* blocks 0: keys are buckets alone */
    uint32_t shard, shards;
    uint32_t dtype, replacement; /* as in shapecache/ring.h */
    size_t dims[SHAPECACHE_DIMS_MOST];
    size_t dim_count;
    double modulation;
    uint64_t seed;
    uint32_t flags;
    char name[SC_RING_NAME_BYTES];
    /* What follows. */
    double width;                 /* timesteps of a bucket */
    size_t elements, entry_bytes; /* of an entry */
    uint32_t owned;               /* buckets of each block */
    uint32_t places;              /* buckets of all blocks */
    uint32_t entries_most;
} sc_ring_plan;

typedef struct sc_ring_key {
    uint32_t block, bucket; /* block 0 where there are none */
} sc_ring_key;

/* Of shapecache_ring_defaults(). */
void sc_ring_plan_defaults(shapecache_ring_config *config);

/* False: *wrong is a sentence without a full stop that says what cannot be used. */
bool sc_ring_plan_make(sc_ring_plan *plan, const shapecache_ring_config *config,
                       const char **wrong);

size_t sc_ring_dtype_bytes(uint32_t dtype); /* 0: no such dtype */
const char *sc_ring_dtype_name(uint32_t dtype);

/* How many of `buckets` a shard owns. */
uint32_t sc_ring_owned(uint32_t buckets, uint32_t shard, uint32_t shards);

/* `timestep` is a number. */
uint32_t sc_ring_bucket_of(const sc_ring_plan *plan, double timestep);
bool sc_ring_owns(const sc_ring_plan *plan, uint32_t bucket);
/* The owned bucket nearest to `bucket`, of two as near the higher. False: the shard owns none. */
bool sc_ring_nearest_owned(const sc_ring_plan *plan, uint32_t bucket, uint32_t *nearest);

/* Of a key that is owned, and back. */
uint32_t sc_ring_place_of(const sc_ring_plan *plan, sc_ring_key key);
sc_ring_key sc_ring_key_of(const sc_ring_plan *plan, uint32_t place);

#endif
