/* SPDX-License-Identifier: MIT */
#include "unit/step_verdict.h"

static void train(run r)
{
    write_training(r);
    play(1);
}

/* From batch `first` on each batch ends one step, just before its first request. */
static void assert_one_end_a_batch(size_t first)
{
    for (size_t batch = first; batch < result.batches; batch++) {
        ck_assert_msg(result.ends_in[batch] == 1, "%u ends in batch %zu", result.ends_in[batch],
                      batch);
        ck_assert_msg(result.requests_in[batch] == 0, "an end after %u requests of batch %zu",
                      result.requests_in[batch], batch);
    }
}

START_TEST(a_fixed_batch_is_one_step_from_the_second_on)
{
    train((run){.net = small, .steps = 300});
    ck_assert_uint_eq(result.ends, 299);
    ck_assert_uint_eq(result.ends_in[0], 0);
    ck_assert_uint_eq(result.ends_in[1], 1);
    assert_one_end_a_batch(2);
}
END_TEST

START_TEST(weights_of_any_size_are_no_step)
{
    static const int64_t weights[] = {64 * KIB, 5 * MIB, 40 * MIB, 400 * MIB, 4000 * MIB};

    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) {
        network net = small;

        net.weights = weights[i];
        program.count = 0;
        train((run){.net = net, .steps = 50});
        ck_assert_uint_eq(result.ends_in[0], 0);
        assert_one_end_a_batch(4);
    }
}
END_TEST

START_TEST(optimizer_state_created_late_costs_two_steps_at_most)
{
    static const int64_t bytes[] = {6 * MIB, 20 * MIB, 60 * MIB, 600 * MIB};

    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        program.count = 0;
        train((run){.net = small, .steps = 50, .state_bytes = bytes[i]});
        ck_assert_uint_ge(result.ends, 47);
        assert_one_end_a_batch(5);
    }
}
END_TEST

/* Until the gradients have gone once, a micro-batch looks like a batch. */
START_TEST(micro_batches_are_one_step_from_the_second_step_on)
{
    static const int micro_batches[] = {2, 3, 4, 8, 32};

    for (size_t i = 0; i < sizeof micro_batches / sizeof *micro_batches; i++) {
        for (int lazy = 0; lazy < 2; lazy++) {
            unsigned first = lazy ? 2 : 1;

            program.count = 0;
            train((run){.net = small,
                        .steps = 60,
                        .accumulate = micro_batches[i],
                        .state_bytes = lazy * 12 * MIB});
            for (size_t batch = 0; batch <= first; batch++)
                ck_assert_uint_le(result.ends_in[batch], (unsigned)micro_batches[i]);
            assert_one_end_a_batch(first + 1);
            ck_assert_uint_eq(result.fallbacks, 0);
        }
    }
}
END_TEST

START_TEST(more_micro_batches_than_ever_are_told_apart_after_one_step)
{
    network net = small;

    take(5 * MIB);
    for (int step = 0; step < 40; step++) {
        int64_t gradients;

        put(BATCH);
        gradients = take(5 * MIB);
        for (int micro = 0; micro < (step < 20 ? 4 : 16); micro++)
            train_batch(&net, 1000);
        give(gradients);
    }
    play(1);
    for (size_t batch = 2; batch < 20; batch++)
        ck_assert_uint_eq(result.ends_in[batch], 1);
    ck_assert_uint_gt(result.ends_in[20], 1);
    for (size_t batch = 22; batch < 40; batch++)
        ck_assert_uint_eq(result.ends_in[batch], 1);
}
END_TEST

START_TEST(an_evaluation_adds_one_step_at_most)
{
    static const int lengths[] = {300, 750, 1500};

    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        program.count = 0;
        train((run){.net = small, .steps = 200, .eval_every = 10, .eval_length = lengths[i]});
        ck_assert_uint_ge(result.ends, 199 - 20);
        ck_assert_uint_le(result.ends, 199 + 20);
        for (size_t batch = 0; batch < result.batches; batch++)
            ck_assert_uint_le(result.ends_in[batch], 2);
    }
}
END_TEST

