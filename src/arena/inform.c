/* SPDX-License-Identifier: MIT */
#include "arena/arena.h"
#include <assert.h>

static uint64_t more(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

void sc_arena_inform(const sc_arena *arena, shapecache_arena_info *info)
{
    const sc_stack *stack = &arena->stack;

    *info = arena->counters;
    info->capacity = arena->config.capacity;
    info->mapped = arena->pinned.bytes;
    info->pinned = atomic_load(&arena->pinned.locked);
    info->pin_ns = atomic_load(&arena->pinned.ns);
    info->node = arena->node;
    info->used = stack->used;
    info->used_peak = more(stack->used_peak, stack->used);
    info->demand_peak = more(stack->demand_peak, stack->demand);
    info->pageable = arena->pageable;
    info->depth = stack->count;
    info->depth_peak = more(stack->count_peak, stack->count);
    info->passes = stack->passes;
}

void sc_arena_check(const sc_arena *arena)
{
    const sc_stack *stack = &arena->stack;
    uint64_t used = 0, demand = 0, pageable = 0, in_flight = 0, events = 0, number = 0;

    for (uint32_t i = 0; i < stack->count; i++) {
        const sc_entry *entry = &stack->entries[i];

        assert(entry->number > number && entry->offset == used);
        assert(entry->offset % SC_ARENA_ALIGNMENT == 0);
        assert((entry->out != 0) == (entry->place != SC_PLACE_DEVICE));
        assert((entry->in != 0) == (entry->target != 0));
        number = entry->number;
        used += entry->room;
        demand += entry->demand;
        pageable += entry->place == SC_PLACE_PAGEABLE ? entry->bytes : 0;
        in_flight += entry->in ? entry->bytes : 0;
        events += entry->out ? 1 : 0;
        events += entry->in ? 1 : 0;
    }
    assert(used == stack->used && used <= stack->capacity && demand == stack->demand);
    assert(pageable == arena->pageable && in_flight == arena->in_flight);
    assert(events + arena->copies.ghost_count + arena->copies.spares == arena->copies.made);
    (void)events, (void)number, (void)used, (void)demand, (void)pageable, (void)in_flight;
}
