/* SPDX-License-Identifier: MIT
 * kernels.h - the arithmetic of a deep residual network, for the device and for a simulated one.
 *
 * A layer adds to its input what a ReLU leaves of it, column by column:
 *
 *     out = in + max(0, in * weight[column] + bias[column])
 *
 * so its backward pass needs its input. Each sum has one order: a run gives the same bits each
 * time.
 */
#ifndef OFFLOAD_KERNELS_H
#define OFFLOAD_KERNELS_H

#include <cuda_runtime.h>

struct shape {
    int rows, columns;
};

struct layer {
    float *weight, *bias; /* `columns` numbers each */
};

void launch_fill(cudaStream_t stream, struct shape shape, float *out, unsigned seed);
void launch_forward(cudaStream_t stream, struct shape shape, struct layer layer, const float *in,
                    float *out);
/* The squared error against a target that `seed` makes: its gradient, and its mean in *loss. */
void launch_loss(cudaStream_t stream, struct shape shape, const float *out, unsigned seed,
                 float *gradient, float *loss);
/* Moves the layer's weights down their gradient, and turns `gradient` into the one of the layer's
 * input. */
void launch_backward(cudaStream_t stream, struct shape shape, struct layer layer, const float *in,
                     float *gradient);

/* Tells a simulated GPU, where there is one, what the kernels compute and touch. */
void kernels_register(void);

#endif
