/* SPDX-License-Identifier: MIT
 * kernels.h - the kernels of the training program, and how they are launched.
 *
 * A batch is `length` rows, padded at the front as batches of sequences often are: only its last
 * `tokens` rows carry data. A tensor of width w is length x w floats, row by row; kernels compute
 * the rows that carry data and leave the padding alone, so that big tensors cost little arithmetic.
 *
 *     row    0               length - tokens          length
 *     tensor |---- padding ----|-------- data --------|
 *
 * Every sum has one fixed order and no kernel uses an atomic: a run gives the same bits each time.
 * arithmetic.cuh holds each kernel's arithmetic once, for the device and for the host. */
#ifndef TRAIN_KERNELS_H
#define TRAIN_KERNELS_H

#include <cuda_runtime.h>

struct batch {
    int length;
    int tokens;
};

/* One row in 512 carries data, but 32 at least. */
static inline struct batch batch_of(int length)
{
    return {length, length < 512 * 32 ? 32 : length / 512};
}

enum { GRADIENT_CHUNKS = 32, LOSS_PARTIALS = 32 };

/* out = in + the row of `table` for its position among the tokens */
struct embed_args {
    const float *in, *table;
    float *out;
    int width;
};

/* out = in x weight + bias; weight has in_width rows of out_width */
struct dense_args {
    const float *in, *weight, *bias;
    float *out;
    int in_width, out_width;
};

struct relu_args {
    const float *in;
    float *out;
    int width;
};

/* Squared errors, summed into LOSS_PARTIALS numbers, and those into the mean. */
struct partial_losses_args {
    const float *predictions, *targets;
    float *partials;
    int width;
};

struct mean_loss_args {
    const float *partials;
    float *loss;
    int width;
};

/* The loss's gradient by the predictions, times `scale`. */
struct loss_gradient_args {
    const float *predictions, *targets;
    float *gradient;
    int width;
    float scale;
};

/* A dense layer's gradient by its input. */
struct dense_gradient_args {
    const float *out_gradient, *weight;
    float *in_gradient;
    int in_width, out_width;
};

/* A ReLU's gradient, in place, by its input `in`. */
struct relu_gradient_args {
    const float *in;
    float *gradient;
    int width;
};

/* A dense layer's gradient by its weight, in two launches: each of GRADIENT_CHUNKS runs of tokens
 * into a matrix of its own in `partials`, then their sum, which is added to `gradient`. */
struct weight_partials_args {
    const float *in, *out_gradient;
    float *partials;
    int in_width, out_width;
};

struct weight_gradient_args {
    const float *partials;
    float *gradient;
    int count; /* in_width x out_width */
};

struct bias_gradient_args {
    const float *out_gradient;
    float *gradient;
    int width;
};

struct table_gradient_args {
    const float *out_gradient;
    float *gradient;
    int width;
};

/* Adam on `count` numbers; correction1 and 2 are its bias corrections, 1 / (1 - beta^step). */
struct adam_args {
    float *value, *mean, *square;
    const float *gradient;
    int count;
    float rate, correction1, correction2;
};

/* out = in + a little of `width` neighbouring columns of `wide`, from column `first` on, wrapping
 */
struct fold_args {
    const float *in, *wide;
    float *out;
    int width, wide_width, first;
};

#define KERNELS(X)                                                                                 \
    X(embed)                                                                                       \
    X(dense)                                                                                       \
    X(relu)                                                                                        \
    X(partial_losses)                                                                              \
    X(mean_loss)                                                                                   \
    X(loss_gradient)                                                                               \
    X(dense_gradient)                                                                              \
    X(relu_gradient)                                                                               \
    X(weight_partials)                                                                             \
    X(weight_gradient)                                                                             \
    X(bias_gradient)                                                                               \
    X(table_gradient)                                                                              \
    X(adam)                                                                                        \
    X(fold)

#define DECLARE(name) void launch(cudaStream_t stream, struct batch batch, struct name##_args args);
KERNELS(DECLARE)
#undef DECLARE

/* Tells a simulated GPU, where there is one, what the kernels compute and touch. */
void kernels_register(void);

#endif
