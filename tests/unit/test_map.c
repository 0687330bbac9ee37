/* SPDX-License-Identifier: MIT */
#include "base/map.h"
#include "support/seed.h"
#include "support/suite.h"

static void *value_of(uint64_t number)
{
    return (void *)(uintptr_t)number; /* never followed */
}

START_TEST(an_empty_map_finds_nothing)
{
    sc_map map = {0};

    ck_assert_ptr_null(sc_map_find(&map, 1));
    ck_assert_ptr_null(sc_map_remove(&map, 1));
    sc_map_release(&map);
}
END_TEST

START_TEST(putting_a_key_twice_replaces_its_value)
{
    sc_map map = {0};

    ck_assert(sc_map_put(&map, 7, value_of(1)));
    ck_assert(sc_map_put(&map, 7, value_of(2)));
    ck_assert_uint_eq(map.used, 1);
    ck_assert_ptr_eq(sc_map_find(&map, 7), value_of(2));
    ck_assert_ptr_eq(sc_map_remove(&map, 7), value_of(2));
    ck_assert_ptr_null(sc_map_find(&map, 7));
    sc_map_release(&map);
}
END_TEST

/* Keys are few, so that the table is a dense cluster and each removal moves others. */
START_TEST(a_removal_never_hides_another_key)
{
    enum { KEYS = 1500 };
    static bool is_in[KEYS];
    sc_random random = sc_random_new("map");
    sc_map map = {0};
    size_t used = 0;

    for (int i = 0; i < 60000; i++) {
        uint64_t k = sc_random_below(&random, KEYS);
        uint64_t key = (k + 1) << 21; /* like addresses of pages */

        if (sc_random_below(&random, 2)) {
            ck_assert(sc_map_put(&map, key, value_of(key + 1)));
            used += !is_in[k];
            is_in[k] = true;
        } else {
            ck_assert_ptr_eq(sc_map_remove(&map, key), is_in[k] ? value_of(key + 1) : NULL);
            used -= is_in[k];
            is_in[k] = false;
        }
        ck_assert_uint_eq(map.used, used);
        if (i % 500 == 0) {
            for (uint64_t j = 0; j < KEYS; j++) {
                void *found = sc_map_find(&map, (j + 1) << 21);

                ck_assert_ptr_eq(found, is_in[j] ? value_of(((j + 1) << 21) + 1) : NULL);
            }
        }
    }
    sc_map_release(&map);
}
END_TEST

START_TEST(a_map_that_stays_as_full_as_it_is_does_not_grow)
{
    sc_map map = {0};
    size_t size;

    for (uint64_t key = 1; key <= 1000; key++)
        ck_assert(sc_map_put(&map, key << 9, value_of(key)));
    size = map.size;
    for (uint64_t key = 1; key <= 200000; key++) {
        ck_assert_ptr_eq(sc_map_remove(&map, key << 9), value_of(key));
        ck_assert(sc_map_put(&map, (key + 1000) << 9, value_of(key + 1000)));
    }
    ck_assert_uint_eq(map.size, size);
    ck_assert_uint_eq(map.used, 1000);
    sc_map_release(&map);
}
END_TEST

START_TEST(addresses_of_any_stride_spread)
{
    for (int shift = 0; shift < 40; shift++) {
        sc_map map = {0};
        size_t longest = 0, run = 0;

        for (uint64_t key = 1; key <= 3000; key++)
            ck_assert(sc_map_put(&map, UINT64_C(0x7f0000000000) + (key << shift), value_of(1)));
        for (size_t i = 0; i < map.size; i++) {
            run = map.entries[i].key ? run + 1 : 0;
            longest = run > longest ? run : longest;
        }
        ck_assert_uint_lt(longest, 300);
        sc_map_release(&map);
    }
}
END_TEST

SC_SUITE("map", an_empty_map_finds_nothing, putting_a_key_twice_replaces_its_value,
         a_removal_never_hides_another_key, a_map_that_stays_as_full_as_it_is_does_not_grow,
         addresses_of_any_stride_spread)
