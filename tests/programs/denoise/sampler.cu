/* SPDX-License-Identifier: MIT */
#include "sampler.h"

#include "check.h"
#include "kernels.h"

static const size_t latent_bytes = COUNT * sizeof(float);

static float *tensor(size_t width)
{
    void *memory = NULL;

    CHECK(cudaMalloc(&memory, width * latent_bytes));
    return (float *)memory;
}

static float *tensor_of(const float *values)
{
    float *device = tensor(1);

    CHECK(cudaMemcpy(device, values, latent_bytes, cudaMemcpyHostToDevice));
    return device;
}

void sampler_create(struct sampler *sampler, const struct options *options, const float *mean,
                    const float *spread, const float *noise)
{
    *sampler = {*options, tensor_of(mean), tensor_of(spread), tensor_of(noise), NULL};
}

void sampler_destroy(struct sampler *sampler)
{
    CHECK(cudaFree(sampler->before));
    CHECK(cudaFree(sampler->x));
    CHECK(cudaFree(sampler->spread));
    CHECK(cudaFree(sampler->mean));
}

float sampler_sigma(const struct options *options, int step)
{
    float level = (float)(options->steps - step) / (float)options->steps;

    return options->shift * level / (1.0f + (options->shift - 1.0f) * level);
}

static float *denoise(const struct sampler *sampler, float sigma)
{
    float *hidden = tensor(WIDTH), *gate, *clean;

    launch(widen_args{sampler->x, sampler->mean, sampler->spread, hidden, sigma});
    gate = tensor(WIDTH);
    launch(weigh_args{hidden, gate});
    CHECK(cudaFree(hidden));
    clean = tensor(1);
    launch(narrow_args{gate, clean});
    CHECK(cudaFree(gate));
    return clean;
}

/* The guess is made as if the velocity went on changing as it has since the step before. */
static void correct(struct sampler *sampler, float *clean, float sigma)
{
    float *velocity = tensor(1);

    launch(velocity_args{sampler->x, clean, velocity, sigma});
    if (sampler->before != NULL) {
        launch(estimate_args{sampler->x, velocity, sampler->before, clean, sigma,
                             sampler->options.gamma});
        CHECK(cudaFree(sampler->before));
    }
    sampler->before = velocity; /* not the corrected one */
}

void sampler_step(struct sampler *sampler, int step)
{
    float sigma = sampler_sigma(&sampler->options, step);
    float next = sampler_sigma(&sampler->options, step + 1);
    float *clean = denoise(sampler, sigma);

    if (next == 0.0f) { /* the last guess is the answer */
        CHECK(cudaFree(sampler->x));
        sampler->x = clean;
        return;
    }
    if (sampler->options.is_estimating)
        correct(sampler, clean, sigma);
    launch(advance_args{sampler->x, clean, sigma, next});
    CHECK(cudaFree(clean));
}

void sampler_read(const struct sampler *sampler, float *answer)
{
    CHECK(cudaMemcpy(answer, sampler->x, latent_bytes, cudaMemcpyDeviceToHost));
}
