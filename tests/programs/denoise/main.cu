/* SPDX-License-Identifier: MIT
 * denoise - samples a small field with one of two methods.
 *
 * It tells the cache where its steps end and asks what they needed, where there is one: the
 * functions are weak. */
#define SHAPECACHE_WEAK
#include "shapecache/shapecache.h"

#include <vector>

#include "check.h"
#include "field.h"
#include "kernels.h"
#include "sampler.h"

static const double MIB = 1 << 20;

static void sample(struct sampler *sampler)
{
    for (int step = 0; step < sampler->options.steps; step++) {
        sampler_step(sampler, step);
        if (shapecache_step != NULL)
            (void)shapecache_step(-1);
    }
}

/* The sampling, and one line of what it needed. */
static void sample_within_scope(struct sampler *sampler)
{
    shapecache_scope_info info;

    if (shapecache_scope_begin == NULL || shapecache_scope_end == NULL ||
        shapecache_scope_begin("sample", SHAPECACHE_SCOPE_LOG) != SHAPECACHE_OK) {
        sample(sampler);
        return;
    }
    sample(sampler);
    if (shapecache_scope_end(&info) == SHAPECACHE_OK)
        printf("memory before %.0f MiB, live at most %.0f MiB, held at most %.0f MiB\n",
               (double)info.live_before / MIB, (double)info.live_peak / MIB,
               (double)info.held_peak / MIB);
}

int main(int argc, char **argv)
{
    std::vector<float> mean(COUNT), spread(COUNT), noise(COUNT), answer(COUNT);
    struct options options;
    struct sampler sampler;
    int status = options_parse(&options, argc, argv);

    if (status >= 0)
        return status;
    kernels_register();
    field_model(mean.data(), spread.data(), COUNT);
    field_noise(noise.data(), COUNT, options.seed);
    sampler_create(&sampler, &options, mean.data(), spread.data(), noise.data());
    sample_within_scope(&sampler);
    sampler_read(&sampler, answer.data());
    sampler_destroy(&sampler);
    printf("%s, %d steps: off by %.4f\n",
           options.is_estimating ? "gradient-estimating Euler" : "Euler", options.steps,
           field_error(answer.data(), noise.data(), COUNT));
    return 0;
}
