/* SPDX-License-Identifier: MIT */
#include "support/rings.h"
#include "support/suite.h"
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static sc_ring ring;

/* 4 buckets of 3 entries, timesteps 0 .. 3. */
static shapecache_ring_config small(shapecache_replacement replacement)
{
    shapecache_ring_config config = rings_config();

    config.buckets = 4;
    config.timesteps = 4;
    config.capacity = 3;
    config.replacement = replacement;
    return config;
}

static shapecache_ring_info info(void)
{
    shapecache_ring_info now;

    sc_ring_inform(&ring, &now);
    return now;
}

START_TEST(entries_go_to_their_bucket_and_come_back)
{
    shapecache_ring_config config = small(SHAPECACHE_REPLACE_RANDOM);
    shapecache_ring_drawn drawn;

    rings_open(&ring, &config);
    for (int t = 0; t < 4; t++)
        rings_put(&ring, t, 0, (float)(t + 1));
    for (int t = 0; t < 4; t++) {
        ck_assert_float_eq_tol(rings_draw(&ring, SC_REACH_BUCKET, t, 0, &drawn), (float)(t + 1),
                               1e-5F);
        ck_assert_uint_eq(drawn.bucket, (uint32_t)t);
        ck_assert_int_eq(drawn.block, SHAPECACHE_NO_BLOCK);
        ck_assert(drawn.factor >= 0.7 - 1e-7 && drawn.factor <= 1.3 + 1e-7);
    }
    rings_close(&ring);
}
END_TEST

START_TEST(blocks_keep_their_buckets_apart)
{
    shapecache_ring_config config = small(SHAPECACHE_REPLACE_RANDOM);
    shapecache_ring_drawn drawn;

    config.blocks = 2;
    config.block_offset = 6;
    rings_open(&ring, &config);
    rings_put(&ring, 1, 0, 10);
    rings_put(&ring, 1, 1, 20);
    rings_put(&ring, 3, 1, 40);
    ck_assert_float_eq_tol(rings_draw(&ring, SC_REACH_BUCKET, 1, 0, NULL), 10, 1e-4F);
    ck_assert_float_eq_tol(rings_draw(&ring, SC_REACH_BUCKET, 1, 1, &drawn), 20, 1e-4F);
    ck_assert_int_eq(drawn.block, 1);
    ck_assert_float_eq_tol(rings_draw(&ring, SC_REACH_BLOCK, 0, 0, NULL), 10, 1e-4F);
    ck_assert_uint_eq(sc_ring_entries(&ring, 0), 1);
    ck_assert_uint_eq(sc_ring_entries(&ring, 1), 2);
    ck_assert_uint_eq(sc_ring_entries(&ring, 2), 0);
    ck_assert_uint_eq(sc_ring_entries(&ring, SHAPECACHE_NO_BLOCK), 3);
    rings_close(&ring);
}
END_TEST

START_TEST(a_block_that_is_not_there_is_refused_not_taken_for_the_last)
{
    shapecache_ring_config config = small(SHAPECACHE_REPLACE_RANDOM);
    shapecache_ring_drawn drawn;
    float out[RINGS_ELEMENTS];

    config.blocks = 2;
    rings_open(&ring, &config);
    rings_put(&ring, 1, 1, 1);
    ck_assert_int_eq(rings_add(&ring, 1, 2, 1), SHAPECACHE_EVALUE);
    ck_assert_int_eq(rings_add(&ring, 1, SHAPECACHE_NO_BLOCK, 1), SHAPECACHE_EVALUE);
    ck_assert_int_eq(rings_add(&ring, 1, LONG_MIN, 1), SHAPECACHE_EVALUE);
    ck_assert_int_eq(sc_ring_sample(&ring, SC_REACH_BLOCK, 0, 2, out, &drawn), SHAPECACHE_EVALUE);
    ck_assert_int_eq(sc_ring_sample(&ring, SC_REACH_BUCKET, 0, -1, out, &drawn), SHAPECACHE_EVALUE);
    ck_assert_int_eq(sc_ring_sample(&ring, SC_REACH_ALL, 0, -1, out, &drawn), SHAPECACHE_OK);
    rings_close(&ring);
}
END_TEST

