/* SPDX-License-Identifier: MIT
 * pool.h - records of one size, from malloc'd chunks, with a free list.
 *
 * Records come zeroed and never move. A chunk goes back when the pool is released, not before: what
 * a program once needed at a time it mostly needs again. The caller locks. */
#ifndef SC_CACHE_POOL_H
#define SC_CACHE_POOL_H

#include <stddef.h>

/* Lies at the start of a chunk, and of a record that is not in use. */
typedef struct sc_pool_link {
    struct sc_pool_link *next;
} sc_pool_link;

typedef struct sc_pool {
    size_t record_bytes; /* at least a link's, a multiple of 8 */
    sc_pool_link *unused;
    sc_pool_link *chunks;
} sc_pool;

void *sc_pool_take(sc_pool *pool); /* zeroed; NULL when out of memory */
void sc_pool_give(sc_pool *pool, void *record);
void sc_pool_release(sc_pool *pool); /* and every record with it */

#endif
