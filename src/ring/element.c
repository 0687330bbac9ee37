/* SPDX-License-Identifier: MIT */
#include "ring/element.h"
#include "shapecache/ring.h"
#include <math.h>
#include <string.h>

static float float_of(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t bits_of(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Subnormals by a conversion of their own: the program may have told the processor to take them for
 * zero. */
float sc_element_from_f16(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000u) << 16, rest = bits & 0x7fffu;

    if (rest >= 0x7c00u)
        return float_of(sign | 0x7f800000u | rest << 13);
    if (rest < 0x0400u)
        return float_of(sign | bits_of((float)rest * 0x1p-24f));
    return float_of(sign | ((rest << 13) + 0x38000000u));
}

uint16_t sc_element_to_f16(float value)
{
    uint32_t bits = bits_of(value), sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu;

    if (rest > 0x7f800000u) /* a NaN stays one, quiet */
        return (uint16_t)(sign | 0x7e00u | (rest >> 13 & 0x3ffu));
    if (rest >= 0x477ff000u) /* from 65520 on */
        return (uint16_t)(sign | 0x7c00u);
    if (rest <
        0x38800000u) { /* below 2^-14: to multiples of 2^-24, by adding what has such an ulp */
        float shifted = float_of(rest) + 0.5f;

        return (uint16_t)(sign | (bits_of(shifted) - bits_of(0.5f)));
    }
    rest += 0xfffu + (rest >> 13 & 1u);
    return (uint16_t)(sign | ((rest - 0x38000000u) >> 13));
}

float sc_element_from_bf16(uint16_t bits)
{
    return float_of((uint32_t)bits << 16);
}

uint16_t sc_element_to_bf16(float value)
{
    uint32_t bits = bits_of(value);

    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(bits >> 16 | 0x40u);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

void sc_element_scale(uint32_t dtype, void *out, const void *from, size_t count, double factor)
{
    const float *floats = from;
    const uint16_t *halves = from;
    float *float_out = out;
    uint16_t *half_out = out;
    float by = (float)factor;

    switch (dtype) {
    case SHAPECACHE_F32:
        for (size_t i = 0; i < count; i++)
            float_out[i] = floats[i] * by;
        break;
    case SHAPECACHE_F16:
        for (size_t i = 0; i < count; i++)
            half_out[i] = sc_element_to_f16(sc_element_from_f16(halves[i]) * by);
        break;
    default:
        for (size_t i = 0; i < count; i++)
            half_out[i] = sc_element_to_bf16(sc_element_from_bf16(halves[i]) * by);
        break;
    }
}

/* Four sums in each, so that an addition need not wait for the one before it. */
typedef struct lanes {
    double of[4];
} lanes;

static void add_square(lanes *sums, size_t i, float a, float b)
{
    double d = (double)a - (double)b;

    sums->of[i % 4] += d * d;
}

double sc_element_distance(uint32_t dtype, const void *a, const void *b, size_t count)
{
    const float *floats_a = a, *floats_b = b;
    const uint16_t *halves_a = a, *halves_b = b;
    lanes sums = {{0}};

    switch (dtype) {
    case SHAPECACHE_F32:
        for (size_t i = 0; i < count; i++)
            add_square(&sums, i, floats_a[i], floats_b[i]);
        break;
    case SHAPECACHE_F16:
        for (size_t i = 0; i < count; i++)
            add_square(&sums, i, sc_element_from_f16(halves_a[i]),
                       sc_element_from_f16(halves_b[i]));
        break;
    default:
        for (size_t i = 0; i < count; i++)
            add_square(&sums, i, sc_element_from_bf16(halves_a[i]),
                       sc_element_from_bf16(halves_b[i]));
        break;
    }
    double sum = sums.of[0] + sums.of[1] + (sums.of[2] + sums.of[3]);

    return sum >= 0 ? sum : (double)INFINITY;
}
