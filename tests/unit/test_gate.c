/* SPDX-License-Identifier: MIT */
#include "cache/gate.h"
#include "support/suite.h"

enum { WARMUP = 3, REARM = 6, MAX_SHAPES = 100 };

static const sc_gate_step quiet = {.requests = 10, .evictions = 0, .shapes = 5};
static const sc_gate_step thrashing = {.requests = 10, .evictions = 6, .shapes = 5};
static const sc_gate_step wide = {.requests = 10, .evictions = 0, .shapes = MAX_SHAPES + 1};
static const sc_gate_step doubtful = {.requests = 10, .shapes = 5, .is_doubtful = true};
static const sc_gate_step empty = {.requests = 0, .evictions = 0, .shapes = 5};

static sc_gate gate_new(uint64_t rearm)
{
    sc_gate gate;

    sc_gate_init(&gate, (sc_gate_rules){WARMUP, rearm, MAX_SHAPES, true});
    return gate;
}

/* Steps until the phase changes; `most` + 1 when it does not within `most`. */
static uint64_t steps_to_change(sc_gate *gate, sc_gate_step step, uint64_t most)
{
    for (uint64_t i = 1; i <= most; i++)
        if (sc_gate_step_end(gate, step))
            return i;
    return most + 1;
}

static sc_gate gate_fixed(uint64_t rearm)
{
    sc_gate gate = gate_new(rearm);

    ck_assert_uint_eq(steps_to_change(&gate, quiet, 100), WARMUP);
    ck_assert_int_eq(gate.phase, SC_PHASE_FIXED);
    return gate;
}

START_TEST(the_set_is_fixed_after_warmup_steps_without_a_new_shape)
{
    sc_gate gate = gate_new(REARM);

    for (int i = 0; i < 5; i++) {
        ck_assert(!sc_gate_new_shape(&gate));
        ck_assert(!sc_gate_step_end(&gate, quiet));
        ck_assert_uint_eq(steps_to_change(&gate, quiet, WARMUP - 1), WARMUP);
    }
    ck_assert(sc_gate_step_end(&gate, quiet));
    ck_assert_int_eq(gate.phase, SC_PHASE_FIXED);
    ck_assert_int_eq(gate.reason, SC_REASON_SET_FIXED);
}
END_TEST

START_TEST(a_step_that_asks_for_nothing_is_no_sign_of_a_fixed_set)
{
    sc_gate gate = gate_new(REARM);

    ck_assert_uint_eq(steps_to_change(&gate, empty, 100), 101);
    ck_assert_uint_eq(steps_to_change(&gate, quiet, 100), WARMUP);
}
END_TEST

START_TEST(a_doubtful_step_neither_counts_as_quiet_nor_ends_the_quiet)
{
    sc_gate gate = gate_new(REARM);

    ck_assert_uint_eq(steps_to_change(&gate, doubtful, 100), 101);
    ck_assert_uint_eq(steps_to_change(&gate, quiet, WARMUP - 1), WARMUP);
    ck_assert_uint_eq(steps_to_change(&gate, doubtful, 100), 101);
    ck_assert_uint_eq(steps_to_change(&gate, quiet, 100), 1);
    ck_assert_uint_eq(steps_to_change(&gate, doubtful, 100), 101);
    ck_assert_int_eq(gate.phase, SC_PHASE_FIXED);
}
END_TEST

START_TEST(too_wide_a_set_never_opens)
{
    sc_gate gate = gate_new(REARM);

    ck_assert_uint_eq(steps_to_change(&gate, wide, 100), 101);
    ck_assert_uint_eq(steps_to_change(&gate, quiet, 100), 1);
}
END_TEST

typedef enum event { NEW_SHAPE, THRASH, TOO_MANY, OOM } event;

static bool happens(sc_gate *gate, event what)
{
    switch (what) {
    case NEW_SHAPE:
        return sc_gate_new_shape(gate);
    case THRASH:
        return steps_to_change(gate, thrashing, WARMUP) == WARMUP;
    case TOO_MANY:
        return sc_gate_step_end(gate, wide);
    default:
        return sc_gate_out_of_memory(gate);
    }
}

