/* SPDX-License-Identifier: MIT
 * loop.h - the part of a recording that can be repeated, so that a short one becomes a long run.
 *
 * It ends with the recording, or with its last mark where the last step is followed by what the
 * program did at its end. It is
 *
 *   - the shortest period of the steps after the first, if they have one: each step then asks for
 *     and frees the same sizes in the same order as the step one period before;
 *   - else the longest tail at whose ends the same sizes are live, block for block.
 *
 * Blocks that are live over the end of the loop are what its beginning found, one turn later: the
 * gradients of the batch before, say. Each block live at the beginning has a successor of its own
 * size that is live at the end, the newest of a size with the newest; in the next turn, what the
 * trace does to the one happens to the other. What is live at the end and succeeds nothing is left:
 * a program that keeps one loss of each batch. That is only allowed in a period. */
#ifndef REPLAY_LOOP_H
#define REPLAY_LOOP_H

#include "trace.h"

struct loop_pair {
    uint32_t block, successor;
};

struct loop {
    size_t begin, end; /* steps begin .. end - 1 */
    bool is_period;
    struct loop_pair *pairs; /* of all blocks live at `begin` */
    size_t pair_count;
    uint32_t *left; /* live at `end`, successor of nothing */
    size_t left_count;
};

/* False: no part of it can be repeated. */
bool loop_find(const struct trace *trace, struct loop *loop);

#endif
