/* SPDX-License-Identifier: MIT
 * options.h - what the ranks are to do; the same in each. */
#ifndef RINGS_OPTIONS_H
#define RINGS_OPTIONS_H

#include <stdbool.h>

typedef struct options {
    int ranks,
        sequence;     /* ranks in all, and how many share one sequence: each has its own blocks */
    int blocks;       /* of the sequence */
    int first, steps; /* steps first + 1 .. first + steps */
    int warmup;       /* up to this step, items of all ranks with the same blocks are gathered */
    int keep;         /* of the gathered items */
    int every;        /* steps between two reports */
    int capacity, seed;
    double context, latent, noise; /* chances of the three injections */
    double clean, update;          /* of a step without any; that such a step's errors are kept */
    const char *from, *to;         /* folders that rings are loaded from and saved to; NULL: none */
    bool is_resuming, is_overlapping;
    int old_ranks; /* whose files an overlapping resume reads */
} options;

/* Ends the process at what it does not understand. */
options options_read(int argc, char **argv);

#endif
