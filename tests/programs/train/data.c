/* SPDX-License-Identifier: MIT */
#include "data.h"

#include <math.h>

void teacher_make(struct teacher *teacher, uint64_t seed)
{
    uint64_t state = random_seed(seed, RANDOM_TEACHER, 0);

    for (int output = 0; output < OUTPUT_WIDTH; output++)
        for (int input = 0; input < INPUT_WIDTH; input++)
            teacher->weight[output][input] = 0.5f * random_float(&state);
}

/* What a position adds to each input, from -0.5 to 0.5. */
static float wave(int position, int input)
{
    return (float)(position * (input + 1) % 17) / 16.0f - 0.5f;
}

void data_make(const struct teacher *teacher, uint64_t seed, enum random_purpose purpose,
               uint64_t index, int tokens, float *inputs, float *targets)
{
    uint64_t state = random_seed(seed, purpose, index);

    for (int position = 0; position < tokens; position++) {
        float *row = inputs + position * INPUT_WIDTH;

        for (int input = 0; input < INPUT_WIDTH; input++)
            row[input] = random_float(&state);
        for (int output = 0; output < OUTPUT_WIDTH; output++) {
            float sum = 0.0f;

            for (int input = 0; input < INPUT_WIDTH; input++)
                sum += teacher->weight[output][input] * (row[input] + wave(position, input));
            targets[position * OUTPUT_WIDTH + output] = fabsf(sum);
        }
    }
}
