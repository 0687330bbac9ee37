/* SPDX-License-Identifier: MIT */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEFAULT_STEPS = 60,
    DEFAULT_LENGTH = 49152,
    MIN_LENGTH = 64,
    MAX_LENGTH = 4 << 20,
    MAX_BUCKETS = 4096,
    MAX_ACCUMULATE = 1024,
    MAX_LEAK = 1 << 30,
    MAX_THREADS = 16
};

enum option_id {
    STEPS = 'a',
    LENGTHS,
    LENGTH,
    ACCUMULATE,
    LAZY_STATE,
    EVAL_EVERY,
    SHORT_LAST_BATCH,
    KEEP_OUTPUT,
    LEAK,
    THREADS,
    WIDE,
    SEED,
    QUIET,
    HELP
};

static const struct option long_options[] = {
    {"steps", required_argument, NULL, STEPS},
    {"lengths", required_argument, NULL, LENGTHS},
    {"length", required_argument, NULL, LENGTH},
    {"accumulate", required_argument, NULL, ACCUMULATE},
    {"lazy-state", no_argument, NULL, LAZY_STATE},
    {"eval-every", required_argument, NULL, EVAL_EVERY},
    {"short-last-batch", no_argument, NULL, SHORT_LAST_BATCH},
    {"keep-output", no_argument, NULL, KEEP_OUTPUT},
    {"leak", required_argument, NULL, LEAK},
    {"threads", required_argument, NULL, THREADS},
    {"wide", no_argument, NULL, WIDE},
    {"seed", required_argument, NULL, SEED},
    {"quiet", no_argument, NULL, QUIET},
    {"help", no_argument, NULL, HELP},
    {NULL, 0, NULL, 0},
};

static const char usage[] =
    "usage: train [OPTION]...\n"
    "Train a small network on data it makes; every tensor of a batch is allocated and freed with\n"
    "cudaMalloc and cudaFree.\n"
    "\n"
    "  --steps N           optimizer steps (60)\n"
    "  --length N          rows of a batch (49152)\n"
    "  --lengths MODE      fixed         every batch has --length rows (the default)\n"
    "                      buckets:K     one of K lengths, up to --length\n"
    "                      random        a new length at every step, never one seen before,\n"
    "                                    from half to one and a half of --length\n"
    "                      late-change   fixed until step 40, random from there on\n"
    "                      rare:N        fixed, but a new length once every N steps\n"
    "  --accumulate N      micro-batches in a step (1)\n"
    "  --lazy-state        allocate the optimizer's state in its first step, not before\n"
    "  --eval-every N      a forward pass on a batch kept for it, every N steps\n"
    "  --short-last-batch  epochs of 16 steps, the last batch of each is shorter\n"
    "  --keep-output       free a batch's predictions only when the next batch has its own\n"
    "  --leak BYTES        allocate so many bytes in each step, and forget them\n"
    "  --threads N         train N networks at once, each on a thread of its own; the first one's\n"
    "                      steps are printed, requests are those of all (1)\n"
    "  --wide              eight wide blocks more, each of a width of its own\n"
    "  --seed N            seed of weights, data and lengths (1)\n"
    "  --quiet             print the last line only\n"
    "  --help              print this\n"
    "\n"
    "A line for each step: its number, length, loss (as a number and as its bits), a hash of the\n"
    "pointers cudaMalloc returned in it, in order, and the cudaMalloc calls so far.\n"
    "Exit status: 0 done, 1 a CUDA call failed, 2 bad usage.\n";

static int reject(const char *option, const char *value, const char *expected)
{
    fprintf(stderr, "train: --%s: got \"%s\", expected %s\n", option, value, expected);
    return 2;
}

/* Digits only: strtoull alone would take a sign, blanks and an empty string. */
static bool parse_unsigned(const char *text, uint64_t *out)
{
    char *end;

    if (*text == '\0' || strspn(text, "0123456789") != strlen(text))
        return false;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return errno == 0;
}

static bool parse_int(const char *text, int min, int max, int *out)
{
    uint64_t value;

    if (!parse_unsigned(text, &value) || value < (uint64_t)min || value > (uint64_t)max)
        return false;
    *out = (int)value;
    return true;
}

