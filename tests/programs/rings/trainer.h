/* SPDX-License-Identifier: MIT
 * trainer.h - one rank of a video diffusion trainer that feeds its own errors back to itself.
 *
 * A sequence of blocks is denoised block by block, each with the blocks before it as context. Where
 * the model errs, later blocks get what it never saw in training; so the trainer keeps its errors,
 * by block and timestep, and injects some of them:
 *
 *     into the context    what earlier blocks really look like by then     (of the block, any
 * timestep) into the latent     where the path to this timestep really ends      (of the block and
 * timestep) into the noise      what the model took noise for                    (of the block and
 * timestep)
 *
 * Two rings: errors of the latent, errors of the noise. Ranks that have the same blocks share them
 * by timestep. Each step has two phases, and their order is the point: first what concerns all
 * ranks, always, on every rank; then what is random, and nothing in that waits for another rank. A
 * gathering that a rank skipped because its step happened to be a clean one would leave the others
 * waiting. */
#ifndef RINGS_TRAINER_H
#define RINGS_TRAINER_H

#include "group.h"
#include "options.h"
#include "shapecache/shapecache.h"
#include <stdio.h>

enum { TRAINER_POINTS = 3 };

typedef struct trainer {
    const options *options;
    int rank, sequence_rank, shard, shards, blocks; /* blocks: of this rank */
    group peers;                                    /* with the same blocks */
    shapecache_ring *latent, *noise;
    unsigned steps, clean, gathered;
    unsigned injected[TRAINER_POINTS], missing[TRAINER_POINTS]; /* nothing to draw from yet */
    double sum;                                                 /* of everything injected */
} trainer;

/* False: rings could not be made, or not be loaded; stderr says why. */
bool trainer_open(trainer *t, const options *o, int rank, group peers);
void trainer_run(trainer *t);
bool trainer_save(trainer *t);
void trainer_print(trainer *t, FILE *to); /* what became of it */
void trainer_close(trainer *t);

#endif
