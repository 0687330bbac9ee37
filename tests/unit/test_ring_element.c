/* SPDX-License-Identifier: MIT */
#include "ring/element.h"
#include "shapecache/ring.h"
#include "support/seed.h"
#include "support/suite.h"
#include <math.h>
#include <string.h>

enum { ROUNDINGS = 2000000 };

/* By the definition: sign, exponent, fraction. */
static double f16_slowly(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double sign = bits & 0x8000 ? -1 : 1;

    if (exponent == 31)
        return fraction ? (double)NAN : sign * (double)INFINITY;
    return sign * (exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24));
}

static double bf16_slowly(uint16_t bits)
{
    int exponent = bits >> 7 & 255, fraction = bits & 127;
    double sign = bits & 0x8000 ? -1 : 1;

    if (exponent == 255)
        return fraction ? (double)NAN : sign * (double)INFINITY;
    return sign * (exponent ? ldexp(128 + fraction, exponent - 134) : ldexp(fraction, -133));
}

static void check_all(double (*slowly)(uint16_t), float (*from)(uint16_t), uint16_t (*to)(float))
{
    for (unsigned bits = 0; bits < 65536; bits++) {
        double expected = slowly((uint16_t)bits);
        float got = from((uint16_t)bits);

        if (isnan(expected)) {
            ck_assert(isnan(got) && isnan(from(to(got))));
            continue;
        }
        if ((double)got != expected || !signbit(got) != !signbit(expected))
            ck_abort_msg("%04x is %a, not %a", bits, (double)got, expected);
        if (to(got) != bits)
            ck_abort_msg("%04x comes back as %04x", bits, to(got));
    }
}

START_TEST(every_half_is_what_IEEE_says_and_comes_back)
{
    check_all(f16_slowly, sc_element_from_f16, sc_element_to_f16);
}
END_TEST

START_TEST(every_bfloat_is_a_float_cut_and_comes_back)
{
    check_all(bf16_slowly, sc_element_from_bf16, sc_element_to_bf16);
}
END_TEST

/* Of the neighbours of what was given, the nearest; of two as near the even one. */
static void check_rounding(sc_random *random, double (*slowly)(uint16_t), uint16_t (*to)(float))
{
    uint32_t bits = (uint32_t)sc_random_next(random);
    float value;

    memcpy(&value, &bits, sizeof value);
    if (isnan(value))
        return;
    uint16_t got = to(value);
    double error = fabs(slowly(got) - (double)value);

    if (isinf(slowly(got)))
        return; /* see below */
    for (int step = -1; step <= 1; step += 2) {
        uint16_t other = (uint16_t)(got + step);
        double apart = fabs(slowly(other) - (double)value);

        if ((got & 0x7fff) == 0 && step < 0)
            continue;
        if (isfinite(slowly(other)) && !(error < apart || (error == apart && !(got & 1))))
            ck_abort_msg("%a becomes %04x, but %04x is nearer", (double)value, got, other);
    }
}

START_TEST(rounding_is_to_the_nearest_and_ties_to_even)
{
    sc_random random = sc_random_new("element");

    for (int i = 0; i < ROUNDINGS; i++) {
        check_rounding(&random, f16_slowly, sc_element_to_f16);
        check_rounding(&random, bf16_slowly, sc_element_to_bf16);
    }
}
END_TEST

START_TEST(what_is_too_large_is_infinite_from_half_way_on)
{
    ck_assert_uint_eq(sc_element_to_f16(65519.996F), 0x7bff);
    ck_assert_uint_eq(sc_element_to_f16(65520.0F), 0x7c00);
    ck_assert_uint_eq(sc_element_to_f16(-65520.0F), 0xfc00);
    ck_assert_uint_eq(sc_element_to_f16(1e30F), 0x7c00);
    ck_assert_uint_eq(sc_element_to_bf16(0x1.fefffep127F), 0x7f7f);
    ck_assert_uint_eq(sc_element_to_bf16(0x1.ffp127F), 0x7f80);
    ck_assert_uint_eq(sc_element_to_f16(0x1p-25F), 0); /* half of the smallest: to even */
    ck_assert_uint_eq(sc_element_to_f16(0x1.000002p-25F), 1);
}
END_TEST

START_TEST(scaling_rounds_the_product_once)
{
    const float floats[3] = {1.5F, -2, 1e-40F};
    const uint16_t halves[2] = {0x3c00, 0xc000}; /* 1, -2 */
    float out[3];
    uint16_t half_out[2];

    sc_element_scale(SHAPECACHE_F32, out, floats, 3, 1.25);
    ck_assert_float_eq(out[0], 1.875F);
    ck_assert_float_eq(out[1], -2.5F);
    ck_assert_float_eq(out[2], 1e-40F * 1.25F);
    sc_element_scale(SHAPECACHE_F16, half_out, halves, 2, 1.25);
    ck_assert_uint_eq(half_out[0], 0x3d00);
    ck_assert_uint_eq(half_out[1], 0xc100);
    sc_element_scale(SHAPECACHE_BF16, half_out, (const uint16_t[]){0x3f80, 0xc000}, 2, 1.25);
    ck_assert_uint_eq(half_out[0], 0x3fa0);
    ck_assert_uint_eq(half_out[1], 0xc020);
}
END_TEST

START_TEST(a_distance_is_the_sum_of_squares_in_every_dtype)
{
    enum { COUNT = 1001 };
    static float a[COUNT], b[COUNT];
    static uint16_t halves[2][COUNT], bfloats[2][COUNT];
    sc_random random = sc_random_new("distance");
    double expected = 0;

    for (int i = 0; i < COUNT; i++) { /* small integers: exact in all three */
        a[i] = (float)sc_random_below(&random, 200) - 100;
        b[i] = (float)sc_random_below(&random, 200) - 100;
        halves[0][i] = sc_element_to_f16(a[i]);
        halves[1][i] = sc_element_to_f16(b[i]);
        bfloats[0][i] = sc_element_to_bf16(a[i]);
        bfloats[1][i] = sc_element_to_bf16(b[i]);
        expected += (double)((a[i] - b[i]) * (a[i] - b[i]));
    }
    ck_assert_double_eq(sc_element_distance(SHAPECACHE_F32, a, b, COUNT), expected);
    ck_assert_double_eq(sc_element_distance(SHAPECACHE_F16, halves[0], halves[1], COUNT), expected);
    ck_assert_double_eq(sc_element_distance(SHAPECACHE_BF16, bfloats[0], bfloats[1], COUNT),
                        expected);
}
END_TEST

START_TEST(nothing_is_near_to_what_is_no_number)
{
    const float a[2] = {NAN, 1}, b[2] = {INFINITY, 1};

    ck_assert(isinf(sc_element_distance(SHAPECACHE_F32, a, a, 2)));
    ck_assert(isinf(sc_element_distance(SHAPECACHE_F32, b, b, 2)));
    ck_assert(isinf(sc_element_distance(SHAPECACHE_F32, a, b, 2)));
}
END_TEST

SC_SUITE("ring element", every_half_is_what_IEEE_says_and_comes_back,
         every_bfloat_is_a_float_cut_and_comes_back, rounding_is_to_the_nearest_and_ties_to_even,
         what_is_too_large_is_infinite_from_half_way_on, scaling_rounds_the_product_once,
         a_distance_is_the_sum_of_squares_in_every_dtype, nothing_is_near_to_what_is_no_number)
