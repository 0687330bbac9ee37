/* SPDX-License-Identifier: MIT */
#include "arena/stack.h"
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 64 };

void sc_stack_init(sc_stack *stack, uint64_t capacity)
{
    *stack = (sc_stack){.capacity = capacity};
}

void sc_stack_release(sc_stack *stack)
{
    free(stack->entries);
    *stack = (sc_stack){.capacity = 0};
}

uint64_t sc_stack_aligned(uint64_t bytes)
{
    const uint64_t rest = SC_ARENA_ALIGNMENT - 1;

    return bytes > UINT64_MAX - rest ? UINT64_MAX : (bytes + rest) & ~rest;
}

bool sc_stack_fits(const sc_stack *stack, uint64_t bytes)
{
    return sc_stack_aligned(bytes) <= stack->capacity - stack->used;
}

static void raise(uint64_t *mark, uint64_t value)
{
    if (*mark < value)
        *mark = value;
}

static uint64_t sum(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

void sc_stack_note_demand(sc_stack *stack, uint64_t bytes)
{
    raise(&stack->demand_peak, sum(stack->demand, sc_stack_aligned(bytes)));
}

bool sc_stack_reserve(sc_stack *stack)
{
    uint32_t room = stack->room ? stack->room * 2 : FIRST_ROOM;

    if (stack->count < stack->room)
        return true;
    sc_entry *entries = room > stack->room ? realloc(stack->entries, room * sizeof *entries) : NULL;

    if (!entries)
        return false;
    stack->entries = entries;
    stack->room = room;
    return true;
}

sc_entry *sc_stack_push(sc_stack *stack, sc_place place, uint64_t bytes, bool is_demand)
{
    sc_entry *entry = &stack->entries[stack->count++];
    uint64_t aligned = sc_stack_aligned(bytes);

    *entry = (sc_entry){
        .number = ++stack->last_number,
        .offset = stack->used,
        .bytes = bytes,
        .room = place == SC_PLACE_PINNED ? aligned : 0,
        .demand = is_demand ? aligned : 0,
        .place = place,
    };
    stack->used += entry->room;
    stack->demand = sum(stack->demand, entry->demand);
    return entry;
}

sc_entry *sc_stack_top(sc_stack *stack)
{
    return stack->count ? &stack->entries[stack->count - 1] : NULL;
}

sc_entry *sc_stack_find(sc_stack *stack, uint32_t index, uint64_t number)
{
    return index < stack->count && stack->entries[index].number == number ? &stack->entries[index]
                                                                          : NULL;
}

/* Peaks are taken when something goes, so that a push that is undone never counted. */
static void note_peaks(sc_stack *stack)
{
    raise(&stack->used_peak, stack->used);
    raise(&stack->demand_peak, stack->demand);
    if (stack->count_peak < stack->count)
        stack->count_peak = stack->count;
    if (stack->pass_peak < stack->count)
        stack->pass_peak = stack->count;
}

static void drop(sc_stack *stack)
{
    const sc_entry *top = &stack->entries[--stack->count];

    stack->used -= top->room;
    stack->demand -= top->demand;
}

void sc_stack_pop(sc_stack *stack)
{
    note_peaks(stack);
    drop(stack);
    if (stack->count)
        return;
    stack->last_peak = stack->pass_peak;
    stack->pass_peak = 0;
    stack->passes++;
}

void sc_stack_undo(sc_stack *stack)
{
    drop(stack);
    stack->last_number--;
}

bool sc_stack_stands_on(const sc_stack *stack, uint32_t depth, uint64_t number)
{
    if (depth == 0)
        return number == 0;
    return depth <= stack->count && stack->entries[depth - 1].number == number;
}
