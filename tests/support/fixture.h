/* SPDX-License-Identifier: MIT
 * fixture.h - a cache as the engine uses it, over a driver that is one counter.
 *
 * After each whole operation the cap is computed here and held against what the cache holds. The
 * fixture stays where it is from fixture_begin() to fixture_end(): the cache points into it. */
#ifndef SC_TESTS_FIXTURE_H
#define SC_TESTS_FIXTURE_H

#include "cache/cache.h"

#define MIB ((uint64_t)1 << 20)
enum { WARMUP = 3, REARM = 6, MOST_LIVE = 256 };

typedef struct fixture {
    sc_cache *cache;
    sc_cache_rules rules;
    uint64_t next; /* the driver never hands out an address twice, unless told to */
    uint64_t frees, frees_in_allocations, driver_allocs;
    sc_phase_change changes[64];
    unsigned change_count;
    sc_step_row rows[512];
    unsigned row_count;
    unsigned rows_at_change[64];
    unsigned shape_count;
    uint64_t peaks[512]; /* live peak of each finished step */
    uint64_t now;
} fixture;

extern const sc_cache_rules fixture_usual;

fixture fixture_with(sc_cache_rules rules);
void fixture_begin(fixture *f);
/* Begins, and makes steps of four times 4 MiB until the set is fixed. */
void fixture_fix(fixture *f);
void fixture_end(fixture *f);
sc_cache_totals fixture_totals(const fixture *f);

sc_answer fixture_ask(fixture *f, sc_request request, sc_address *address);
sc_address fixture_get(fixture *f, uint64_t bytes); /* in context 1, from nowhere */
sc_free_answer fixture_put(fixture *f, sc_address address);
/* One step: `count` buffers of `bytes`, all live at once, freed in the order they came. */
void fixture_step(fixture *f, uint64_t bytes, unsigned count, sc_address *addresses);
/* Takes and frees until nothing is wanted for this reason. */
void fixture_give_back(fixture *f, sc_take why);
/* held <= max(live, min(limit, 1.25 x most live bytes of the last max_age steps)) */
void fixture_check_cap(const fixture *f);

#endif
