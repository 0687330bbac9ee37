/* SPDX-License-Identifier: MIT */
#include "field.h"

#include <math.h>

static float mean_of(int element)
{
    return (float)(element * 7 % 19 - 9) / 10.0f;
}

static float spread_of(int element)
{
    return (float)(element % 9 + 1) / 10.0f;
}

void field_model(float *mean, float *spread, int count)
{
    for (int i = 0; i < count; i++) {
        mean[i] = mean_of(i);
        spread[i] = spread_of(i);
    }
}

/* splitmix64, in (0, 1] */
static double uniform(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53 + 0x1p-54;
}

void field_noise(float *noise, int count, uint64_t seed)
{
    const double turn = 6.283185307179586;
    uint64_t state = seed;

    for (int i = 0; i < count; i++) {
        double length = sqrt(-2.0 * log(uniform(&state)));

        noise[i] = (float)(length * cos(turn * uniform(&state)));
    }
}

/* Along an exact path each element keeps its place in the distribution of its noise level. */
double field_error(const float *answer, const float *noise, int count)
{
    double sum = 0.0;

    for (int i = 0; i < count; i++) {
        double off =
            (double)answer[i] - ((double)mean_of(i) + (double)spread_of(i) * (double)noise[i]);

        sum += off * off;
    }
    return sqrt(sum / count);
}
