/* SPDX-License-Identifier: MIT
 * Is what should be uniform uniform? Pearson's chi-square against equal chances, the largest gap
 * between an empirical and a true distribution (Kolmogorov), and counts against their deviation. A
 * right ring passes each limit with a chance of less than one in a million, and there are nine of
 * them: a run gives a false alarm with a chance of less than 1e-5. SC_SEED, which is printed,
 * repeats a run. */
#include "support/rings.h"
#include "support/seed.h"
#include "support/suite.h"
#include <math.h>
#include <string.h>

static sc_ring ring;

/* The chi-square that is exceeded with a chance of 1e-6, by Wilson and Hilferty: in truth of 0.6e-6
 * to 0.9e-6, from 9 to 49 degrees of freedom. */
static double limit_of(unsigned degrees)
{
    double share = 2.0 / (9.0 * degrees), z = 4.7534; /* of the normal distribution */

    return degrees * pow(1 - share + z * sqrt(share), 3);
}

static void check_uniform(const char *what, const unsigned *counts, unsigned cells, unsigned draws)
{
    double expected = (double)draws / cells, sum = 0;

    for (unsigned i = 0; i < cells; i++)
        sum += (counts[i] - expected) * (counts[i] - expected) / expected;
    ck_assert_msg(sum < limit_of(cells - 1), "%s: chi-square %g of %u cells, limit %g", what, sum,
                  cells, limit_of(cells - 1));
}

static shapecache_ring_config seeded(sc_random *random)
{
    shapecache_ring_config config = rings_config();

    config.seed = sc_random_next(random);
    config.modulation = 0;
    return config;
}

START_TEST(the_tests_own_limit_is_passed_by_what_is_not_uniform)
{
    enum { CELLS = 20, DRAWS = 100000 };
    sc_random random = sc_random_new("crooked");
    unsigned counts[CELLS] = {0};
    double sum = 0, expected = (double)DRAWS / CELLS;

    for (int i = 0; i < DRAWS; i++) { /* cell 0 comes 1.2 times as often */
        unsigned cell = (unsigned)sc_random_below(&random, 101);

        counts[cell < 100 ? cell % CELLS : 0]++;
    }
    for (unsigned i = 0; i < CELLS; i++)
        sum += (counts[i] - expected) * (counts[i] - expected) / expected;
    ck_assert(sum > limit_of(CELLS - 1));
}
END_TEST

START_TEST(each_entry_of_a_bucket_is_drawn_as_often)
{
    enum { ENTRIES = 50, DRAWS = 100000 };
    sc_random random = sc_random_new("bucket");
    shapecache_ring_config config = seeded(&random);
    unsigned counts[ENTRIES] = {0};

    rings_open(&ring, &config);
    for (int i = 0; i < ENTRIES; i++)
        rings_put(&ring, 500, 0, (float)i);
    rings_put(&ring, 0, 0, 1e6F); /* of another bucket: never */
    for (int i = 0; i < DRAWS; i++)
        counts[(unsigned)rings_draw(&ring, SC_REACH_BUCKET, 500, 0, NULL)]++;
    check_uniform("bucket", counts, ENTRIES, DRAWS);
    rings_close(&ring);
}
END_TEST

/* Buckets that hold 1, 2, 3, ... entries: each entry, not each bucket, has the same chance. */
static void check_reach(const char *what, sc_ring_reach reach, long block, unsigned first,
                        unsigned entries)
{
    enum { MOST = 64, DRAWS = 200000 };
    unsigned counts[MOST] = {0};

    ck_assert_uint_le(entries, MOST);
    for (int i = 0; i < DRAWS; i++) {
        unsigned drawn = (unsigned)rings_draw(&ring, reach, 0, block, NULL);

        if (drawn - first >= entries)
            ck_abort_msg("%s: entry %u", what, drawn);
        counts[drawn - first]++;
    }
    check_uniform(what, counts, entries, DRAWS);
}

START_TEST(each_entry_of_a_block_and_of_all_is_drawn_as_often_however_full_its_bucket)
{
    sc_random random = sc_random_new("reach");
    shapecache_ring_config config = seeded(&random);
    unsigned value = 0;

    config.buckets = 5;
    config.timesteps = 5;
    config.blocks = 2;
    rings_open(&ring, &config);
    for (long block = 0; block < 2; block++)
        for (int t = 0; t < 5; t++)
            for (int i = 0; i <= t; i++)
                rings_put(&ring, t, block, (float)value++);
    check_reach("block 0", SC_REACH_BLOCK, 0, 0, 15);
    check_reach("block 1", SC_REACH_BLOCK, 1, 15, 15);
    check_reach("all", SC_REACH_ALL, 0, 0, 30);
    rings_close(&ring);
}
END_TEST