static int take_int(const char *option, const char *text, int min, int max, int *out)
{
    char expected[80];

    if (parse_int(text, min, max, out))
        return -1;
    snprintf(expected, sizeof expected, "a whole number from %d to %d", min, max);
    return reject(option, text, expected);
}

static int take_lengths(const char *text, struct options *options)
{
    static const struct {
        const char *name;
        enum length_mode mode;
        int max_count; /* 0: takes none */
    } modes[] = {
        {"fixed", LENGTHS_FIXED, 0},      {"buckets:", LENGTHS_BUCKETS, MAX_BUCKETS},
        {"random", LENGTHS_RANDOM, 0},    {"late-change", LENGTHS_LATE_CHANGE, 0},
        {"rare:", LENGTHS_RARE, INT_MAX},
    };

    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        size_t prefix = strlen(modes[i].name);
        bool known = modes[i].max_count == 0 ? strcmp(text, modes[i].name) == 0
                                             : strncmp(text, modes[i].name, prefix) == 0 &&
                                                   parse_int(text + prefix, 1, modes[i].max_count,
                                                             &options->length_count);

        if (known) {
            options->length_mode = modes[i].mode;
            return -1;
        }
    }
    return reject("lengths", text,
                  "fixed, buckets:K (K from 1 to 4096), random, late-change or rare:N (N from 1)");
}

static int take_option(struct options *options, int id, const char *value)
{
    switch (id) {
    case STEPS:
        return take_int("steps", value, 1, INT_MAX, &options->steps);
    case LENGTHS:
        return take_lengths(value, options);
    case LENGTH:
        return take_int("length", value, MIN_LENGTH, MAX_LENGTH, &options->length);
    case ACCUMULATE:
        return take_int("accumulate", value, 1, MAX_ACCUMULATE, &options->accumulate);
    case EVAL_EVERY:
        return take_int("eval-every", value, 1, INT_MAX, &options->eval_every);
    case LEAK:
        return take_int("leak", value, 1, MAX_LEAK, &options->leak);
    case THREADS:
        return take_int("threads", value, 1, MAX_THREADS, &options->threads);
    case SEED:
        return parse_unsigned(value, &options->seed)
                   ? -1
                   : reject("seed", value, "a whole number below 2^64");
    case LAZY_STATE:
        options->lazy_state = true;
        return -1;
    case SHORT_LAST_BATCH:
        options->short_last_batch = true;
        return -1;
    case KEEP_OUTPUT:
        options->keep_output = true;
        return -1;
    case WIDE:
        options->wide = true;
        return -1;
    case QUIET:
        options->quiet = true;
        return -1;
    case HELP:
        fputs(usage, stdout);
        return 0;
    default:
        return 2;
    }
}

/* What getopt did not take: it stands just before optind. */
static int reject_unknown(int id, char **argv)
{
    if (id == ':')
        fprintf(stderr, "train: %s: got nothing, expected a value\n", argv[optind - 1]);
    else
        fprintf(stderr, "train: got \"%s\", expected an option that --help lists\n",
                argv[optind - 1]);
    return 2;
}

int options_parse(struct options *options, int argc, char **argv)
{
    int id;

    *options = (struct options){
        .steps = DEFAULT_STEPS,
        .length = DEFAULT_LENGTH,
        .accumulate = 1,
        .threads = 1,
        .seed = 1,
    };
    opterr = 0;
    while ((id = getopt_long(argc, argv, ":", long_options, NULL)) != -1) {
        int status =
            id == '?' || id == ':' ? reject_unknown(id, argv) : take_option(options, id, optarg);

        if (status >= 0)
            return status;
    }
    if (optind < argc) {
        fprintf(stderr, "train: got \"%s\", expected options only (see --help)\n", argv[optind]);
        return 2;
    }
    if (options->length_mode == LENGTHS_BUCKETS && options->length_count > options->length / 2) {
        fprintf(stderr, "train: --lengths: got %d buckets, expected at most %d at --length %d\n",
                options->length_count, options->length / 2, options->length);
        return 2;
    }
    return -1;
}