START_TEST(dtype_shape_and_timestep_are_checked)
{
    shapecache_ring_config config = small(SHAPECACHE_REPLACE_RANDOM);
    const size_t dims[2] = {3, 1}, other[1] = {4};
    float data[4] = {0};
    sc_ring_key key;

    rings_open(&ring, &config);
    shapecache_ring_item item = {data, SHAPECACHE_F32, dims, 1, 0, 0};

    ck_assert_int_eq(sc_ring_look(&ring, &item, &key), SHAPECACHE_OK);
    item.dtype = SHAPECACHE_F16;
    ck_assert_int_eq(sc_ring_look(&ring, &item, &key), SHAPECACHE_EMISMATCH);
    item.dtype = SHAPECACHE_F32;
    item.dim_count = 2; /* as many elements, in another shape */
    ck_assert_int_eq(sc_ring_look(&ring, &item, &key), SHAPECACHE_EMISMATCH);
    item.dim_count = 1;
    item.dims = other;
    ck_assert_int_eq(sc_ring_look(&ring, &item, &key), SHAPECACHE_EMISMATCH);
    item.dims = NULL;
    ck_assert_int_eq(sc_ring_look(&ring, &item, &key), SHAPECACHE_EMISMATCH);
    item.dims = dims;
    item.timestep = (double)NAN;
    ck_assert_int_eq(sc_ring_look(&ring, &item, &key), SHAPECACHE_EVALUE);
    item.timestep = 0;
    item.data = NULL;
    ck_assert_int_eq(sc_ring_look(&ring, &item, &key), SHAPECACHE_EVALUE);
    rings_close(&ring);
}
END_TEST

START_TEST(fifo_keeps_the_youngest_in_order)
{
    shapecache_ring_config config = small(SHAPECACHE_REPLACE_FIFO);

    rings_open(&ring, &config);
    for (int i = 1; i <= 8; i++) {
        rings_put(&ring, 2, 0, (float)i);
        for (int age = 0; age < (i < 3 ? i : 3); age++)
            ck_assert_float_eq(rings_value(&ring, 2, (uint32_t)age),
                               (float)((i < 3 ? 1 : i - 2) + age));
    }
    ck_assert_uint_eq(info().evicted, 5);
    ck_assert_uint_eq(info().entries, 3);
    rings_close(&ring);
}
END_TEST

START_TEST(nearest_replaces_the_one_at_the_least_distance)
{
    static const struct {
        float added, goes;
    } cases[] = {{11, 10}, {29, 30}, {21, 20}, {-100, 11}, {1000, 29}, {24, 21}};
    shapecache_ring_config config = small(SHAPECACHE_REPLACE_NEAREST);

    rings_open(&ring, &config);
    for (int i = 1; i <= 3; i++)
        rings_put(&ring, 0, 0, (float)(10 * i));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool is_there = false, has_gone = true;

        rings_put(&ring, 0, 0, cases[i].added);
        for (uint32_t age = 0; age < 3; age++) {
            is_there |= rings_value(&ring, 0, age) == cases[i].added;
            has_gone &= rings_value(&ring, 0, age) != cases[i].goes;
        }
        ck_assert_msg(is_there && has_gone, "%g for %g", (double)cases[i].added,
                      (double)cases[i].goes);
    }
    rings_close(&ring);
}
END_TEST

START_TEST(random_replaces_one_of_the_bucket_and_leaves_the_others)
{
    shapecache_ring_config config = small(SHAPECACHE_REPLACE_RANDOM);

    rings_open(&ring, &config);
    for (int t = 0; t < 2; t++)
        for (int i = 1; i <= 3; i++)
            rings_put(&ring, t, 0, (float)(10 * t + i));
    for (int i = 0; i < 100; i++) {
        float before[3];
        int kept = 0;

        for (uint32_t age = 0; age < 3; age++)
            before[age] = rings_value(&ring, 0, age);
        rings_put(&ring, 0, 0, (float)(100 + i));
        for (uint32_t age = 0; age < 3; age++)
            kept += rings_value(&ring, 0, age) == before[age];
        ck_assert_int_eq(kept, 2);
    }
    for (uint32_t age = 0; age < 3; age++)
        ck_assert_float_eq(rings_value(&ring, 1, age), (float)(11 + age));
    rings_close(&ring);
}
END_TEST

START_TEST(the_same_seed_does_the_same_and_another_another)
{
    float seen[3][40];

    for (int run = 0; run < 3; run++) {
        shapecache_ring_config config = small(SHAPECACHE_REPLACE_RANDOM);

        config.seed = run == 2 ? 8 : 7;
        rings_open(&ring, &config);
        for (int i = 0; i < 20; i++)
            rings_put(&ring, i % 4, 0, (float)i);
        for (int i = 0; i < 40; i++)
            seen[run][i] = rings_draw(&ring, SC_REACH_ALL, 0, 0, NULL);
        rings_close(&ring);
    }
    ck_assert_mem_eq(seen[0], seen[1], sizeof seen[0]);
    ck_assert_mem_ne(seen[0], seen[2], sizeof seen[0]);
}
END_TEST

