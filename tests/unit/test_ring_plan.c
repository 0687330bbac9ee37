/* SPDX-License-Identifier: MIT */
#include "support/rings.h"
#include "support/seed.h"
#include "support/suite.h"
#include <math.h>
#include <string.h>

static sc_ring_plan plan_of(const shapecache_ring_config *config)
{
    sc_ring_plan plan;
    const char *wrong;

    ck_assert_msg(sc_ring_plan_make(&plan, config, &wrong), "%s", wrong);
    return plan;
}

static const char *wrong_with(const shapecache_ring_config *config)
{
    sc_ring_plan plan;
    const char *wrong;

    ck_assert(!sc_ring_plan_make(&plan, config, &wrong));
    return wrong;
}

START_TEST(defaults_are_those_of_the_error_buffer_this_comes_from)
{
    shapecache_ring_config config;

    sc_ring_plan_defaults(&config);
    ck_assert_uint_eq(config.buckets, 40);
    ck_assert_uint_eq(config.capacity, 50);
    ck_assert_uint_eq(config.timesteps, 1000);
    ck_assert_float_eq(config.modulation, 0.3F);
    ck_assert_int_eq(config.replacement, SHAPECACHE_REPLACE_RANDOM);
    ck_assert_uint_eq(config.blocks, 0);
    ck_assert_uint_eq(config.shard, 0);
    ck_assert_uint_eq(config.shards, 1);
    ck_assert_uint_eq(config.bytes_most, 0);
}
END_TEST

START_TEST(a_bucket_is_the_timesteps_part_of_the_schedule)
{
    shapecache_ring_config config = rings_config();
    sc_ring_plan plan = plan_of(&config); /* 25 timesteps a bucket */

    ck_assert_uint_eq(sc_ring_bucket_of(&plan, 0), 0);
    ck_assert_uint_eq(sc_ring_bucket_of(&plan, 24.999), 0);
    ck_assert_uint_eq(sc_ring_bucket_of(&plan, 25), 1);
    ck_assert_uint_eq(sc_ring_bucket_of(&plan, 999), 39);
    for (int t = 0; t < 1000; t++)
        ck_assert_uint_eq(sc_ring_bucket_of(&plan, t), (uint32_t)(t / 25));
}
END_TEST

START_TEST(timesteps_beyond_the_schedule_belong_to_its_ends)
{
    shapecache_ring_config config = rings_config();
    sc_ring_plan plan = plan_of(&config);

    ck_assert_uint_eq(sc_ring_bucket_of(&plan, -0.5), 0);
    ck_assert_uint_eq(sc_ring_bucket_of(&plan, -1e300), 0);
    ck_assert_uint_eq(sc_ring_bucket_of(&plan, -(double)INFINITY), 0);
    ck_assert_uint_eq(sc_ring_bucket_of(&plan, 1000), 39);
    ck_assert_uint_eq(sc_ring_bucket_of(&plan, 1e300), 39);
    ck_assert_uint_eq(sc_ring_bucket_of(&plan, (double)INFINITY), 39);
}
END_TEST

START_TEST(more_buckets_than_timesteps_leave_some_unused_and_break_nothing)
{
    shapecache_ring_config config = rings_config();

    config.timesteps = 3;
    config.buckets = 7;
    sc_ring_plan plan = plan_of(&config);

    ck_assert_uint_eq(sc_ring_bucket_of(&plan, 0), 0);
    ck_assert_uint_eq(sc_ring_bucket_of(&plan, 1), 2);
    ck_assert_uint_eq(sc_ring_bucket_of(&plan, 2), 4);
}
END_TEST

/* The slow way: every owned bucket, nearest first, above before below. */
static bool nearest_slowly(uint32_t buckets, uint32_t shard, uint32_t shards, uint32_t bucket,
                           uint32_t *nearest)
{
    for (uint32_t distance = 0; distance <= buckets; distance++) {
        if (bucket + distance < buckets && (bucket + distance) % shards == shard) {
            *nearest = bucket + distance;
            return true;
        }
        if (bucket >= distance && (bucket - distance) % shards == shard) {
            *nearest = bucket - distance;
            return true;
        }
    }
    return false;
}

START_TEST(the_nearest_owned_bucket_is_nearest_and_of_two_the_higher)
{
    for (uint32_t buckets = 1; buckets <= 12; buckets++)
        for (uint32_t shards = 1; shards <= 15; shards++)
            for (uint32_t shard = 0; shard < shards; shard++)
                for (uint32_t bucket = 0; bucket < buckets; bucket++) {
                    shapecache_ring_config config = rings_config();
                    uint32_t expected = 0, got = 0;

                    config.buckets = buckets;
                    config.shard = shard;
                    config.shards = shards;
                    sc_ring_plan plan = plan_of(&config);
                    bool is_found = sc_ring_nearest_owned(&plan, bucket, &got);

                    ck_assert_int_eq(is_found,
                                     nearest_slowly(buckets, shard, shards, bucket, &expected));
                    ck_assert_int_eq(is_found, shard < buckets);
                    ck_assert_uint_eq(got, expected);
                }
}
END_TEST