START_TEST(a_short_last_batch_is_a_step_like_the_others)
{
    train((run){.net = small, .steps = 200, .other_every = 16, .other_length = 620});
    assert_one_end_a_batch(2);
}
END_TEST

START_TEST(a_rare_batch_of_any_length_hides_no_other)
{
    static const int lengths[] = {300, 1600, 5000, 20000};

    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        program.count = 0;
        train((run){.net = small, .steps = 2000, .other_every = 500, .other_length = lengths[i]});
        ck_assert_uint_ge(result.ends, 1999 - 4 * 3);
        ck_assert_uint_le(result.ends, 1999);
    }
}
END_TEST

START_TEST(a_long_batch_now_and_then_is_not_taken_for_the_usual_one)
{
    train((run){.net = small, .steps = 2000, .other_every = 20, .other_length = 3000});
    ck_assert_uint_ge(result.ends, 1800);
    ck_assert_uint_le(result.ends, 1999);
}
END_TEST

START_TEST(random_lengths_still_end_most_batches_and_none_twice)
{
    train((run){.net = small, .steps = 400, .is_random = true});
    ck_assert_uint_ge(result.ends, 240);
    for (size_t batch = 0; batch < result.batches; batch++)
        ck_assert_uint_le(result.ends_in[batch], 1);
}
END_TEST

START_TEST(sizes_that_jitter_change_nothing)
{
    network net = small;

    net.jitter = 30;
    train((run){.net = net, .steps = 400});
    assert_one_end_a_batch(2);
}
END_TEST

START_TEST(an_output_kept_for_one_step_and_a_slow_leak_change_nothing)
{
    network net = small;

    net.is_kept = true;
    train((run){.net = net, .steps = 300});
    assert_one_end_a_batch(3);
    program.count = 0;
    train((run){.net = small, .steps = 300, .leak = 100 * KIB});
    ck_assert_uint_ge(result.ends, 297);
    ck_assert_uint_le(result.ends, 301);
}
END_TEST

START_TEST(a_floor_that_moves_is_found_again)
{
    network net = small;

    take(5 * MIB);
    for (int step = 0; step < 400; step++) {
        if (step == 200)
            take(30 * MIB);
        put(BATCH);
        train_batch(&net, 1000);
    }
    play(1);
    for (size_t batch = 210; batch < result.batches; batch++)
        ck_assert_uint_eq(result.ends_in[batch], 1);
}
END_TEST

/* Each layer's workspace is a hundred times what the layer keeps, so its ripple is deep. */
START_TEST(ripples_within_a_long_step_are_no_steps)
{
    enum { LAYERS = 3000 };

    take(40 * MIB);
    for (int step = 0; step < 8; step++) {
        put(BATCH);
        for (int layer = 0; layer < LAYERS; layer++) {
            take(40 * KIB);
            take(4000 * KIB);
            give(4000 * KIB);
        }
        for (int layer = 0; layer < LAYERS; layer++) {
            take(2000 * KIB);
            give(2000 * KIB);
            give(40 * KIB);
        }
    }
    play(1);
    ck_assert_uint_le(result.ends_in[0], LAYERS / 10); /* nothing tells the first ones from steps */
    for (size_t batch = 1; batch < result.batches; batch++)
        ck_assert_uint_le(result.ends_in[batch], 1);
    ck_assert_uint_ge(result.ends - result.ends_in[0], 6);
}
END_TEST

static void move_in_tenths(int64_t bytes)
{
    for (int i = 0; i < 10; i++)
        put(bytes / 10);
}

START_TEST(a_saddle_between_two_hills_of_a_step_is_no_end)
{
    take(MIB);
    for (int step = 0; step < 300; step++) {
        put(BATCH);
        move_in_tenths(100 * MIB);
        move_in_tenths(-60 * MIB);
        move_in_tenths(50 * MIB);
        move_in_tenths(-90 * MIB);
    }
    play(1);
    assert_one_end_a_batch(2);
}
END_TEST

