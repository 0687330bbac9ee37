/* SPDX-License-Identifier: MIT
 * spare.h - what the device was spared: how many bytes would have been live, had no arena taken
 * any tensor away.
 *
 * A block is followed from the first offload out of it. Freed while a tensor of it is away, it
 * would be live without the arena: it stands until the last of its tensors is dropped or on its way
 * back. From there the block that it comes back to is live in its place, so that one does not
 * count, and the former stands until the latter is freed as well:
 *
 *     live            source live        source freed      target allocated    target freed
 *     without arena   source             source stands     source stands       nothing
 *
 *     without = live + those that stand - live targets
 *
 * One block is one block, however many tickets are out of it, or out of what is live in its place.
 * All is in the driver's pages, as of mapped.h.
 *
 * A target is allocated before anybody knows that it is one: the figure after that allocation has
 * it in, and is put right when the target is named. Only allocations raise the figure, so the
 * highest is that after one of them; the last SC_SPARE_WINDOW of these figures are kept apart for
 * it. What cannot be put right, or is not seen at all, makes the figure a doubtful one for good: it
 * is never told then.
 *
 * Costs nothing until the first offload. Owns its records; the caller locks. */
#ifndef SC_CACHE_SPARE_H
#define SC_CACHE_SPARE_H

#include "base/driver.h"
#include "base/map.h"
#include "cache/mapped.h"
#include "cache/pool.h"
#include <stdbool.h>
#include <stdint.h>

enum { SC_SPARE_WINDOW = 64 };

/* Why the figure is not known. */
typedef enum sc_spare_doubt {
    SC_SPARE_SURE,
#define DOUBT(symbol, word, meaning) SC_SPARE_##symbol,
#include "cache/doubt.def"
    SC_SPARE_DOUBTS
} sc_spare_doubt;

/* A block that tensors have been offloaded out of. */
typedef struct sc_spare_block {
    struct sc_spare_block *next, *former;
    sc_context context;
    sc_address address; /* of the block, while it is live */
    sc_mapped size;
    uint32_t tickets; /* out of it, and not on their way back */
    uint32_t targets; /* live blocks that they came back to */
    bool is_live;
    bool is_void; /* its context has ended: nobody would have it */
} sc_spare_block;

typedef struct sc_spare_mark sc_spare_mark;

/* After an allocation. */
typedef struct sc_spare_moment {
    sc_address address; /* what was allocated */
    sc_mapped without;
} sc_spare_moment;

typedef struct sc_spare {
    bool is_on;
    bool has_stood; /* some block has been freed while a tensor of it was away */
    sc_spare_doubt doubt;
    sc_mapped standing, targets;
    sc_map marks; /* address -> sc_spare_mark, of live blocks that are sources or targets */
    sc_pool mark_pool, block_pool;
    sc_spare_block *first;
    uint64_t most; /* of moments that have left the window */
    uint64_t moment_count;
    sc_spare_moment moments[SC_SPARE_WINDOW]; /* a ring */
} sc_spare;

/* The first offload: at most `most` bytes have been live so far. */
void sc_spare_start(sc_spare *spare, uint64_t most);
void sc_spare_release(sc_spare *spare);

/* A ticket is out of the live block at `address`, of `bytes`. NULL: out of memory, a doubt. */
sc_spare_block *sc_spare_leave(sc_spare *spare, sc_address address, uint64_t bytes,
                               sc_context context);
/* It is on its way back, to the live block at `target`, of `bytes`. */
void sc_spare_return(sc_spare *spare, sc_spare_block *block, sc_address target, uint64_t bytes);
/* Nobody wants it any more. */
void sc_spare_drop(sc_spare *spare, sc_spare_block *block);
/* The first one counts. */
void sc_spare_doubt_it(sc_spare *spare, sc_spare_doubt doubt);

/* The block at `address` has just become live, which makes `live`. */
void sc_spare_allocated(sc_spare *spare, sc_address address, sc_mapped live);
/* It is about to be live no more. */
void sc_spare_freed(sc_spare *spare, sc_address address);
void sc_spare_context_ends(sc_spare *spare, sc_context context);

/* The most that would have been live. */
uint64_t sc_spare_most(const sc_spare *spare);
sc_spare_doubt sc_spare_why_not(const sc_spare *spare);

/* Asserts what this header promises, counting again. */
void sc_spare_check(const sc_spare *spare);

#endif
