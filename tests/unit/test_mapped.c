/* SPDX-License-Identifier: MIT */
#include "cache/mapped.h"
#include "support/seed.h"
#include "support/suite.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)

static uint64_t total_of(const uint64_t *bytes, size_t count)
{
    sc_mapped sums = {0};

    for (size_t i = 0; i < count; i++)
        sc_mapped_add(&sums, bytes[i]);
    return sc_mapped_total(sums);
}

START_TEST(each_request_of_a_mebibyte_has_pages_of_its_own)
{
    const struct {
        uint64_t bytes, mapped;
    } rows[] = {
        {MIB, 2 * MIB},         {MIB + 1, 2 * MIB},   {2 * MIB, 2 * MIB},
        {2 * MIB + 1, 4 * MIB}, {64 * MIB, 64 * MIB}, {64 * MIB - 1, 64 * MIB},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint64_t two[] = {rows[i].bytes, rows[i].bytes};

        ck_assert_uint_eq(total_of(two, 1), rows[i].mapped);
        ck_assert_uint_eq(total_of(two, 2), 2 * rows[i].mapped);
    }
}
END_TEST

START_TEST(small_requests_share_pages_in_units_of_512_bytes)
{
    uint64_t half[] = {MIB - 512, MIB - 512};
    uint64_t units[4097];

    ck_assert_uint_eq(total_of((uint64_t[]){1}, 1), 2 * MIB);
    ck_assert_uint_eq(total_of(half, 2), 2 * MIB);
    for (size_t i = 0; i < 4097; i++)
        units[i] = i % 2 ? 1 : 512;
    ck_assert_uint_eq(total_of(units, 4096), 2 * MIB);
    ck_assert_uint_eq(total_of(units, 4097), 4 * MIB);
}
END_TEST

START_TEST(what_was_added_and_taken_away_leaves_nothing)
{
    sc_random random = sc_random_new("mapped");
    uint64_t bytes[500];
    sc_mapped sums = {0};

    for (size_t i = 0; i < 500; i++) {
        bytes[i] = 1 + sc_random_below(&random, sc_random_below(&random, 2) ? 4 * KIB : 9 * MIB);
        sc_mapped_add(&sums, bytes[i]);
    }
    ck_assert_uint_eq(sc_mapped_total(sums), total_of(bytes, 500));
    for (size_t i = 0; i < 500; i++)
        sc_mapped_subtract(&sums, bytes[i]);
    ck_assert_uint_eq(sums.packed, 0);
    ck_assert_uint_eq(sums.own, 0);
}
END_TEST

START_TEST(a_request_of_absurd_size_cannot_wrap_the_sum)
{
    uint64_t absurd[] = {UINT64_MAX, UINT64_MAX - 1, (uint64_t)1 << 63, 2 * MIB};

    ck_assert_uint_gt(total_of(absurd, 4), (uint64_t)1 << 52);
    ck_assert_uint_lt(total_of(absurd, 4), (uint64_t)1 << 54);
}
END_TEST

SC_SUITE("mapped", each_request_of_a_mebibyte_has_pages_of_its_own,
         small_requests_share_pages_in_units_of_512_bytes,
         what_was_added_and_taken_away_leaves_nothing, a_request_of_absurd_size_cannot_wrap_the_sum)
