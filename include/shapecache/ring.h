/* SPDX-License-Identifier: MIT
 * ring.h - bucket rings: a bounded, sharded store of tensors on the host, by timestep.
 *
 * A diffusion trainer that injects the errors of earlier steps keeps a few of them for each part of
 * its noise schedule and draws from them at random. A ring is that store. The schedule's timesteps
 * 0 .. timesteps - 1 are cut into `buckets` equal parts; each bucket, or each (block, bucket) where
 * there are blocks, keeps at most `capacity` entries of one dtype and shape. Of several ranks each
 * owns the buckets with bucket % shards == shard.
 *
 * A ring needs no GPU and no cache, only the library: linked (-lshapecache) or preloaded. Each ring
 * has one lock, which every call on it takes for as long as it runs: calls from several threads are
 * safe and follow one another, a save included. shapecache_ring_destroy() must be the last one.
 * What could not be done leaves the ring as it was, but for a counter. Bytes are bytes everywhere.
 * docs/rings.md has examples and the file format. */
#ifndef SHAPECACHE_RING_H
#define SHAPECACHE_RING_H

#include "shapecache/shapecache.h"
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct shapecache_ring shapecache_ring;

typedef enum shapecache_dtype {
    SHAPECACHE_F32 = 0,
    SHAPECACHE_F16 = 1,
    SHAPECACHE_BF16 = 2
} shapecache_dtype;

/* Which entry of a full bucket a new one takes the place of. */
typedef enum shapecache_replacement {
    SHAPECACHE_REPLACE_RANDOM = 0, /* any, with equal chance */
    SHAPECACHE_REPLACE_FIFO = 1,   /* the oldest */
    SHAPECACHE_REPLACE_NEAREST = 2 /* the one at the least L2 distance; reads the whole bucket */
} shapecache_replacement;

enum {
    SHAPECACHE_RING_PINNED = 1, /* page-locked by the CUDA driver, where one can; else pageable */
    SHAPECACHE_RING_QUIET = 2   /* no lines on stderr but warnings and refusals */
};

enum {
    SHAPECACHE_RING_OVERLAP = 1, /* load: take what fits, leave the rest, say what it was */
    SHAPECACHE_RING_MERGE = 2    /* load: into what the ring holds, not instead of it */
};

enum { SHAPECACHE_NO_BLOCK = -1 };

typedef struct shapecache_ring_config {
    size_t size;            /* of this struct; shapecache_ring_defaults() sets it */
    const char *name;       /* for lines and records, UTF-8, cut after 63 bytes; "ring" */
    uint32_t buckets;       /* 1 .. 65536; 40 */
    uint32_t capacity;      /* entries of each bucket, 1 .. 2^24; 50 */
    uint32_t timesteps;     /* of the schedule, 1 .. 2^31; 1000 */
    uint32_t blocks;        /* of this rank, up to 65536; 0, keys are buckets alone */
    uint32_t block_offset;  /* what this rank's block 0 is among all ranks'; 0 */
    uint32_t shard, shards; /* shard < shards; 0 of 1 */
    float modulation;       /* 0 .. 1: samples are scaled by 1 +- that; 0.3 */
    shapecache_replacement replacement; /* random */
    shapecache_dtype dtype;             /* of entries; f32 */
    size_t dims[SHAPECACHE_DIMS_MOST];  /* of an entry, in elements, outermost first */
    size_t dim_count;                   /* at least 1 must be given */
    uint64_t bytes_most; /* of all entries together; 0, as many as the buckets can hold */
    uint64_t seed;       /* of what is replaced, drawn and scaled; 0 */
    uint32_t flags;      /* SHAPECACHE_RING_...; 0 */
} shapecache_ring_config;

/* Everything but the entries' shape. Thread-safe. */
SHAPECACHE_API void shapecache_ring_defaults(shapecache_ring_config *config);