START_TEST(each_place_of_a_full_bucket_is_replaced_as_often)
{
    enum { CAPACITY = 25, DRAWS = 100000 };
    sc_random random = sc_random_new("replacement");
    shapecache_ring_config config = seeded(&random);
    unsigned counts[CAPACITY] = {0};
    float before[CAPACITY];

    config.capacity = CAPACITY;
    rings_open(&ring, &config);
    for (int i = 0; i < CAPACITY; i++)
        rings_put(&ring, 0, 0, (float)i);
    for (int i = 0; i < DRAWS; i++) {
        for (uint32_t age = 0; age < CAPACITY; age++)
            before[age] = rings_value(&ring, 0, age);
        rings_put(&ring, 0, 0, (float)(CAPACITY + i));
        for (uint32_t age = 0; age < CAPACITY; age++)
            counts[age] += rings_value(&ring, 0, age) != before[age];
    }
    check_uniform("replacement", counts, CAPACITY, DRAWS);
    rings_close(&ring);
}
END_TEST

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

START_TEST(the_factor_is_uniform_in_its_interval)
{
    enum { DRAWS = 100000 };
    static double factors[DRAWS];
    sc_random random = sc_random_new("factor");
    shapecache_ring_config config = seeded(&random);
    double gap = 0;

    config.modulation = 0.3F;
    rings_open(&ring, &config);
    rings_put(&ring, 0, 0, 1);
    for (int i = 0; i < DRAWS; i++) {
        shapecache_ring_drawn drawn;

        (void)rings_draw(&ring, SC_REACH_ALL, 0, 0, &drawn);
        factors[i] = drawn.factor;
    }
    qsort(factors, DRAWS, sizeof *factors, compare);
    ck_assert(factors[0] >= 0.7 - 1e-7 && factors[DRAWS - 1] <= 1.3 + 1e-7);
    for (int i = 0; i < DRAWS; i++) {
        double true_share = (factors[i] - 0.7) / 0.6;

        gap = fmax(
            gap, fmax(fabs((i + 1.0) / DRAWS - true_share), fabs((double)i / DRAWS - true_share)));
    }
    /* 2 exp(-2 n gap^2) = 1e-6 */
    ck_assert_msg(gap < sqrt(log(2e6) / (2.0 * DRAWS)), "gap %g", gap);
    rings_close(&ring);
}
END_TEST

START_TEST(each_of_the_gathered_items_is_chosen_as_often_and_each_pair)
{
    enum { COUNT = 12, KEEP = 5, DRAWS = 100000 };
    sc_random random = sc_random_new("gathered");
    unsigned single[COUNT] = {0}, pairs[COUNT * (COUNT - 1) / 2] = {0};
    double variance = 0;

    for (int i = 0; i < DRAWS; i++) {
        sc_ring_choice choice = sc_ring_choose(sc_random_next(&random), COUNT, KEEP);
        bool is_chosen[COUNT];
        unsigned pair = 0;

        for (unsigned a = 0; a < COUNT; a++)
            single[a] += is_chosen[a] = sc_ring_chooses_next(&choice);
        for (unsigned a = 0; a < COUNT; a++)
            for (unsigned b = 0; b < a; b++)
                pairs[pair++] += is_chosen[a] && is_chosen[b];
    }
    /* A choice without repetition spreads less than draws that know nothing of each other. */
    check_uniform("gathered", single, COUNT, DRAWS * KEEP);
    for (unsigned i = 0; i < COUNT * (COUNT - 1) / 2; i++) {
        double chance = (double)(KEEP * (KEEP - 1)) / (COUNT * (COUNT - 1));

        variance = DRAWS * chance * (1 - chance);
        /* 66 pairs, each within 5.7 deviations: 66 x 1.2e-8 < 1e-6 */
        if (fabs(pairs[i] - DRAWS * chance) >= 5.7 * sqrt(variance))
            ck_abort_msg("pair %u: %u times", i, pairs[i]);
    }
}
END_TEST

START_TEST(under_the_cap_each_entry_of_the_fullest_bucket_goes_as_often)
{
    enum { FULL = 10, DRAWS = 60000 };
    sc_random random = sc_random_new("cap");
    unsigned counts[FULL] = {0};

    for (int i = 0; i < DRAWS; i++) {
        shapecache_ring_config config = seeded(&random);
        bool is_there[FULL] = {false};

        config.bytes_most = 12 * FULL;
        rings_open(&ring, &config);
        for (int entry = 0; entry < FULL; entry++)
            rings_put(&ring, 0, 0, (float)entry);
        rings_put(&ring, 500, 0, 99);
        for (uint32_t age = 0; age < FULL - 1; age++)
            is_there[(unsigned)rings_value(&ring, 0, age)] = true;
        for (int entry = 0; entry < FULL; entry++)
            counts[entry] += !is_there[entry];
        sc_ring_release(&ring, rings_memory.unmap);
    }
    check_uniform("cap", counts, FULL, DRAWS);
}
END_TEST

SC_SUITE("ring chance", the_tests_own_limit_is_passed_by_what_is_not_uniform,
         each_entry_of_a_bucket_is_drawn_as_often,
         each_entry_of_a_block_and_of_all_is_drawn_as_often_however_full_its_bucket,
         each_place_of_a_full_bucket_is_replaced_as_often, the_factor_is_uniform_in_its_interval,
         each_of_the_gathered_items_is_chosen_as_often_and_each_pair,
         under_the_cap_each_entry_of_the_fullest_bucket_goes_as_often)
