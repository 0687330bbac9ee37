/* SPDX-License-Identifier: MIT
 * data.h - the data the network learns from, made on the host.
 *
 * A hidden teacher turns random inputs into targets: |teacher x (input + wave(position))|. The
 * network has the means to learn it: a table of positions, and ReLU layers that can build an
 * absolute value. The batch of an index depends on the seed, the purpose and the index alone. */
#ifndef TRAIN_DATA_H
#define TRAIN_DATA_H

#include <stdint.h>

#include "random.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { INPUT_WIDTH = 16, OUTPUT_WIDTH = 12 };

struct teacher {
    float weight[OUTPUT_WIDTH][INPUT_WIDTH];
};

void teacher_make(struct teacher *teacher, uint64_t seed);

/* Fills `tokens` rows of inputs (INPUT_WIDTH floats each) and of targets (OUTPUT_WIDTH each). */
void data_make(const struct teacher *teacher, uint64_t seed, enum random_purpose purpose,
               uint64_t index, int tokens, float *inputs, float *targets);

#ifdef __cplusplus
}
#endif

#endif