/* A new, empty ring; says on stderr which buckets it owns and how many bytes it may come to, and
 * warns where that is more than the control group of this process may have. A shard that owns no
 * bucket (more ranks than buckets) is a ring that stays empty. Memory comes as entries do, but for
 * a pinned ring's first piece. Errors: SHAPECACHE_EVALUE (stderr and
 * shapecache_ring_error() say which value), SHAPECACHE_EMEMORY. Thread-safe. */
SHAPECACHE_API shapecache_status shapecache_ring_create(shapecache_ring **ring,
                                                        const shapecache_ring_config *config);

/* Its memory goes back; NULL is allowed. No other call may be running on the ring, or follow. */
SHAPECACHE_API void shapecache_ring_destroy(shapecache_ring *ring);

/* A tensor: contiguous, in host memory. */
typedef struct shapecache_ring_item {
    const void *data; /* aligned to an element */
    shapecache_dtype dtype;
    const size_t *dims; /* elements, outermost first */
    size_t dim_count;
    double timestep; /* beyond the schedule's ends counts as its first or last bucket */
    long block;      /* of this rank, from 0; not looked at where the ring has no blocks */
} shapecache_ring_item;

/* Copies an item into its bucket, in place of another where that, or the ring's bytes_most, is
 * full. *added (NULL: not asked) is 1, or 0 where another shard owns the bucket, which is no error
 * and is counted. Errors, counted as refused: SHAPECACHE_EMISMATCH (another dtype or shape than the
 * ring's), SHAPECACHE_EVALUE (no such block, a timestep that is no number), SHAPECACHE_EMEMORY. */
SHAPECACHE_API shapecache_status shapecache_ring_add(shapecache_ring *ring,
                                                     const shapecache_ring_item *item,
                                                     unsigned *added);

/* The same for a random choice of `keep` of the `count` items (all, where there are not more), in
 * their order. The choice depends on `seed`, `count` and `keep` alone: ranks that gathered the same
 * items and pass the same seed choose the same, and each adds those it owns. *added (NULL: not
 * asked): how many. Every item is looked at first; one that is wrong refuses all. */
SHAPECACHE_API shapecache_status shapecache_ring_add_gathered(shapecache_ring *ring,
                                                              const shapecache_ring_item *items,
                                                              size_t count, size_t keep,
                                                              uint64_t seed, unsigned *added);

/* What a sample was. */
typedef struct shapecache_ring_drawn {
    uint32_t bucket; /* it came from */
    long block;      /* SHAPECACHE_NO_BLOCK where the ring has none */
    double factor;   /* it was multiplied with */
} shapecache_ring_drawn;

/* A random entry, each with equal chance, times a factor that is uniform in [1 - modulation,
 * 1 + modulation], rounded to the ring's dtype, into `out`, which has `bytes` bytes and is aligned
 * to an element. `drawn` may be NULL. _sample: of the timestep's bucket, or, where another shard
 * owns that, of the nearest owned one (of two as near the higher), which is counted. _sample_block:
 * of any bucket of the block (of all, where the ring has no blocks). _sample_any: of all there are.
 * Errors, `out` unchanged: SHAPECACHE_EEMPTY (nothing there, or the shard owns nothing),
 * SHAPECACHE_EVALUE (no such block, a timestep that is no number), SHAPECACHE_EMISMATCH (`bytes` is
 * not an entry's). */
SHAPECACHE_API shapecache_status shapecache_ring_sample(shapecache_ring *ring, double timestep,
                                                        long block, void *out, size_t bytes,
                                                        shapecache_ring_drawn *drawn);
SHAPECACHE_API shapecache_status shapecache_ring_sample_block(shapecache_ring *ring, long block,
                                                              void *out, size_t bytes,
                                                              shapecache_ring_drawn *drawn);
SHAPECACHE_API shapecache_status shapecache_ring_sample_any(shapecache_ring *ring, void *out,
                                                            size_t bytes,
                                                            shapecache_ring_drawn *drawn);

