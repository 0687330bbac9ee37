/* SPDX-License-Identifier: MIT
 * step_programs.h - programs for the tests of step inference, drawn rather than recorded.
 *
 * A script is what one program does to live memory: +bytes for a request, -bytes for a free, 0
 * where a batch begins. There is one, of the test that runs: check runs each in its own process or
 * after tear_down(). */
#ifndef UNIT_STEP_PROGRAMS_H
#define UNIT_STEP_PROGRAMS_H

#include <check.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define KIB INT64_C(1024)
#define MIB (1024 * KIB)

enum { BATCH = 0 };

typedef struct script {
    int64_t *deltas;
    size_t count, capacity;
} script;

static script program; /* of the test that runs */
static uint64_t seed;
static uint64_t state;

static uint64_t random_below(uint64_t bound)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % bound;
}

static void put(int64_t delta)
{
    if (program.count == program.capacity) {
        program.capacity = program.capacity ? 2 * program.capacity : 4096;
        program.deltas = realloc(program.deltas, program.capacity * sizeof *program.deltas);
        ck_assert_ptr_nonnull(program.deltas);
    }
    program.deltas[program.count++] = delta;
}

static int64_t take(int64_t bytes)
{
    put(bytes);
    return bytes;
}

static void give(int64_t bytes)
{
    put(-bytes);
}

static void set_up(void)
{
    const char *given = getenv("SC_SEED");

    seed = given ? strtoull(given, NULL, 0) : 20240229;
    state = seed ? seed : 1;
    printf("seed %" PRIu64 "\n", seed);
    program.count = 0;
}

static void tear_down(void)
{
    free(program.deltas);
    program = (script){0};
}

/* The programs: a network of three layers. Tensors grow with the batch's length, in thousandths. */
typedef struct network {
    int64_t weights;  /* bytes */
    int64_t rows;     /* bytes of a tensor of width 1 at full length */
    int depth;        /* layers */
    int jitter;       /* percent by which sizes differ from batch to batch */
    bool is_kept;     /* the output lives until the next batch has its own */
    int64_t previous; /* that output */
} network;

static const network small = {.weights = 5 * MIB, .rows = 192 * KIB, .depth = 3};

static int64_t tensor(const network *net, int width, int length)
{
    int64_t bytes = net->rows * width * length / 1000;

    if (net->jitter)
        bytes += bytes * (int64_t)random_below((uint64_t)net->jitter) / 100;
    return bytes;
}

static void train_batch(network *net, int length)
{
    int64_t input = take(tensor(net, 16, length)), targets = take(tensor(net, 12, length));
    int64_t sums[64], outputs[64], loss, predictions, gradient, workspace;

    for (int layer = 0; layer < net->depth; layer++) {
        sums[layer] = take(tensor(net, 20 + layer % 3 * 6, length));
        workspace = take(tensor(net, 10, length));
        outputs[layer] = take(tensor(net, 20 + layer % 3 * 6, length));
        give(workspace);
    }
    predictions = take(tensor(net, 12, length));
    loss = take(4);
    give(loss);
    gradient = take(tensor(net, 12, length));
    give(targets);
    if (!net->is_kept)
        give(predictions);
    if (net->previous)
        give(net->previous);
    net->previous = net->is_kept ? predictions : 0;
    for (int layer = net->depth - 1; layer >= 0; layer--) {
        int64_t next;

        workspace = take(64 * KIB);
        give(workspace);
        give(outputs[layer]);
        next = take(tensor(net, 20, length));
        give(gradient);
        give(sums[layer]);
        gradient = next;
    }
    give(gradient);
    give(input);
}

static void evaluate_batch(const network *net, int length)
{
    int64_t last = take(tensor(net, 16, length));

    for (int layer = 0; layer < net->depth; layer++) {
        int64_t next = take(tensor(net, 20, length));

        give(last);
        last = next;
    }
    give(last);
}

/* A recurrent network, its time steps one by one: each asks for the same sizes, keeps five of eight
 * blocks for the backward pass, and makes a ripple higher than what all of them keep. */
static inline void train_recurrent_batch(int time_steps, int64_t unit)
{
    for (int i = 0; i < time_steps; i++) {
        for (int kept = 0; kept < 5; kept++)
            take(unit * (8 + kept));
        take(unit * 4);
        give(unit * 4);
        take(unit * 2000);
        give(unit * 2000);
        take(unit * 5);
        give(unit * 5);
    }
    for (int i = 0; i < time_steps; i++) {
        take(unit * 1500);
        give(unit * 1500);
        take(unit * 6);
        give(unit * 6);
        for (int kept = 5; kept-- > 0;)
            give(unit * (8 + kept));
    }
}

typedef struct run {
    network net;
    int steps, accumulate;
    int64_t state_bytes; /* optimizer state created in the first step; 0: none */
    int64_t leak;        /* bytes a step */
    int eval_every, eval_length;
    int other_every, other_length; /* every so many batches one has another length */
    bool is_random;                /* lengths from a quarter to twice the full one */
} run;

static inline void write_training(run r)
{
    take(r.net.weights / 2);
    take(r.net.weights / 2);
    for (int step = 0; step < r.steps; step++) {
        int length = r.is_random ? 250 + (int)random_below(1750) : 1000;
        int64_t gradients;

        if (r.other_every && step % r.other_every == r.other_every - 1)
            length = r.other_length;
        if (r.is_random)
            r.net.rows += 4; /* no two batches share a size */
        put(BATCH);
        gradients = take(r.net.weights);
        for (int micro = 0; micro < (r.accumulate ? r.accumulate : 1); micro++)
            train_batch(&r.net, length);
        if (r.state_bytes && step == 0) {
            take(r.state_bytes / 2);
            take(r.state_bytes / 2);
        }
        give(gradients);
        if (r.leak)
            take(r.leak);
        if (r.eval_every && step % r.eval_every == r.eval_every - 1)
            evaluate_batch(&r.net, r.eval_length);
    }
}

#endif
