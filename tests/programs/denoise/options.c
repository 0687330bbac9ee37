/* SPDX-License-Identifier: MIT */
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: denoise [OPTION]...\n"
    "\n"
    "Turns noise into a small field, step by step, and tells how far it is from the exact answer.\n"
    "\n"
    "  --sampler euler   50 steps of Euler's method (default)\n"
    "  --sampler ge      35 steps, each with the velocity corrected by the one before\n"
    "  --steps N         so many instead (2 to 10000)\n"
    "  --gamma X         ge: how far to go beyond the velocity before (2.0; 1.0 is euler)\n"
    "  --shift X         noise levels are closer to each other where there is more noise (3.0;\n"
    "                    1.0: evenly spaced)\n"
    "  --seed N          of the noise (1)\n"
    "  --help            this text\n";

enum { EULER_STEPS = 50, ESTIMATING_STEPS = 35, STEPS_MOST = 10000 };
enum { SAMPLER = 1, STEPS, GAMMA, SHIFT, SEED, HELP };

static const struct option long_options[] = {
    {"sampler", required_argument, NULL, SAMPLER},
    {"steps", required_argument, NULL, STEPS},
    {"gamma", required_argument, NULL, GAMMA},
    {"shift", required_argument, NULL, SHIFT},
    {"seed", required_argument, NULL, SEED},
    {"help", no_argument, NULL, HELP},
    {NULL, 0, NULL, 0},
};

static int reject(const char *name, const char *value, const char *expected)
{
    fprintf(stderr, "denoise: --%s: got \"%s\", expected %s\n", name, value, expected);
    return 2;
}

static int take_whole(const char *name, const char *value, long least, long most, long *out)
{
    char *end;

    *out = strtol(value, &end, 10);
    if (end == value || *end != '\0' || *out < least || *out > most)
        return reject(name, value, "a whole number in range (see --help)");
    return -1;
}

static int take_real(const char *name, const char *value, float *out)
{
    char *end;

    *out = strtof(value, &end);
    if (end == value || *end != '\0' || !(*out > 0.0f && *out <= 100.0f))
        return reject(name, value, "a number above 0, at most 100");
    return -1;
}

static int take(struct options *options, int id, const char *value)
{
    long whole = 0;
    int status;

    switch (id) {
    case SAMPLER:
        options->is_estimating = strcmp(value, "ge") == 0;
        if (!options->is_estimating && strcmp(value, "euler") != 0)
            return reject("sampler", value, "euler or ge");
        return -1;
    case STEPS:
        status = take_whole("steps", value, 2, STEPS_MOST, &whole);
        options->steps = (int)whole;
        return status;
    case GAMMA:
        return take_real("gamma", value, &options->gamma);
    case SHIFT:
        return take_real("shift", value, &options->shift);
    case SEED:
        status = take_whole("seed", value, 0, INT32_MAX, &whole);
        options->seed = (uint64_t)whole;
        return status;
    case HELP:
        fputs(usage, stdout);
        return 0;
    default:
        fputs("denoise: an option that does not exist, or without its value; see --help\n", stderr);
        return 2;
    }
}

int options_parse(struct options *options, int argc, char **argv)
{
    int id;

    *options = (struct options){.gamma = 2.0f, .shift = 3.0f, .seed = 1};
    opterr = 0;
    while ((id = getopt_long(argc, argv, ":", long_options, NULL)) != -1) {
        int status = take(options, id, optarg);

        if (status >= 0)
            return status;
    }
    if (optind < argc) {
        fprintf(stderr, "denoise: got \"%s\", expected options only\n", argv[optind]);
        return 2;
    }
    if (options->steps == 0)
        options->steps = options->is_estimating ? ESTIMATING_STEPS : EULER_STEPS;
    return -1;
}
