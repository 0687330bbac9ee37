/* SPDX-License-Identifier: MIT */
#include "trace.h"

#include <stdlib.h>

#include "die.h"

static const uint64_t most_live = 1ull << 62;
static const uint32_t most_blocks = INT32_MAX;

/* Room for one more item; dies without memory. */
static void *with_room(void *items, size_t *room, size_t used, size_t item_bytes)
{
    size_t more = *room > 0 ? 2 * *room : 1024;

    if (used < *room)
        return items;
    items = reallocarray(items, more, item_bytes);
    if (items == NULL)
        die(EXIT_INPUT, "no memory for more than %zu events", used);
    *room = more;
    return items;
}

static void add_event(struct trace *trace, uint32_t event)
{
    trace->events =
        with_room(trace->events, &trace->event_room, trace->event_count, sizeof trace->events[0]);
    trace->events[trace->event_count++] = event;
}

uint32_t trace_allocate(struct trace *trace, uint64_t bytes, bool *is_full)
{
    uint32_t block = trace->block_count;

    *is_full = bytes > most_live - trace->live || block == most_blocks;
    if (*is_full)
        return TRACE_NO_BLOCK;
    if (bytes == 0) {
        trace->left_out++;
        return TRACE_NO_BLOCK;
    }
    trace->bytes =
        with_room(trace->bytes, &trace->block_room, trace->block_count, sizeof trace->bytes[0]);
    trace->bytes[trace->block_count++] = bytes;
    trace->live += bytes;
    if (trace->live > trace->peak)
        trace->peak = trace->live;
    add_event(trace, block << 1);
    return block;
}

void trace_free(struct trace *trace, uint32_t block)
{
    if (block == TRACE_NO_BLOCK)
        return;
    trace->live -= trace->bytes[block];
    add_event(trace, block << 1 | 1);
}

void trace_mark(struct trace *trace)
{
    trace->marks =
        with_room(trace->marks, &trace->mark_room, trace->mark_count, sizeof trace->marks[0]);
    trace->marks[trace->mark_count++] = trace->event_count;
}

size_t trace_step_begin(const struct trace *trace, size_t step)
{
    return step < trace->mark_count ? trace->marks[step] : trace->event_count;
}