START_TEST(two_plateaus_make_a_step_of_each_or_of_both)
{
    network net = small;

    take(5 * MIB);
    for (int step = 0; step < 100; step++) {
        put(BATCH);
        train_batch(&net, 1000);
        take(20 * MIB);
        train_batch(&net, 1000);
        give(20 * MIB);
    }
    play(1);
    for (size_t batch = 4; batch < result.batches; batch++) {
        ck_assert_uint_ge(result.ends_in[batch], 1);
        ck_assert_uint_le(result.ends_in[batch], 2);
    }
}
END_TEST

START_TEST(a_program_that_replaces_buffers_has_short_steps)
{
    take(100 * MIB);
    take(10 * MIB);
    for (int i = 0; i < 1000; i++) {
        give(10 * MIB);
        take(10 * MIB);
    }
    put(BATCH);
    play(1);
    ck_assert_uint_ge(result.ends, 50);
    ck_assert_uint_le(result.ends, 1000 / 8);
}
END_TEST

START_TEST(live_bytes_that_only_rise_end_no_step)
{
    for (int i = 0; i < 20000; i++)
        take(1 + (int64_t)random_below(MIB));
    play(1);
    ck_assert_uint_eq(result.ends, 0);
}
END_TEST

START_TEST(requests_of_nothing_end_no_step)
{
    sc_step step;

    sc_step_init(&step);
    for (int i = 0; i < 1000; i++) {
        ck_assert_int_eq(sc_step_request(&step, 0, 0), SC_STEP_END_NONE);
        sc_step_free(&step, 0);
    }
}
END_TEST

START_TEST(one_huge_allocation_and_no_other_ends_no_step)
{
    sc_step step;

    sc_step_init(&step);
    ck_assert_int_eq(sc_step_request(&step, 0, UINT64_MAX), SC_STEP_END_NONE);
    for (int i = 0; i < 1000; i++)
        ck_assert_int_eq(sc_step_request(&step, UINT64_MAX, UINT64_MAX), SC_STEP_END_NONE);
}
END_TEST

START_TEST(the_widest_swings_are_steps_too)
{
    unsigned ends = 0;
    sc_step step;

    sc_step_init(&step);
    for (int batch = 0; batch < 100; batch++) {
        uint64_t live = 0;

        for (int i = 0; i < 15; i++) {
            ends += sc_step_request(&step, live, UINT64_MAX / 15) == SC_STEP_END_LIVE;
            live += UINT64_MAX / 15;
        }
        ends += sc_step_request(&step, live, UINT64_MAX) == SC_STEP_END_LIVE;
        sc_step_free(&step, UINT64_MAX);
        for (int i = 15; i-- > 0;)
            sc_step_free(&step, UINT64_MAX / 15 * (uint64_t)i);
    }
    ck_assert_uint_ge(ends, 98);
    ck_assert_uint_le(ends, 99);
}
END_TEST

START_TEST(any_sequence_of_calls_is_survived)
{
    sc_step step;

    sc_step_init(&step);
    for (int i = 0; i < 1000000; i++) {
        uint64_t live = random_below(UINT64_MAX) >> random_below(64);

        if (random_below(2))
            sc_step_free(&step, live);
        else
            (void)sc_step_request(&step, live, random_below(UINT64_MAX) >> random_below(64));
        if (random_below(2))
            sc_step_ask(&step, &sizes[random_below(50)].mark, random_below(2));
        ck_assert_uint_le(step.requests, step.total);
        ck_assert_uint_le(step.cover.awaited, 50);
    }
}
END_TEST

START_TEST(ends_do_not_depend_on_the_unit_of_memory)
{
    static const uint64_t scales[] = {7, 1000, 1 << 20};
    static verdict expected;
    network net = small;

    net.jitter = 20;
    train((run){.net = net, .steps = 400, .is_random = true, .state_bytes = 9 * MIB});
    expected = result;
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        play(scales[i]);
        ck_assert_mem_eq(&result, &expected, sizeof result);
    }
}
END_TEST

