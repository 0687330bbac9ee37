/* SPDX-License-Identifier: MIT
 * strict.h - SHAPECACHE_STRICT: driver allocations that a settled cache should have served, in the
 * log of one device.
 *
 * All are counted; a record is written for the first of each shape, and at most SC_STRICT_RECORDS
 * in all, so that a run in which every step has them cannot fill its log. The program notices
 * nothing. Guarded by the device's lock. */
#ifndef SC_ENGINE_STRICT_H
#define SC_ENGINE_STRICT_H

#include "cache/cache.h"
#include <stdbool.h>
#include <stdint.h>

struct sc_journal;

enum { SC_STRICT_RECORDS = 256, SC_STRICT_SHAPES = 4096 };

typedef struct sc_strict {
    uint64_t count;
    unsigned records;
    uint64_t seen[SC_STRICT_SHAPES / 64]; /* ids, modulo so many */
} sc_strict;

/* The driver has granted one. Nothing unless SHAPECACHE_STRICT is on. */
void sc_strict_note(struct sc_journal *journal, uint32_t shape, uint64_t bytes, uint32_t site,
                    sc_lapse lapse);

#endif