START_TEST(what_another_shard_owns_is_counted_and_drawn_from_the_nearest)
{
    shapecache_ring_config config = small(SHAPECACHE_REPLACE_RANDOM);
    shapecache_ring_drawn drawn;

    config.shard = 1;
    config.shards = 2; /* owns 1 and 3 */
    rings_open(&ring, &config);
    for (int t = 0; t < 4; t++)
        ck_assert_int_eq(rings_add(&ring, t, 0, (float)t), SHAPECACHE_OK);
    ck_assert_uint_eq(info().added, 2);
    ck_assert_uint_eq(info().not_owned, 2);
    ck_assert_uint_eq(info().owned, 2);
    ck_assert_uint_eq(info().filled, 2);
    ck_assert_float_eq_tol(rings_draw(&ring, SC_REACH_BUCKET, 2, 0, &drawn), 3, 1e-5F);
    ck_assert_uint_eq(drawn.bucket, 3); /* as near as 1: up */
    (void)rings_draw(&ring, SC_REACH_BUCKET, 0, 0, &drawn);
    ck_assert_uint_eq(drawn.bucket, 1);
    (void)rings_draw(&ring, SC_REACH_BUCKET, 3, 0, &drawn);
    ck_assert_uint_eq(info().sampled, 3);
    ck_assert_uint_eq(info().remapped, 2);
    rings_close(&ring);
}
END_TEST

START_TEST(more_ranks_than_buckets_is_an_empty_answer)
{
    shapecache_ring_config config = small(SHAPECACHE_REPLACE_RANDOM);
    shapecache_ring_drawn drawn;
    float out[RINGS_ELEMENTS];

    config.blocks = 2;
    config.shard = 6;
    config.shards = 8;
    rings_open(&ring, &config);
    for (int t = 0; t < 4; t++) {
        ck_assert_int_eq(rings_add(&ring, t, 1, 1), SHAPECACHE_OK);
        for (int reach = SC_REACH_BUCKET; reach <= SC_REACH_ALL; reach++)
            ck_assert_int_eq(sc_ring_sample(&ring, (sc_ring_reach)reach, t, 1, out, &drawn),
                             SHAPECACHE_EEMPTY);
    }
    ck_assert_uint_eq(info().not_owned, 4);
    ck_assert_uint_eq(info().owned, 0);
    ck_assert_uint_eq(info().bytes_worst, 0);
    ck_assert_uint_eq(sc_ring_entries(&ring, SHAPECACHE_NO_BLOCK), 0);
    rings_close(&ring);
}
END_TEST

START_TEST(an_empty_bucket_is_empty_though_others_are_not)
{
    shapecache_ring_config config = small(SHAPECACHE_REPLACE_RANDOM);
    shapecache_ring_drawn drawn = {77, 77, 77};
    float out[RINGS_ELEMENTS] = {5, 6, 7};

    rings_open(&ring, &config);
    rings_put(&ring, 1, 0, 1);
    ck_assert_int_eq(sc_ring_sample(&ring, SC_REACH_BUCKET, 2, 0, out, &drawn), SHAPECACHE_EEMPTY);
    ck_assert_float_eq(out[0], 5);
    ck_assert_uint_eq(drawn.bucket, 77);
    ck_assert_uint_eq(info().sampled, 0);
    rings_close(&ring);
}
END_TEST

START_TEST(no_modulation_gives_entries_back_to_the_bit)
{
    shapecache_ring_config config = small(SHAPECACHE_REPLACE_RANDOM);

    config.modulation = 0;
    for (int dtype = 0; dtype < 3; dtype++) {
        config.dtype = (shapecache_dtype)dtype;
        rings_open(&ring, &config);
        rings_put(&ring, 0, 0, -1.375F);
        ck_assert_float_eq(rings_draw(&ring, SC_REACH_ALL, 0, 0, NULL), -1.375F);
        rings_close(&ring);
    }
}
END_TEST

START_TEST(the_byte_cap_holds_and_buckets_come_to_share_it)
{
    for (int replacement = 0; replacement < 3; replacement++) {
        shapecache_ring_config config = small((shapecache_replacement)replacement);

        config.capacity = 50;
        config.bytes_most = 12 * 8; /* 8 entries for 4 buckets */
        rings_open(&ring, &config);
        for (int i = 0; i < 30; i++)
            rings_put(&ring, 0, 0, (float)i);
        ck_assert_uint_eq(ring.store.places[0].count, 8);
        for (int i = 0; i < 40; i++) {
            rings_put(&ring, i % 4, 0, (float)(100 + i));
            ck_assert_uint_eq(ring.store.used, 8);
            ck_assert_uint_le(info().bytes_mapped, config.bytes_most);
            ck_assert(sc_store_check(&ring.store));
        }
        for (uint32_t place = 0; place < 4; place++)
            ck_assert_uint_eq(ring.store.places[place].count, 2);
        ck_assert_uint_eq(info().evicted, 30 + 40 - 8);
        rings_close(&ring);
    }
}
END_TEST

