/* SPDX-License-Identifier: MIT
 * stack.h - the bookkeeping of an arena: which tensor lies where, and in which order they come
 * back.
 *
 * Pure: no driver, no clock, no lock. Places are given upwards from offset 0 and taken back from
 * the top, so an arena never has holes:
 *
 *     0          used                          capacity
 *     |--- 0 ---|- 1 -|- 2 ---|     free      |          ticket numbers grow upwards
 *
 * Invariants: an entry's offset is the sum of the places below it; offsets are multiples of 256;
 * used <= capacity; demand is the sum of what entries took or would have taken, had there been
 * room, so demand >= used; numbers grow from the bottom to the top and are never given twice.
 *
 * An entry that takes no room (SC_PLACE_DEVICE and SC_PLACE_PAGEABLE) is on the stack all the same:
 * order is one rule for all. The stack owns its array; what entries refer to is others'. */
#ifndef SC_ARENA_STACK_H
#define SC_ARENA_STACK_H

#include "base/driver.h"
#include <stdbool.h>
#include <stdint.h>

enum { SC_ARENA_ALIGNMENT = 256 };

typedef enum sc_place { SC_PLACE_PINNED, SC_PLACE_DEVICE, SC_PLACE_PAGEABLE } sc_place;

typedef struct sc_entry {
    uint64_t number;
    uint64_t offset, bytes; /* exact bytes */
    uint64_t room;          /* taken from the arena: aligned, 0 where it lies elsewhere */
    uint64_t demand;        /* what it would have taken */
    uint64_t tag;
    sc_place place;
    sc_address source;
    void *pageable;    /* its memory on the host, of SC_PLACE_PAGEABLE */
    sc_gpu_event out;  /* its copy out; 0: none was made */
    sc_address target; /* where it is on its way to; 0: it is not */
    sc_gpu_event in;   /* that copy */
    void *home;        /* what the arena's watcher said of its source; NULL: it is away no more */
} sc_entry;

typedef struct sc_stack {
    uint64_t capacity;
    sc_entry *entries;
    uint32_t count, room; /* entries there are, and have memory */
    uint64_t last_number; /* given so far */
    uint64_t used, used_peak;
    uint64_t demand, demand_peak;
    uint32_t count_peak; /* of the whole life, */
    uint32_t pass_peak;  /* since the stack was last empty, */
    uint32_t last_peak;  /* and of the pass before: 0, there was none */
    uint64_t passes;     /* times the stack became empty */
} sc_stack;

void sc_stack_init(sc_stack *stack, uint64_t capacity);
void sc_stack_release(sc_stack *stack);

/* `bytes` in whole alignments; UINT64_MAX: there is no such number. */
uint64_t sc_stack_aligned(uint64_t bytes);
bool sc_stack_fits(const sc_stack *stack, uint64_t bytes);
/* A tensor came that could not be put on the stack: what it would have taken counts. */
void sc_stack_note_demand(sc_stack *stack, uint64_t bytes);

/* Memory for one more entry; false: there is none. */
bool sc_stack_reserve(sc_stack *stack);
/* One more on top, reserved before, which fits if `place` is pinned. `is_demand`: it counts as what
 * an arena without an end would hold. Good until the next push. */
sc_entry *sc_stack_push(sc_stack *stack, sc_place place, uint64_t bytes, bool is_demand);
sc_entry *sc_stack_top(sc_stack *stack); /* NULL: empty */
/* The entry of a ticket; NULL: it is not on the stack (any more). */
sc_entry *sc_stack_find(sc_stack *stack, uint32_t index, uint64_t number);
void sc_stack_pop(sc_stack *stack);
/* The last push did not happen, and its number is free again. */
void sc_stack_undo(sc_stack *stack);

/* Whether the stack has stood at this height with this ticket on top ever since. */
bool sc_stack_stands_on(const sc_stack *stack, uint32_t depth, uint64_t number);

#endif
