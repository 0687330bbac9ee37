/* SPDX-License-Identifier: MIT
 * trainer.h - one run's state on the device, and what is done with a batch.
 *
 * Two non-blocking streams: `copy` brings a batch from pinned staging memory to the device, and an
 * event orders `compute` behind it. Tensors are freed as soon as the work that uses them is
 * enqueued: cudaFree waits for that work, and the program relies on it as many do. One thread. */
#ifndef TRAIN_TRAINER_H
#define TRAIN_TRAINER_H

#include <cuda_runtime.h>

#include "data.h"
#include "kernels.h"
#include "model.h"
#include "options.h"

struct trainer {
    struct options options;
    struct teacher teacher;
    struct model model;
    cudaStream_t copy, compute;
    cudaEvent_t copied;
    float *staged_inputs, *staged_targets, *staged_loss; /* pinned */
    float *wide_weight, *wide_bias;                      /* frozen; NULL without --wide */
    float *kept_output;                                  /* NULL without --keep-output */
};

void trainer_create(struct trainer *trainer, const struct options *options);
void trainer_destroy(struct trainer *trainer);

/* A forward and a backward pass over training batch `index`; adds to the gradients, returns the
 * loss. */
float train_batch(struct trainer *trainer, struct batch batch, uint64_t index,
                  struct gradients *gradients);

/* A forward pass over the evaluation batch, in buffers of its own; returns the loss. */
float evaluate(struct trainer *trainer, struct batch batch);

/* Makes a batch and copies it into the tensors' last rows; `compute` waits for the copy. */
void feed_batch(struct trainer *trainer, struct batch batch, enum random_purpose purpose,
                uint64_t index, float *inputs, float *targets);

/* --wide (wide.cu): frozen layers behind the predictions, each of another width. Takes the
 * predictions tensor and returns the one that replaces it. */
void wide_create(struct trainer *trainer);
void wide_destroy(struct trainer *trainer);
float *wide_forward(struct trainer *trainer, struct batch batch, float *predictions);

/* Bytes of a tensor of `width` columns. */
static inline size_t tensor_bytes(struct batch batch, int width)
{
    return (size_t)batch.length * (size_t)width * sizeof(float);
}

#endif
