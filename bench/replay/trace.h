/* SPDX-License-Identifier: MIT
 * trace.h - what a program allocated and freed, in order, in 4 bytes an event.
 *
 * Blocks are numbered in the order of their allocation, whatever names they had in the file, and
 * have one size for life. An event is `block * 2`, plus 1 for a free. Each block is allocated once
 * and freed at most once, after that: those who build a trace see to it, those who play it rely on
 * it.
 *
 * A mark is where the program's own loop began a step: step i is what happens from mark i to the
 * next, or to the end. What comes before the first mark belongs to no step. */
#ifndef REPLAY_TRACE_H
#define REPLAY_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_NO_BLOCK UINT32_MAX

struct trace {
    uint32_t *events;
    size_t event_count;
    uint64_t *bytes; /* of each block */
    uint32_t block_count;
    size_t *marks; /* events before each step */
    size_t mark_count;
    uint64_t live, peak; /* bytes: at the end, and at most */
    uint64_t left_out;   /* requests that never reach a driver: of 0 bytes, or failed */
    size_t event_room, block_room, mark_room;
};

static inline uint32_t trace_block(uint32_t event)
{
    return event >> 1;
}

static inline bool trace_is_free(uint32_t event)
{
    return event & 1;
}

/* The number of the new block. Requests of 0 bytes are left out: TRACE_NO_BLOCK, also where the
 * trace is full, that is at 2^31 - 1 blocks or 2^62 live bytes; `is_full` then says so. */
uint32_t trace_allocate(struct trace *trace, uint64_t bytes, bool *is_full);
void trace_free(struct trace *trace, uint32_t block); /* TRACE_NO_BLOCK is passed over */
void trace_mark(struct trace *trace);

/* Events before step `step`; at `mark_count`, all of them. */
size_t trace_step_begin(const struct trace *trace, size_t step);

#endif