START_TEST(each_bucket_has_one_owner_and_each_owned_one_a_place_of_its_own)
{
    enum { BUCKETS = 11, SHARDS = 4, BLOCKS = 3 };
    unsigned owners[BUCKETS] = {0};

    for (uint32_t shard = 0; shard < SHARDS; shard++) {
        shapecache_ring_config config = rings_config();
        uint32_t next = 0;

        config.buckets = BUCKETS;
        config.blocks = BLOCKS;
        config.shard = shard;
        config.shards = SHARDS;
        sc_ring_plan plan = plan_of(&config);

        for (uint32_t block = 0; block < BLOCKS; block++)
            for (uint32_t bucket = 0; bucket < BUCKETS; bucket++) {
                sc_ring_key key = {block, bucket};

                if (!sc_ring_owns(&plan, bucket))
                    continue;
                owners[bucket]++;
                ck_assert_uint_eq(sc_ring_place_of(&plan, key), next);
                ck_assert_uint_eq(sc_ring_key_of(&plan, next).block, block);
                ck_assert_uint_eq(sc_ring_key_of(&plan, next++).bucket, bucket);
            }
        ck_assert_uint_eq(next, plan.places);
        ck_assert_uint_eq(plan.owned * BLOCKS, plan.places);
    }
    for (unsigned i = 0; i < BUCKETS; i++)
        ck_assert_uint_eq(owners[i], BLOCKS);
}
END_TEST

START_TEST(the_worst_case_counts_owned_buckets_only_and_the_cap)
{
    shapecache_ring_config config = rings_config();

    config.buckets = 50;
    config.capacity = 500;
    config.shards = 4;
    config.blocks = 6;
    sc_ring_plan plan = plan_of(&config);

    ck_assert_uint_eq(plan.entry_bytes, 12);
    ck_assert_uint_eq(plan.owned, 13);
    ck_assert_uint_eq(plan.entries_most, 13 * 6 * 500);
    config.bytes_most = 12 * 100 + 11;
    ck_assert_uint_eq(plan_of(&config).entries_most, 100);
    config.bytes_most = UINT64_MAX;
    ck_assert_uint_eq(plan_of(&config).entries_most, 13 * 6 * 500);
}
END_TEST

START_TEST(what_cannot_be_is_refused_in_words)
{
    static const struct {
        size_t at;
        size_t bytes;
        uint64_t value;
        const char *words;
    } cases[] = {
#define CASE(field, value, words)                                                                  \
    {offsetof(shapecache_ring_config, field), sizeof((shapecache_ring_config *)0)->field, value,   \
     words}
        CASE(size, 8, "another version"),
        CASE(buckets, 0, "buckets"),
        CASE(buckets, 65537, "buckets"),
        CASE(capacity, 0, "capacity"),
        CASE(capacity, (1 << 24) + 1, "capacity"),
        CASE(timesteps, 0, "timesteps"),
        CASE(timesteps, UINT64_C(0x80000001), "timesteps"),
        CASE(blocks, 65537, "blocks"),
        CASE(shards, 0, "shard"),
        CASE(shard, 1, "shard"),
        CASE(replacement, 3, "replacement"),
        CASE(dtype, 3, "dtype"),
        CASE(dim_count, 0, "dimensions"),
        CASE(dim_count, 9, "dimensions"),
        CASE(dims[0], 0, "element"),
        CASE(dims[0], UINT64_MAX, "element"),
        CASE(dims[0], (UINT64_C(1) << 38) + 1, "element"),
        CASE(bytes_most, 11, "bytes_most"),
        CASE(flags, 4, "flag"),
        CASE(modulation, 0x7fc00000, "modulation"), /* the bits of a NaN, of -1 and of 1.5 */
        CASE(modulation, 0xbf800000, "modulation"),
        CASE(modulation, 0x3fc00000, "modulation"),
#undef CASE
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        shapecache_ring_config config = rings_config();

        memcpy((char *)&config + cases[i].at, &cases[i].value, cases[i].bytes);
        const char *wrong = wrong_with(&config);

        ck_assert_msg(strstr(wrong, cases[i].words), "%s, but it was %s", wrong, cases[i].words);
    }
}
END_TEST

START_TEST(entries_that_cannot_be_counted_are_refused)
{
    shapecache_ring_config config = rings_config();

    config.buckets = 65536;
    config.capacity = 65536;
    ck_assert_ptr_nonnull(strstr(wrong_with(&config), "count"));
    config.bytes_most = 1 << 20; /* but these can */
    ck_assert_uint_eq(plan_of(&config).entries_most, (1 << 20) / 12);
    config.bytes_most = 0;
    config.blocks = 65536;
    ck_assert_ptr_nonnull(strstr(wrong_with(&config), "count"));
}
END_TEST

START_TEST(a_name_is_cut_between_characters)
{
    shapecache_ring_config config = rings_config();
    char name[100];

    memset(name, 'x', sizeof name);
    memcpy(name + 62, "\xc3\xa4", 3); /* two bytes, of which one would fit */
    config.name = name;
    sc_ring_plan plan = plan_of(&config);

    ck_assert_uint_eq(strlen(plan.name), 62);
    config.name = NULL;
    ck_assert_str_eq(plan_of(&config).name, "ring");
}
END_TEST

SC_SUITE("ring plan", defaults_are_those_of_the_error_buffer_this_comes_from,
         a_bucket_is_the_timesteps_part_of_the_schedule,
         timesteps_beyond_the_schedule_belong_to_its_ends,
         more_buckets_than_timesteps_leave_some_unused_and_break_nothing,
         the_nearest_owned_bucket_is_nearest_and_of_two_the_higher,
         each_bucket_has_one_owner_and_each_owned_one_a_place_of_its_own,
         the_worst_case_counts_owned_buckets_only_and_the_cap, what_cannot_be_is_refused_in_words,
         entries_that_cannot_be_counted_are_refused, a_name_is_cut_between_characters)
