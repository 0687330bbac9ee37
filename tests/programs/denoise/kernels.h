/* SPDX-License-Identifier: MIT
 * kernels.h - the kernels of the sampler, and how they are launched.
 *
 * A latent is COUNT floats. At noise level s it is (1 - s) x clean + s x noise, each element of its
 * own: the clean ones are normal, with a mean and a spread that are the model. So the best guess of
 * the clean value has a formula, and so has the exact answer, which real models do not give. The
 * guess is made in three kernels with activations between them that are four times as wide as the
 * latent, as a network would.
 *
 * kernels.cu holds each kernel's arithmetic once, for the device and for the host. */
#ifndef DENOISE_KERNELS_H
#define DENOISE_KERNELS_H

#include <cuda_runtime.h>

enum { COUNT = 512 << 10, WIDTH = 4 };

/* hidden = what is known of each element: WIDTH numbers */
struct widen_args {
    const float *x, *mean, *spread;
    float *hidden;
    float sigma;
};

/* gate = what follows from it */
struct weigh_args {
    const float *hidden;
    float *gate;
};

/* clean = the best guess */
struct narrow_args {
    const float *gate;
    float *clean;
};

/* velocity = (x - clean) / sigma */
struct velocity_args {
    const float *x, *clean;
    float *velocity;
    float sigma;
};

/* clean = x - sigma x (before + gamma x (velocity - before)) */
struct estimate_args {
    const float *x, *velocity, *before;
    float *clean;
    float sigma, gamma;
};

/* x = x + (next - sigma) x (x - clean) / sigma */
struct advance_args {
    float *x;
    const float *clean;
    float sigma, next;
};

#define KERNELS(X)                                                                                 \
    X(widen)                                                                                       \
    X(weigh)                                                                                       \
    X(narrow)                                                                                      \
    X(velocity)                                                                                    \
    X(estimate)                                                                                    \
    X(advance)

#define DECLARE(name) void launch(struct name##_args args);
KERNELS(DECLARE)
#undef DECLARE

/* Tells a simulated GPU, where there is one, what the kernels compute and touch. */
void kernels_register(void);

#endif
