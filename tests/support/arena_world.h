/* SPDX-License-Identifier: MIT
 * arena_world.h - an arena, the program that uses it, and what the program must find: one at a
 * time, on a fake GPU. */
#ifndef SC_TESTS_ARENA_WORLD_H
#define SC_TESTS_ARENA_WORLD_H

#include "arena/arena.h"
#include "support/fake_gpu.h"

enum { BLOCKS = 24, BLOCK_BYTES = 6000, STREAMS = 3, DEPTH = 400, MARKS = 6, BROKEN = 719 };

typedef struct block {
    unsigned char bytes[BLOCK_BYTES];
    unsigned stream;
    bool is_taken;
} block;

typedef struct tensor {
    shapecache_ticket ticket;
    uint64_t bytes, tag, aligned;
    bool is_demand;
    unsigned pattern;
    block *source, *target; /* held while it stays there, or is on its way there; NULL */
} tensor;

extern struct world {
    sc_random random;
    sc_arena arena;
    shapecache_arena_config config;
    sc_stream streams[STREAMS];
    block blocks[BLOCKS];
    tensor stack[DEPTH];
    uint32_t depth, pass_peak, last_peak;
    uint64_t last_number, demand_peak, used_peak, in_flight;
    shapecache_arena_moment marks[MARKS];
    bool is_ignored[BLOCKS];
    shapecache_arena_info counts; /* the counters only */
    unsigned patterns;
    bool may_fail;
} world;

uint64_t below(uint64_t count);
void write_pattern(void *argument);
void check_pattern(void *argument);
void enqueue(void (*run)(void *), block *at, uint64_t bytes, unsigned pattern);
/* New bytes, in the order of its stream. */
void scribble(block *at);
sc_address address(const block *at);
/* NULL: none. STREAMS: of any stream. */
block *free_block(unsigned stream);
uint64_t sum(uint64_t (*of)(const tensor *));
uint64_t room_of(const tensor *one);
uint64_t demand_of(const tensor *one);
void raise_to(uint64_t *mark, uint64_t value);
/* What the arena says of itself with what is known here. */
void compare(void);
/* True: the driver was made to fail, and so did the call, with a sentence. */
bool has_failed(shapecache_status status);
/* Now and then, where this program allows it, the next calls of the driver do. */
void may_fail(void);

#endif
