/* SPDX-License-Identifier: MIT
 * world.h - the cache and the reference side by side, with a driver that hands freed addresses out
 * again at once and watches that no memory ever has two owners.
 *
 * world_operate() does one random thing to both and holds their answers against each other;
 * world_compare() all that both can say. Whatever differs fails the test with the number of the
 * operation. One world at a time. */
#ifndef SC_TESTS_WORLD_H
#define SC_TESTS_WORLD_H

#include "model/reference.h"
#include "support/seed.h"
#include <check.h>

#define MIB ((uint64_t)1 << 20)

/* check's own assertions write a line each, too slow for millions of them */
#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            ck_abort_msg("operation %llu: %s does not hold", (unsigned long long)operation,        \
                         #condition);                                                              \
        }                                                                                          \
    } while (0)
#define MUST_EQUAL(got, expected)                                                                  \
    do {                                                                                           \
        uint64_t got_ = (uint64_t)(got), expected_ = (uint64_t)(expected);                         \
                                                                                                   \
        if (got_ != expected_) {                                                                   \
            ck_abort_msg("operation %llu: %s is %llu, not %s, %llu",                               \
                         (unsigned long long)operation, #got, (unsigned long long)got_, #expected, \
                         (unsigned long long)expected_);                                           \
        }                                                                                          \
    } while (0)

enum { ADDRESSES = 1500, PENDING = 4, PALETTE = 8 };

extern uint64_t operation; /* of the scene, for the messages above */

/* What the driver knows of an address. */
typedef struct cell {
    bool is_allocated;
    bool is_programs; /* the program has it */
    sc_context context;
} cell;

typedef struct pending_allocation {
    sc_buffer *buffer;
    ref_block *block;
    sc_request request;
} pending_allocation;

typedef struct pending_park {
    sc_buffer *buffer;
    ref_block *block;
    sc_address address;
} pending_park;

typedef struct world {
    sc_random random;
    sc_cache *cache;
    reference *ref;
    cell cells[ADDRESSES];
    sc_request palette[PALETTE];
    pending_allocation allocations[PENDING];
    pending_park parks[PENDING];
    unsigned allocation_count, park_count;
    sc_victims going;
    bool is_passing;
    uint64_t novelty;  /* one request in `novelty` is of a new shape; 0: none */
    unsigned programs; /* blocks the program has */
    sc_address latest; /* of them */
    uint64_t rows, changes;
    uint64_t now;
    sc_reason last_reason;
} world;

uint64_t below(world *w, uint64_t count);
bool one_in(world *w, uint64_t count);

void world_operate(world *w);
void world_compare(world *w);
void world_compare_shapes(world *w);

#endif
