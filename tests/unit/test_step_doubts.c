/* SPDX-License-Identifier: MIT */
#include "support/suite.h"
#include "unit/step_verdict.h"

/* What happens where live bytes mislead or say nothing. */

START_TEST(the_time_steps_of_a_recurrent_network_are_no_steps)
{
    for (int64_t unit = KIB; unit <= 64 * KIB; unit *= 8) {
        program.count = 0;
        take(3000 * unit);
        for (int step = 0; step < 30; step++) {
            put(BATCH);
            train_recurrent_batch(200, unit);
        }
        play(1);
        ck_assert_uint_le(result.ends_in[0], 4);
        for (size_t batch = 1; batch < result.batches; batch++)
            ck_assert_uint_le(result.ends_in[batch], 2);
        ck_assert_uint_eq(result.fallbacks, 0);
        ck_assert_uint_le(result.fixed_by, 6);
    }
}
END_TEST

START_TEST(a_recurrent_network_whose_sizes_never_return_is_never_fixed)
{
    take(3000 * KIB);
    for (int step = 0; step < 60; step++) {
        put(BATCH);
        train_recurrent_batch(200, KIB * 16 + step);
    }
    play(1);
    ck_assert_uint_eq(result.fixed_by, UINT_MAX);
}
END_TEST

/* The first hill ends high: it was none of these steps. The end that shows it counts for nothing,
 * so that the set is fixed one step later than three quiet ends alone would make it. */
START_TEST(an_end_far_below_the_one_before_is_doubtful_and_no_quiet_step)
{
    int64_t live = 0;

    for (int hill = 0; hill < 7; hill++) {
        put(BATCH);
        for (; live < 300 * MIB; live += 10 * MIB)
            take(10 * MIB);
        for (; live > (hill == 0 ? 90 : 10) * MIB; live -= 10 * MIB)
            give(10 * MIB);
    }
    play(1);
    ck_assert_uint_eq(result.ends_in[0], 0);
    for (size_t batch = 1; batch < result.batches; batch++)
        ck_assert_uint_eq(result.ends_in[batch], 1);
    ck_assert_uint_eq(result.doubtful, 1);
    ck_assert_uint_eq(result.fixed_by, 5);
}
END_TEST

/* A program that gets ready, in two hills of live bytes and 23 requests ... */
static const int64_t layers[] = {9 * MIB, 7 * MIB,  8 * MIB, 3 * MIB, 5 * MIB,
                                 2 * MIB, 11 * MIB, 4 * MIB, 6 * MIB, MIB};
enum { LAYERS = sizeof layers / sizeof *layers, SETUP = 2 * 12 + LAYERS };

static void get_ready(void)
{
    for (int hill = 0; hill < 2; hill++) {
        for (int i = 0; i < 12; i++)
            take(50 * MIB);
        for (int i = 0; i < 12; i++)
            give(50 * MIB);
    }
    for (size_t i = 0; i < LAYERS; i++)
        take(layers[i]);
}

/* ... and from then on frees a buffer only to allocate its successor: live bytes stay where they
 * are. */
static void replace(int64_t former, int64_t successor)
{
    give(former);
    take(successor);
}

static void replace_all(int turns)
{
    for (int turn = 0; turn < turns; turn++)
        for (size_t i = 0; i < LAYERS; i++)
            replace(layers[i], layers[i]);
}

START_TEST(live_bytes_that_stay_where_they_are_leave_it_to_the_shapes)
{
    put(BATCH);
    get_ready();
    put(BATCH);
    replace_all(100);
    play(1);
    /* The last new shape comes at the end of getting ready, and no end after it. So the first round
     * that is over once 256 more requests have come, and each one after it, ends a step. */
    ck_assert_uint_eq(result.ends_in[1], result.covers);
    ck_assert_uint_ge(result.first_cover, SETUP + 256);
    ck_assert_uint_lt(result.first_cover, SETUP + 256 + LAYERS);
    ck_assert_uint_eq(result.covers,
                      (SETUP + 100 * LAYERS - result.first_cover + LAYERS - 1) / LAYERS);
    ck_assert_uint_eq(result.fallbacks, 0);
    ck_assert_uint_eq(result.fixed_by, 1);
}
END_TEST

START_TEST(shapes_speak_only_when_nothing_new_came_for_half_of_the_run)
{
    enum { NEW = 60 };
    unsigned last_new = SETUP + NEW * (2 * LAYERS + 2) - 1;

    put(BATCH);
    get_ready();
    put(BATCH);
    for (int i = 0; i < NEW; i++) {
        replace_all(2);
        replace(layers[0], layers[0] + 1 + i);
        replace(layers[0] + 1 + i, layers[0]);
    }
    put(BATCH);
    replace_all(300);
    play(1);
    ck_assert_uint_eq(result.ends_in[1], 0);
    ck_assert_uint_gt(result.ends_in[2], 0);
    ck_assert_uint_ge(result.first_cover, 2 * last_new - 1);
    ck_assert_uint_lt(result.first_cover, 2 * last_new + 2 * LAYERS);
}
END_TEST

START_TEST(shapes_say_nothing_while_blocks_become_more)
{
    get_ready();
    put(BATCH);
    for (int i = 0; i < 500; i++) {
        replace_all(1);
        take(MIB); /* and keep it */
    }
    play(1);
    ck_assert_uint_eq(result.covers, 0);
}
END_TEST

START_TEST(live_bytes_take_over_again_when_they_swing_regularly)
{
    network net = small;

    get_ready();
    put(BATCH);
    replace_all(100);
    for (int step = 0; step < 100; step++) {
        put(BATCH);
        take(600 * MIB);
        train_batch(&net, 1000);
        give(600 * MIB);
    }
    play(1);
    ck_assert_uint_gt(result.covers, 50);
    for (size_t batch = 10; batch < result.batches; batch++)
        ck_assert_uint_eq(result.ends_in[batch], 1);
}
END_TEST

SC_SUITE_WITH("step_doubts", set_up, tear_down, the_time_steps_of_a_recurrent_network_are_no_steps,
              a_recurrent_network_whose_sizes_never_return_is_never_fixed,
              an_end_far_below_the_one_before_is_doubtful_and_no_quiet_step,
              live_bytes_that_stay_where_they_are_leave_it_to_the_shapes,
              shapes_speak_only_when_nothing_new_came_for_half_of_the_run,
              shapes_say_nothing_while_blocks_become_more,
              live_bytes_take_over_again_when_they_swing_regularly)
