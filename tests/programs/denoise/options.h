/* SPDX-License-Identifier: MIT
 * options.h - the command line of the sampler. */
#ifndef DENOISE_OPTIONS_H
#define DENOISE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct options {
    bool is_estimating; /* the gradient-estimating sampler */
    int steps;
    float gamma;
    float shift;
    uint64_t seed;
};

/* -1: go on; else the status to exit with. What is wrong is said on stderr. */
int options_parse(struct options *options, int argc, char **argv);

#ifdef __cplusplus
}
#endif

#endif