/* Entries there are now: of a block, or with SHAPECACHE_NO_BLOCK of all. 0: it is empty. */
SHAPECACHE_API uint64_t shapecache_ring_entries(shapecache_ring *ring, long block);

typedef struct shapecache_ring_info {
    uint64_t entries;
    uint64_t bytes;        /* of these */
    uint64_t bytes_mapped; /* of memory taken for entries so far */
    uint64_t bytes_worst;  /* when everything is full */
    uint32_t filled;       /* buckets, of all blocks, with an entry */
    uint32_t owned;        /* buckets, of all blocks, that this shard owns */
    uint64_t added;        /* items copied in, those that took another's place included */
    uint64_t evicted;      /* entries that had to go for them */
    uint64_t refused;      /* items answered with an error */
    uint64_t not_owned;    /* items left to other shards */
    uint64_t sampled;      /* samples drawn */
    uint64_t remapped;     /* of those, from another bucket than asked for: see _sample */
    size_t entry_bytes;
    int is_pinned; /* all memory taken so far is page-locked */
} shapecache_ring_info;

SHAPECACHE_API void shapecache_ring_stats(shapecache_ring *ring, shapecache_ring_info *info);

/* The same as a line on stderr (not from a quiet ring) and a `ring` record in the log, where there
 * is one. For every few hundred steps. */
SHAPECACHE_API void shapecache_ring_report(shapecache_ring *ring);

/* The ring as a file that takes the place of `path` only when it is whole and on the disk: no
 * reader ever sees a part, and what was there stays where anything fails. One file for each rank.
 * Errors: SHAPECACHE_EFILE (shapecache_ring_error() says why), SHAPECACHE_EMEMORY. */
SHAPECACHE_API shapecache_status shapecache_ring_save(shapecache_ring *ring, const char *path);

typedef struct shapecache_ring_loaded {
    uint64_t taken;         /* entries of the file that the ring now holds */
    uint64_t left_block;    /* left: of blocks that this ring does not cover */
    uint64_t left_bucket;   /* left: their bucket lies across two of this ring's */
    uint64_t left_shard;    /* left: of buckets that this shard does not own */
    uint64_t left_capacity; /* left: more than a bucket, or bytes_most, holds */
} shapecache_ring_loaded;

/* What a file holds instead of what the ring does. A file of another block offset or count, shard
 * layout, bucket count, timestep count, dtype or shape is refused (SHAPECACHE_EREFUSED: a message
 * that starts "Refusing to load" with both values, on stderr and from shapecache_ring_error()); so
 * is one that is torn, cut or damaged (SHAPECACHE_EFORMAT). A smaller capacity is none: the last
 * entries of each bucket are taken. Counters and the random sequence go on as in the file.
 *
 * With SHAPECACHE_RING_OVERLAP only dtype, shape, and blocks where the other has none, refuse.
 * Blocks are matched by their number among all ranks', buckets by their part of the schedule, and
 * what does not fit is left and said on stderr. Counters begin again, `added` with what was taken.
 * With SHAPECACHE_RING_MERGE entries join those of the ring as if added.
 *
 * `loaded` may be NULL. The ring changes only when the whole file was read and found good; until
 * then both are held in memory. Errors besides: SHAPECACHE_EFILE, SHAPECACHE_EMEMORY,
 * SHAPECACHE_EVALUE (an unknown flag). */
SHAPECACHE_API shapecache_status shapecache_ring_load(shapecache_ring *ring, const char *path,
                                                      unsigned flags,
                                                      shapecache_ring_loaded *loaded);

/* The sentence of the last save or load that failed, terminated, cut to `bytes`; "" when none did.
 * Without a ring (NULL): of the last shapecache_ring_create() of the process that answered
 * SHAPECACHE_EVALUE for what the config has. */
SHAPECACHE_API void shapecache_ring_error(shapecache_ring *ring, char *out, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
