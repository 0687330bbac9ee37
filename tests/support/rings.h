/* SPDX-License-Identifier: MIT
 * rings.h - rings for tests: small, on malloc's memory, which is counted and can fail. */
#ifndef SC_TESTS_RINGS_H
#define SC_TESTS_RINGS_H

#include "ring/load.h"
#include "ring/ring.h"

enum { RINGS_ELEMENTS = 3 };

/* The defaults, and entries of 3 f32. */
shapecache_ring_config rings_config(void);

/* Fail the test where they cannot. */
void rings_open(sc_ring *ring, const shapecache_ring_config *config);
void rings_close(sc_ring *ring); /* and where the store is not sound */

/* An entry whose elements are all `value`, with slabs as it wants them; any dtype. */
shapecache_status rings_add(sc_ring *ring, double timestep, long block, float value);
/* The same, which must be taken in. */
void rings_put(sc_ring *ring, double timestep, long block, float value);

/* The first element of what is drawn, over its factor: what was put in, where nothing is rounded.
 */
float rings_draw(sc_ring *ring, sc_ring_reach reach, double timestep, long block,
                 shapecache_ring_drawn *drawn);
/* The first element of the i-th oldest entry of a place. */
float rings_value(const sc_ring *ring, uint32_t place, uint32_t i);

extern const sc_ring_memory rings_memory;
unsigned rings_slabs(void);         /* given out and not back */
void rings_fail_slab(unsigned nth); /* from now; 0: none */

/* Both hold the same: entries in order, counters, and the state of chance. */
bool rings_are_same(const sc_ring *a, const sc_ring *b);

/* A file in a folder of the test's own, removed at exit. */
const char *rings_path(const char *name);

/* Saves, or loads into a new ring of `config`; `why` (NULL: not asked) has 1000 bytes. */
shapecache_status rings_save(const sc_ring *ring, const char *path);
shapecache_status rings_load(sc_ring *ring, const shapecache_ring_config *config, const char *path,
                             unsigned flags, shapecache_ring_loaded *loaded, char *why);

#endif
