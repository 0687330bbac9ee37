/* SPDX-License-Identifier: MIT
 * sites.h - call sites with a gate of their own (SHAPECACHE_SCOPE=site), as a log tells of them:
 * the phase of each, how often it fell back, and what its shapes add up to.
 *
 * Empty for a log with one gate a device. Sites are bounded by the cache itself; a log that names
 * more than SC_SITES_MOST is cut there, and says so (`left_out`). */
#ifndef SC_CLI_SITES_H
#define SC_CLI_SITES_H

#include "base/map.h"
#include <stdint.h>

enum { SC_SITES_MOST = 65536, SC_SITE_PHASE_BYTES = 24 };

typedef struct sc_site {
    char *name;
    char phase[SC_SITE_PHASE_BYTES];
    uint64_t since; /* step of the last change */
    uint64_t fallbacks, first_fallback;
    uint64_t shapes, requests, hits, misses;
    struct sc_site *same_hash;
} sc_site;

typedef struct sc_sites {
    sc_site **at;
    unsigned count;
    uint64_t left_out;
    sc_map by_hash;
} sc_sites;

/* The gate of `name` is in phase `to` from `step` on. */
void sc_sites_moved(sc_sites *sites, const char *name, const char *to, uint64_t step);
/* All that are in `from`, or all where that is NULL, moved together. */
void sc_sites_moved_all(sc_sites *sites, const char *from, const char *to, uint64_t step);
/* A shape of `name`, whose gate never moved on from `silent` if nothing was told of it; passed over
 * where nothing was told of any gate. */
void sc_sites_add_shape(sc_sites *sites, const char *name, const char *silent,
                        const sc_site *figures);
void sc_sites_sort(sc_sites *sites); /* most requests first */
void sc_sites_release(sc_sites *sites);

#endif
