/* SPDX-License-Identifier: MIT
 * map.h - a hash table from a nonzero 64-bit number to a pointer, for the path of a served request.
 *
 * Open addressing, linear probing, backward-shift deletion (no tombstones, so a table that lives
 * for a month does not decay). Finding never allocates; putting may, and says when it could not,
 * leaving the table as it was. It grows at three quarters full and never shrinks. Colder tables use
 * uthash. The caller locks. */
#ifndef SC_BASE_MAP_H
#define SC_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sc_map_entry {
    uint64_t key; /* 0: empty */
    void *value;
} sc_map_entry;

typedef struct sc_map {
    sc_map_entry *entries;
    size_t used;
    size_t size; /* 0 or a power of two */
} sc_map;

void sc_map_release(sc_map *map);                        /* a zeroed struct is an empty map */
void *sc_map_find(const sc_map *map, uint64_t key);      /* NULL when absent */
bool sc_map_put(sc_map *map, uint64_t key, void *value); /* replaces; false: out of memory */
void *sc_map_remove(sc_map *map, uint64_t key);          /* what was there, or NULL */
uint64_t sc_hash(uint64_t value); /* a good 64-bit mix, never used as identity */

#endif
