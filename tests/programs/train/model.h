/* SPDX-License-Identifier: MIT
 * model.h - the network's parameters and their optimizer.
 *
 * Three dense layers over inputs to which a learned table of positions is added. The table has a
 * row for each position of the longest batch, so it and its optimizer state are megabytes, as in
 * real models; a batch uses, and the optimizer updates, the rows of its tokens only.
 *
 * Values live from model_create() to model_destroy(); Adam's state likewise, or from the first
 * optimizer step on if it is lazy. Gradients belong to a step. One thread. */
#ifndef TRAIN_MODEL_H
#define TRAIN_MODEL_H

#include <cuda_runtime.h>

#include "data.h"
#include "kernels.h"
#include "options.h"

enum { HIDDEN1_WIDTH = 32, HIDDEN2_WIDTH = 20 };

enum parameter_id { TABLE, WEIGHT1, BIAS1, WEIGHT2, BIAS2, WEIGHT3, BIAS3, PARAMETERS };

struct parameter {
    float *value;
    float *mean, *square; /* Adam's state; NULL before it is allocated */
    int count;
};

struct model {
    struct parameter parameters[PARAMETERS];
    int optimizer_steps;
    float beta1_power, beta2_power;
};

/* By parameter; the table's first rows only are valid, one for each token of the step's batches. */
struct gradients {
    float *of[PARAMETERS];
};

void model_create(struct model *model, const struct options *options, cudaStream_t stream);
void model_destroy(struct model *model);

/* Zeroed. */
void gradients_allocate(struct gradients *gradients, const struct model *model, struct batch batch,
                        cudaStream_t stream);
void gradients_free(struct gradients *gradients);

void optimizer_step(struct model *model, const struct gradients *gradients, struct batch batch,
                    cudaStream_t stream);

#endif
