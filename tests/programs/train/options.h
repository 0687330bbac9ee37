/* SPDX-License-Identifier: MIT
 * options.h - what the training program can be told on its command line.
 *
 * Plain values, filled once before CUDA is touched and constant from then on. */
#ifndef TRAIN_OPTIONS_H
#define TRAIN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum length_mode {
    LENGTHS_FIXED,
    LENGTHS_BUCKETS,     /* one of length_count lengths, drawn at every step */
    LENGTHS_RANDOM,      /* a new length at every step, never one seen before */
    LENGTHS_LATE_CHANGE, /* fixed until step LATE_CHANGE_STEP, random from there on */
    LENGTHS_RARE         /* fixed, but a new length once in length_count steps */
};

struct options {
    int steps;
    enum length_mode length_mode;
    int length_count;
    int length;     /* rows of a batch; other lengths are drawn from half to one and a half of it */
    int accumulate; /* micro-batches whose gradients one optimizer step sums */
    int eval_every; /* 0: never */
    int leak;       /* bytes that each step allocates and forgets; 0: none */
    int threads;    /* each trains a network of its own */
    uint64_t seed;
    bool lazy_state;
    bool short_last_batch;
    bool keep_output; /* a batch's predictions live until the next batch has its own */
    bool wide;
    bool quiet;
};

/* Fills *options from the command line. Returns -1 to go on, else the status to exit with: 0 after
 * --help, 2 after printing what is wrong with an argument. */
int options_parse(struct options *options, int argc, char **argv);

#ifdef __cplusplus
}
#endif

#endif
