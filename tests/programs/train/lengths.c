/* SPDX-License-Identifier: MIT */
#include "lengths.h"

#include <stdio.h>
#include <stdlib.h>

#include "random.h"

enum { LATE_CHANGE_STEP = 40, EPOCH_STEPS = 16 };

struct lengths {
    struct options options;
    int *fresh; /* the new lengths in the order of their use */
};

/* Sixteenths with which no tensor has the bytes of another of the full length. */
static int short_length(const struct options *options)
{
    return (int)(options->length * 11LL / 16);
}

int lengths_of_evaluation(const struct options *options)
{
    return (int)(options->length * 13LL / 16);
}

int lengths_max(const struct options *options)
{
    return options->length + options->length / 2;
}

static int fresh_needed(const struct options *options)
{
    switch (options->length_mode) {
    case LENGTHS_RANDOM:
        return options->steps;
    case LENGTHS_LATE_CHANGE:
        return options->steps > LATE_CHANGE_STEP ? options->steps - LATE_CHANGE_STEP : 0;
    case LENGTHS_RARE:
        return (options->steps - 1) / options->length_count;
    case LENGTHS_FIXED:
    case LENGTHS_BUCKETS:
        break;
    }
    return 0;
}

static int list_candidates(const struct options *options, int *candidates)
{
    int count = 0;

    for (int length = options->length / 2; length <= lengths_max(options); length++)
        if (length != options->length && length != short_length(options) &&
            length != lengths_of_evaluation(options))
            candidates[count++] = length;
    return count;
}

struct lengths *lengths_create(const struct options *options)
{
    struct lengths *lengths = malloc(sizeof *lengths);
    int needed = fresh_needed(options);
    uint64_t state = random_seed(options->seed, RANDOM_LENGTHS, 0);
    int count;

    if (lengths != NULL) {
        lengths->options = *options;
        lengths->fresh = calloc((size_t)options->length + 2, sizeof(int));
    }
    if (lengths == NULL || lengths->fresh == NULL) {
        fputs("train: out of host memory\n", stderr);
        goto fail;
    }
    count = list_candidates(options, lengths->fresh);
    if (needed > count) {
        fprintf(stderr,
                "train: --lengths: got %d steps with a new length, expected at most %d at "
                "--length %d\n",
                needed, count, options->length);
        goto fail;
    }
    for (int i = 0; i < needed; i++) { /* Fisher-Yates, as far as the run needs it */
        int other = i + (int)(random_next(&state) % (uint64_t)(count - i));
        int length = lengths->fresh[other];

        lengths->fresh[other] = lengths->fresh[i];
        lengths->fresh[i] = length;
    }
    return lengths;

fail:
    lengths_destroy(lengths);
    return NULL;
}

void lengths_destroy(struct lengths *lengths)
{
    if (lengths == NULL)
        return;
    free(lengths->fresh);
    free(lengths);
}

static int bucket_length(const struct options *options, int step)
{
    uint64_t state = random_seed(options->seed, RANDOM_LENGTHS, (uint64_t)step);
    int half = options->length / 2;
    long long bucket = 1 + (long long)(random_next(&state) % (uint64_t)options->length_count);

    return options->length - half + (int)(half * bucket / options->length_count);
}

int lengths_at(const struct lengths *lengths, int step)
{
    const struct options *options = &lengths->options;

    if (options->short_last_batch && step % EPOCH_STEPS == EPOCH_STEPS - 1)
        return short_length(options);
    switch (options->length_mode) {
    case LENGTHS_FIXED:
        break;
    case LENGTHS_BUCKETS:
        return bucket_length(options, step);
    case LENGTHS_RANDOM:
        return lengths->fresh[step];
    case LENGTHS_LATE_CHANGE:
        if (step >= LATE_CHANGE_STEP)
            return lengths->fresh[step - LATE_CHANGE_STEP];
        break;
    case LENGTHS_RARE:
        if (step > 0 && step % options->length_count == 0)
            return lengths->fresh[step / options->length_count - 1];
        break;
    }
    return options->length;
}
