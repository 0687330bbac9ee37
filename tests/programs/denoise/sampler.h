/* SPDX-License-Identifier: MIT
 * sampler.h - from noise to a field, step by step.
 *
 * Each step asks for the same tensors. Euler's method frees all of them before the step ends; the
 * gradient-estimating one keeps the velocity for the next step: one latent more at every peak. */
#ifndef DENOISE_SAMPLER_H
#define DENOISE_SAMPLER_H

#include "options.h"

struct sampler {
    struct options options;
    float *mean, *spread; /* the model */
    float *x;
    float *before; /* the velocity of the step before; NULL: there is none */
};

void sampler_create(struct sampler *sampler, const struct options *options, const float *mean,
                    const float *spread, const float *noise);
void sampler_destroy(struct sampler *sampler);

/* The noise level before step `step`: from 1 down to 0. */
float sampler_sigma(const struct options *options, int step);

void sampler_step(struct sampler *sampler, int step);
void sampler_read(const struct sampler *sampler, float *answer);

#endif
