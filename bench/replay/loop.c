/* SPDX-License-Identifier: MIT */
#include "loop.h"

#include <stdlib.h>

#include "die.h"

/* The blocks live before event `end`, in order of their sizes, the newest of a size first. */
struct live {
    uint32_t *blocks;
    size_t count;
};

static int compare(const void *left, const void *right, void *bytes_of)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const uint64_t *bytes = bytes_of;

    if (bytes[a] != bytes[b])
        return bytes[a] < bytes[b] ? -1 : 1;
    return a > b ? -1 : 1;
}

static struct live live_at(const struct trace *trace, size_t step)
{
    size_t end = trace_step_begin(trace, step), count = 0;
    bool *is_live = calloc(trace->block_count, sizeof *is_live);
    struct live live = {calloc(trace->block_count, sizeof *live.blocks), 0};

    if (is_live == NULL || live.blocks == NULL)
        die(EXIT_INPUT, "no memory for %u blocks", trace->block_count);
    for (size_t i = 0; i < end; i++)
        is_live[trace_block(trace->events[i])] = !trace_is_free(trace->events[i]);
    for (uint32_t block = 0; block < trace->block_count; block++)
        if (is_live[block])
            live.blocks[count++] = block;
    live.count = count;
    qsort_r(live.blocks, count, sizeof *live.blocks, compare, trace->bytes);
    free(is_live);
    return live;
}

/* Do steps a and b ask for and free the same sizes in the same order? */
static bool is_alike(const struct trace *trace, size_t a, size_t b)
{
    size_t from_a = trace_step_begin(trace, a), from_b = trace_step_begin(trace, b);
    size_t count = trace_step_begin(trace, a + 1) - from_a;

    if (trace_step_begin(trace, b + 1) - from_b != count)
        return false;
    for (size_t i = 0; i < count; i++) {
        uint32_t one = trace->events[from_a + i], other = trace->events[from_b + i];

        if (trace_is_free(one) != trace_is_free(other) ||
            trace->bytes[trace_block(one)] != trace->bytes[trace_block(other)])
            return false;
    }
    return true;
}

/* The shortest period of steps 1 .. end - 1; 0: none was seen to return. */
static size_t period_of(const struct trace *trace, size_t end)
{
    for (size_t period = 1; period + 1 < end; period++) {
        size_t step = end - 1;

        while (step > period && is_alike(trace, step, step - period))
            step--;
        if (step == period)
            return period;
    }
    return 0;
}

/* Finds a successor for each block live at the loop's begin, and what is left. False: one has none,
 * or something is left that may not be. */
static bool pair(const struct trace *trace, struct loop *loop)
{
    struct live first = live_at(trace, loop->begin), last = live_at(trace, loop->end);
    size_t next = 0;

    loop->pairs = calloc(first.count + 1, sizeof *loop->pairs);
    loop->left = calloc(last.count + 1, sizeof *loop->left);
    if (loop->pairs == NULL || loop->left == NULL)
        die(EXIT_INPUT, "no memory for %u blocks", trace->block_count);
    loop->pair_count = loop->left_count = 0;
    for (size_t i = 0; i < last.count; i++) {
        uint64_t bytes = trace->bytes[last.blocks[i]];

        if (next < first.count && trace->bytes[first.blocks[next]] == bytes)
            loop->pairs[loop->pair_count++] =
                (struct loop_pair){first.blocks[next++], last.blocks[i]};
        else
            loop->left[loop->left_count++] = last.blocks[i];
    }
    free(first.blocks);
    free(last.blocks);
    if (next == first.count && (loop->is_period || loop->left_count == 0))
        return true;
    free(loop->pairs);
    free(loop->left);
    return false;
}

static bool is_loop(const struct trace *trace, struct loop *loop)
{
    return trace_step_begin(trace, loop->begin) < trace_step_begin(trace, loop->end) &&
           pair(trace, loop);
}

bool loop_find(const struct trace *trace, struct loop *loop)
{
    size_t steps = trace->mark_count;

    for (size_t end = steps; end > 1 && end + 1 >= steps; end--) {
        size_t period = period_of(trace, end);

        *loop = (struct loop){.begin = end - period, .end = end, .is_period = true};
        if (period > 0 && is_loop(trace, loop))
            return true;
    }
    for (size_t end = steps; end > 0 && end + 1 >= steps; end--)
        for (size_t begin = 0; begin < end; begin++) {
            *loop = (struct loop){.begin = begin, .end = end};
            if (is_loop(trace, loop))
                return true;
        }
    return false;
}