START_TEST(each_reason_closes_the_gate_and_is_named)
{
    const struct {
        event what;
        sc_reason reason;
    } rows[] = {
        {NEW_SHAPE, SC_REASON_NEW_SHAPE},
        {THRASH, SC_REASON_THRASH},
        {TOO_MANY, SC_REASON_TOO_MANY_SHAPES},
        {OOM, SC_REASON_OOM},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        sc_gate gate = gate_fixed(REARM);

        ck_assert(happens(&gate, rows[i].what));
        ck_assert_int_eq(gate.phase, SC_PHASE_FALLBACK);
        ck_assert_int_eq(gate.reason, rows[i].reason);
        ck_assert(!sc_gate_new_shape(&gate)); /* it is closed already */
        ck_assert(!sc_gate_out_of_memory(&gate));
        ck_assert_int_eq(gate.reason, rows[i].reason);
    }
}
END_TEST

START_TEST(the_step_that_closed_the_gate_does_not_count_as_quiet)
{
    for (event what = NEW_SHAPE; what <= OOM; what++) {
        bool is_within_step = what == NEW_SHAPE || what == OOM;
        sc_gate gate = gate_fixed(REARM);

        ck_assert(happens(&gate, what));
        ck_assert_uint_eq(steps_to_change(&gate, quiet, 100), REARM + is_within_step);
        ck_assert_int_eq(gate.reason, SC_REASON_REARM);
    }
}
END_TEST

START_TEST(half_the_requests_evicted_is_no_thrash_nor_are_too_few_steps_of_more)
{
    const sc_gate_step half = {.requests = 10, .evictions = 5, .shapes = 5};
    sc_gate gate = gate_fixed(REARM);

    ck_assert_uint_eq(steps_to_change(&gate, half, 100), 101);
    for (int i = 0; i < 20; i++) {
        ck_assert_uint_eq(steps_to_change(&gate, thrashing, WARMUP - 1), WARMUP);
        ck_assert(!sc_gate_step_end(&gate, quiet));
    }
}
END_TEST

START_TEST(the_quiet_it_wants_doubles_each_time_it_closes)
{
    sc_gate gate = gate_fixed(REARM);
    uint64_t wanted = REARM;

    for (int i = 0; i < 10; i++) {
        ck_assert(sc_gate_new_shape(&gate));
        ck_assert(!sc_gate_step_end(&gate, quiet));
        ck_assert_uint_eq(steps_to_change(&gate, quiet, 1000000), wanted);
        ck_assert_int_eq(gate.phase, SC_PHASE_FIXED);
        wanted *= 2;
    }
}
END_TEST

START_TEST(a_new_shape_in_fallback_starts_the_quiet_again)
{
    sc_gate gate = gate_fixed(REARM);

    ck_assert(sc_gate_new_shape(&gate));
    ck_assert_uint_eq(steps_to_change(&gate, quiet, REARM), REARM + 1);
    ck_assert(!sc_gate_new_shape(&gate));
    ck_assert(!sc_gate_step_end(&gate, quiet));
    ck_assert_uint_eq(steps_to_change(&gate, quiet, 100), REARM);
}
END_TEST

START_TEST(fixed_for_four_times_the_last_quiet_forgets_the_doubling)
{
    const struct {
        uint64_t fixed_steps, wanted;
    } rows[] = {{4 * 2 * REARM - 1, 4 * REARM}, {4 * 2 * REARM, REARM}};

    for (size_t i = 0; i < 2; i++) {
        sc_gate gate = gate_fixed(REARM);

        for (uint64_t wanted = REARM; wanted <= 2 * REARM; wanted *= 2) {
            ck_assert(sc_gate_new_shape(&gate));
            ck_assert_uint_eq(steps_to_change(&gate, quiet, 100), wanted + 1);
        }
        (void)steps_to_change(&gate, quiet, rows[i].fixed_steps);
        ck_assert(sc_gate_new_shape(&gate));
        ck_assert_uint_eq(steps_to_change(&gate, quiet, 100), rows[i].wanted + 1);
    }
}
END_TEST

