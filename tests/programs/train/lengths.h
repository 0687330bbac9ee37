/* SPDX-License-Identifier: MIT
 * lengths.h - how many rows the batch of each step has.
 *
 * A pure function of the options and the step's number. Lengths that must never repeat come from a
 * shuffle of every length from half to one and a half of --length, less those with a use of their
 * own (the fixed one, the evaluation's, the short last batch's). */
#ifndef TRAIN_LENGTHS_H
#define TRAIN_LENGTHS_H

#include "options.h"

#ifdef __cplusplus
extern "C" {
#endif

struct lengths;

/* NULL, with a message on stderr, if the run asks for more new lengths than there are. */
struct lengths *lengths_create(const struct options *options);
void lengths_destroy(struct lengths *lengths);

int lengths_at(const struct lengths *lengths, int step);
int lengths_max(const struct options *options);
int lengths_of_evaluation(const struct options *options);

#ifdef __cplusplus
}
#endif

#endif
