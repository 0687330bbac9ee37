/* SPDX-License-Identifier: MIT */
#include "ring/element.h"
#include "shapecache/ring.h"
#include <math.h>
#include <string.h>

/* Four elements at a time, in words: the compiler does so by itself only where told to optimize
 * more than the rest of the library needs. */
typedef float floats __attribute__((vector_size(16)));
typedef double doubles __attribute__((vector_size(32)));
enum { LANES = 4, PAIR = 8 };

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

static void scale_floats(float *out, const float *from, size_t count, float by)
{
    const floats factors = {by, by, by, by};
    size_t i = 0;

    for (; i + LANES <= count; i += LANES) {
        floats some;

        memcpy(&some, from + i, sizeof some);
        some *= factors;
        memcpy(out + i, &some, sizeof some);
    }
    for (; i < count; i++)
        out[i] = from[i] * by;
}

void sc_element_scale(uint32_t dtype, void *out, const void *from, size_t count, double factor)
{
    const uint16_t *halves = from;
    uint16_t *half_out = out;
    float by = (float)factor;

    switch (dtype) {
    case SHAPECACHE_F32:
        scale_floats(out, from, count, by);
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

/* Each lane has a sum of its own, in double. */
static void add_squares(doubles *sums, const float *a, const float *b)
{
    floats left, right;

    memcpy(&left, a, sizeof left);
    memcpy(&right, b, sizeof right);
    doubles d = __builtin_convertvector(left, doubles) - __builtin_convertvector(right, doubles);

    *sums += d * d;
}

static void to_floats(uint32_t dtype, float *out, const uint16_t *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] =
            dtype == SHAPECACHE_F16 ? sc_element_from_f16(from[i]) : sc_element_from_bf16(from[i]);
}

/* Up to LANES elements from the i-th on; what is missing is as if equal. */
static void add_some(uint32_t dtype, doubles *sums, const void *a, const void *b, size_t i,
                     size_t count)
{
    float left[LANES] = {0}, right[LANES] = {0};

    if (dtype == SHAPECACHE_F32) {
        memcpy(left, (const float *)a + i, count * sizeof *left);
        memcpy(right, (const float *)b + i, count * sizeof *right);
    } else {
        to_floats(dtype, left, (const uint16_t *)a + i, count);
        to_floats(dtype, right, (const uint16_t *)b + i, count);
    }
    add_squares(sums, left, right);
}

double sc_element_distance(uint32_t dtype, const void *a, const void *b, size_t count)
{
    const float *floats_a = a, *floats_b = b;
    doubles sums[2] = {{0}, {0}};
    size_t i = 0;

    if (dtype == SHAPECACHE_F32)
        for (; i + PAIR <= count; i += PAIR) {
            add_squares(&sums[0], floats_a + i, floats_b + i);
            add_squares(&sums[1], floats_a + i + LANES, floats_b + i + LANES);
        }
    for (; i < count; i += LANES)
        add_some(dtype, &sums[0], a, b, i, count - i < LANES ? count - i : LANES);
    sums[0] += sums[1];
    double sum = sums[0][0] + sums[0][1] + (sums[0][2] + sums[0][3]);

    return sum >= 0 ? sum : (double)INFINITY;
}