START_TEST(what_training_programs_do_is_fixed_by_step_6_with_one_fallback_at_most)
{
    const run runs[] = {
        {.net = small, .steps = 200},
        {.net = small, .steps = 200, .accumulate = 4},
        {.net = small, .steps = 200, .state_bytes = 6 * MIB},
        {.net = small, .steps = 200, .state_bytes = 60 * MIB},
        {.net = small, .steps = 200, .eval_every = 10, .eval_length = 750},
        {.net = small, .steps = 200, .other_every = 16, .other_length = 620},
        {.net = small, .steps = 200, .leak = 100 * KIB},
        {.net = small, .steps = 200, .leak = 1000 * KIB},
        {.net = small, .steps = 200, .accumulate = 4, .state_bytes = 6 * MIB, .leak = KIB},
    };

    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        program.count = 0;
        train(runs[i]);
        ck_assert_msg(result.fixed_by <= 6, "run %zu: fixed by step %u", i, result.fixed_by);
        ck_assert_msg(result.fallbacks <= 1, "run %zu: %u fallbacks", i, result.fallbacks);
    }
}
END_TEST

START_TEST(random_lengths_are_never_fixed)
{
    train((run){.net = small, .steps = 400, .is_random = true});
    ck_assert_uint_eq(result.fixed_by, UINT_MAX);
}
END_TEST

START_TEST(random_lengths_that_micro_batches_share_are_taken_for_fixed_once_at_most)
{
    train((run){.net = small, .steps = 400, .accumulate = 8, .is_random = true});
    ck_assert_uint_le(result.fallbacks, 1);
    ck_assert_uint_le(result.ends, 400 + 16);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("step");
    TCase *drawn = tcase_create("drawn programs"), *odd = tcase_create("odd input");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(drawn, set_up, tear_down);
    tcase_add_checked_fixture(odd, set_up, tear_down);
    tcase_add_test(drawn, a_fixed_batch_is_one_step_from_the_second_on);
    tcase_add_test(drawn, weights_of_any_size_are_no_step);
    tcase_add_test(drawn, optimizer_state_created_late_costs_two_steps_at_most);
    tcase_add_test(drawn, micro_batches_are_one_step_from_the_second_step_on);
    tcase_add_test(drawn, more_micro_batches_than_ever_are_told_apart_after_one_step);
    tcase_add_test(drawn, an_evaluation_adds_one_step_at_most);
    tcase_add_test(drawn, a_short_last_batch_is_a_step_like_the_others);
    tcase_add_test(drawn, a_rare_batch_of_any_length_hides_no_other);
    tcase_add_test(drawn, a_long_batch_now_and_then_is_not_taken_for_the_usual_one);
    tcase_add_test(drawn, random_lengths_still_end_most_batches_and_none_twice);
    tcase_add_test(drawn, sizes_that_jitter_change_nothing);
    tcase_add_test(drawn, an_output_kept_for_one_step_and_a_slow_leak_change_nothing);
    tcase_add_test(drawn, a_floor_that_moves_is_found_again);
    tcase_add_test(drawn, ripples_within_a_long_step_are_no_steps);
    tcase_add_test(drawn, a_saddle_between_two_hills_of_a_step_is_no_end);
    tcase_add_test(drawn, two_plateaus_make_a_step_of_each_or_of_both);
    tcase_add_test(drawn, what_training_programs_do_is_fixed_by_step_6_with_one_fallback_at_most);
    tcase_add_test(drawn, random_lengths_are_never_fixed);
    tcase_add_test(drawn, random_lengths_that_micro_batches_share_are_taken_for_fixed_once_at_most);
    tcase_add_test(drawn, ends_do_not_depend_on_the_unit_of_memory);
    tcase_add_test(odd, a_program_that_replaces_buffers_has_short_steps);
    tcase_add_test(odd, live_bytes_that_only_rise_end_no_step);
    tcase_add_test(odd, requests_of_nothing_end_no_step);
    tcase_add_test(odd, one_huge_allocation_and_no_other_ends_no_step);
    tcase_add_test(odd, the_widest_swings_are_steps_too);
    tcase_add_test(odd, any_sequence_of_calls_is_survived);
    suite_add_tcase(suite, drawn);
    suite_add_tcase(suite, odd);
    tcase_set_timeout(odd, 60);
    tcase_set_timeout(drawn, 60);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