START_TEST(one_new_shape_in_a_thousand_steps_leaves_it_open_nearly_always)
{
    sc_gate gate = gate_new(REARM);
    uint64_t fixed = 0;

    for (uint64_t step = 0; step < 50000; step++) {
        if (step % 1000 == 0)
            (void)sc_gate_new_shape(&gate);
        fixed += gate.phase == SC_PHASE_FIXED;
        (void)sc_gate_step_end(&gate, quiet);
    }
    ck_assert_uint_gt(fixed, 50000 * 99 / 100);
}
END_TEST

START_TEST(rearm_0_never_opens_again)
{
    sc_gate gate = gate_fixed(0);

    ck_assert(sc_gate_new_shape(&gate));
    ck_assert_uint_eq(steps_to_change(&gate, quiet, 100000), 100001);
    ck_assert_int_eq(gate.phase, SC_PHASE_FALLBACK);
}
END_TEST

START_TEST(off_is_final)
{
    sc_gate gate = gate_fixed(REARM);

    ck_assert(sc_gate_close_for_good(&gate, SC_REASON_STICKY_ERROR));
    ck_assert_int_eq(gate.phase, SC_PHASE_OFF);
    ck_assert(!sc_gate_close_for_good(&gate, SC_REASON_USER));
    ck_assert(!sc_gate_new_shape(&gate));
    ck_assert(!sc_gate_out_of_memory(&gate));
    ck_assert_uint_eq(steps_to_change(&gate, quiet, 1000), 1001);
    ck_assert_int_eq(gate.phase, SC_PHASE_OFF);
    ck_assert_int_eq(gate.reason, SC_REASON_STICKY_ERROR);
}
END_TEST

START_TEST(without_a_gate_it_is_open_from_the_start_whatever_comes)
{
    sc_gate gate;

    sc_gate_init(&gate, (sc_gate_rules){WARMUP, REARM, MAX_SHAPES, false});
    ck_assert_int_eq(gate.phase, SC_PHASE_FIXED);
    ck_assert_int_eq(gate.reason, SC_REASON_USER);
    ck_assert(!sc_gate_new_shape(&gate));
    ck_assert(!sc_gate_out_of_memory(&gate));
    ck_assert_uint_eq(steps_to_change(&gate, thrashing, 100), 101);
    ck_assert_uint_eq(steps_to_change(&gate, wide, 100), 101);
    ck_assert(sc_gate_close_for_good(&gate, SC_REASON_USER));
}
END_TEST

START_TEST(every_phase_and_every_reason_has_a_word_of_its_own)
{
    ck_assert_str_eq(sc_phase_word(SC_PHASE_WARMUP), "warmup");
    ck_assert_str_eq(sc_phase_word(SC_PHASE_OFF), "off");
    ck_assert_str_eq(sc_reason_word(SC_REASON_SET_FIXED), "set-fixed");
    ck_assert_str_eq(sc_reason_word(SC_REASON_FORKED), "forked");
    for (int i = 0; i < SC_REASON_COUNT; i++)
        for (int j = 0; j < i; j++)
            ck_assert_str_ne(sc_reason_word((sc_reason)i), sc_reason_word((sc_reason)j));
}
END_TEST

SC_SUITE("gate", the_set_is_fixed_after_warmup_steps_without_a_new_shape,
         a_step_that_asks_for_nothing_is_no_sign_of_a_fixed_set,
         a_doubtful_step_neither_counts_as_quiet_nor_ends_the_quiet, too_wide_a_set_never_opens,
         each_reason_closes_the_gate_and_is_named,
         the_step_that_closed_the_gate_does_not_count_as_quiet,
         half_the_requests_evicted_is_no_thrash_nor_are_too_few_steps_of_more,
         the_quiet_it_wants_doubles_each_time_it_closes,
         a_new_shape_in_fallback_starts_the_quiet_again,
         fixed_for_four_times_the_last_quiet_forgets_the_doubling,
         one_new_shape_in_a_thousand_steps_leaves_it_open_nearly_always, rearm_0_never_opens_again,
         off_is_final, without_a_gate_it_is_open_from_the_start_whatever_comes,
         every_phase_and_every_reason_has_a_word_of_its_own)
