/* SPDX-License-Identifier: MIT
 * play.h - makes the calls of a trace, with cudaMalloc and cudaFree, on one thread.
 *
 * Owns nothing but the device memory that the trace has live, all of which is freed at the end of a
 * pass or of the loop. Dies with EXIT_RUN when a call fails or a token was overwritten. */
#ifndef REPLAY_PLAY_H
#define REPLAY_PLAY_H

#include <stdio.h>

#include "loop.h"
#include "trace.h"

struct play_rules {
    uint64_t passes;
    uint64_t loop_to;        /* steps, by `loop`; 0: `passes` it is */
    const struct loop *loop; /* NULL: not needed */
    FILE *steps_to;          /* NULL: nowhere */
    void (*at_step)(void);   /* a step begins; NULL: nobody wants to know */
    double progress;         /* seconds between two lines */
    bool verifies;
    bool times; /* each call */
};

struct play_calls {
    uint64_t count;
    double seconds, worst; /* only if timed */
};

struct play_totals {
    struct play_calls requests, frees; /* of cudaMalloc and cudaFree */
    uint64_t repeats; /* requests that this trace has made before, in an earlier pass or turn, */
    uint64_t same;    /* and that got the same address as the last time */
    uint64_t steps;
    uint64_t peak; /* bytes */
    double seconds;
};

struct play_totals play(const struct trace *trace, const struct play_rules *rules);

#endif