START_TEST(a_cap_of_one_entry_gives_it_to_the_last_that_came)
{
    shapecache_ring_config config = small(SHAPECACHE_REPLACE_FIFO);

    config.bytes_most = 12;
    rings_open(&ring, &config);
    for (int t = 0; t < 4; t++) {
        rings_put(&ring, t, 0, (float)t);
        ck_assert_uint_eq(ring.store.places[t].count, 1);
        ck_assert_uint_eq(ring.store.used, 1);
    }
    rings_close(&ring);
}
END_TEST

START_TEST(memory_comes_in_pieces_that_are_no_longer_than_needed)
{
    shapecache_ring_config config = small(SHAPECACHE_REPLACE_FIFO);

    config.dims[0] = 10000;
    config.capacity = 300; /* 1200 entries of 40 KB: 46 MiB */
    rings_open(&ring, &config);
    ck_assert_uint_eq(rings_slabs(), 0);
    rings_put(&ring, 0, 0, 1);
    ck_assert_uint_eq(rings_slabs(), 1);
    ck_assert_uint_le(info().bytes_mapped, 16 << 20);
    for (int i = 0; i < 1300; i++)
        rings_put(&ring, i % 4, 0, (float)i);
    ck_assert_uint_eq(info().entries, 1200);
    ck_assert_uint_eq(info().bytes_mapped, info().bytes_worst);
    ck_assert_uint_eq(info().bytes_worst, UINT64_C(1200) * 40000);
    rings_close(&ring);
    ck_assert_uint_eq(rings_slabs(), 0);
}
END_TEST

START_TEST(without_memory_the_ring_is_as_it_was)
{
    shapecache_ring_config config = small(SHAPECACHE_REPLACE_RANDOM);

    rings_open(&ring, &config);
    rings_fail_slab(1);
    ck_assert_int_eq(rings_add(&ring, 0, 0, 1), SHAPECACHE_EMEMORY);
    ck_assert_uint_eq(info().entries, 0);
    ck_assert_int_eq(rings_add(&ring, 0, 0, 1), SHAPECACHE_OK);
    rings_close(&ring);
}
END_TEST

START_TEST(a_choice_keeps_as_many_as_asked_in_order_and_depends_on_its_seed_alone)
{
    for (uint64_t count = 0; count <= 20; count++)
        for (uint64_t keep = 0; keep <= 22; keep++) {
            sc_ring_choice a = sc_ring_choose(count * 100 + keep, count, keep);
            sc_ring_choice b = a;
            uint64_t kept = 0;

            for (uint64_t i = 0; i < count; i++) {
                bool is_chosen = sc_ring_chooses_next(&a);

                ck_assert_int_eq(is_chosen, sc_ring_chooses_next(&b));
                kept += is_chosen;
            }
            ck_assert_uint_eq(kept, keep < count ? keep : count);
        }
}
END_TEST

START_TEST(merging_is_adding_everything)
{
    shapecache_ring_config config = small(SHAPECACHE_REPLACE_FIFO);
    sc_ring other;

    rings_open(&ring, &config);
    rings_open(&other, &config);
    for (int i = 0; i < 2; i++)
        rings_put(&ring, 1, 0, (float)i);
    for (int i = 10; i < 13; i++)
        rings_put(&other, 1, 0, (float)i);
    rings_put(&other, 3, 0, 50);
    ck_assert(sc_ring_merge(&ring, &other));
    ck_assert_uint_eq(info().entries, 4);
    ck_assert_uint_eq(info().added, 6);
    ck_assert_uint_eq(info().evicted, 2);
    for (uint32_t age = 0; age < 3; age++)
        ck_assert_float_eq(rings_value(&ring, 1, age), (float)(10 + age));
    ck_assert_float_eq(rings_value(&ring, 3, 0), 50);
    rings_close(&other);
    rings_close(&ring);
}
END_TEST

SC_SUITE("ring", entries_go_to_their_bucket_and_come_back, blocks_keep_their_buckets_apart,
         a_block_that_is_not_there_is_refused_not_taken_for_the_last,
         dtype_shape_and_timestep_are_checked, fifo_keeps_the_youngest_in_order,
         nearest_replaces_the_one_at_the_least_distance,
         random_replaces_one_of_the_bucket_and_leaves_the_others,
         the_same_seed_does_the_same_and_another_another,
         what_another_shard_owns_is_counted_and_drawn_from_the_nearest,
         more_ranks_than_buckets_is_an_empty_answer, an_empty_bucket_is_empty_though_others_are_not,
         no_modulation_gives_entries_back_to_the_bit,
         the_byte_cap_holds_and_buckets_come_to_share_it,
         a_cap_of_one_entry_gives_it_to_the_last_that_came,
         memory_comes_in_pieces_that_are_no_longer_than_needed,
         without_memory_the_ring_is_as_it_was,
         a_choice_keeps_as_many_as_asked_in_order_and_depends_on_its_seed_alone,
         merging_is_adding_everything)
