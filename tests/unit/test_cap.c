/* SPDX-License-Identifier: MIT */
#include "cache/cap.h"
#include "cache/peak.h"
#include "support/seed.h"
#include "support/suite.h"

#define MIB ((uint64_t)1 << 20)

START_TEST(the_ceiling_is_the_overhead_above_the_peak_within_the_limit_but_never_below_live)
{
    const struct {
        uint64_t overhead, limit, live, peak, ceiling;
    } rows[] = {
        {25, 1000 * MIB, 10 * MIB, 100 * MIB, 125 * MIB},
        {25, 1000 * MIB, 200 * MIB, 100 * MIB, 250 * MIB}, /* this request makes the peak */
        {0, 1000 * MIB, 10 * MIB, 100 * MIB, 100 * MIB},
        {10000, 100000 * MIB, 10 * MIB, 100 * MIB, 10100 * MIB},
        {25, 110 * MIB, 10 * MIB, 100 * MIB, 110 * MIB},
        {25, 110 * MIB, 120 * MIB, 120 * MIB, 120 * MIB}, /* live alone may exceed the limit */
        {25, 0, 10 * MIB, 100 * MIB, 10 * MIB},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        sc_cap cap = {.overhead_percent = rows[i].overhead, .limit = rows[i].limit};

        ck_assert_uint_eq(sc_cap_ceiling(&cap, rows[i].live, rows[i].peak), rows[i].ceiling);
    }
}
END_TEST

START_TEST(the_peak_is_the_most_of_the_window_and_the_running_step)
{
    const uint64_t windows[] = {1, 2, 3, 7, 64};
    sc_random random = sc_random_new("peak");

    for (size_t w = 0; w < sizeof(windows) / sizeof(windows[0]); w++) {
        uint64_t bytes[2000];
        sc_peak peak;

        ck_assert(sc_peak_init(&peak, windows[w]));
        for (uint64_t step = 0; step < 2000; step++) {
            uint64_t running = sc_random_below(&random, 50), most = running;

            for (uint64_t back = 1; back < windows[w] && back <= step; back++)
                most = bytes[step - back] > most ? bytes[step - back] : most;
            ck_assert_uint_eq(sc_peak_most(&peak, running), most);
            bytes[step] = running + sc_random_below(&random, 1000);
            sc_peak_push(&peak, step, bytes[step]);
        }
        sc_peak_release(&peak);
    }
}
END_TEST

static sc_scope whole;

typedef struct fixture {
    sc_shapes shapes;
    sc_cap cap;
} fixture;

static void set_up(fixture *f)
{
    sc_shapes_init(&f->shapes, 1000, 64, 0);
    f->cap = (sc_cap){.overhead_percent = 25, .limit = UINT64_MAX};
}

static void tear_down(fixture *f)
{
    sc_cap_release(&f->cap);
    sc_shapes_release(&f->shapes);
}

/* A new slot for `bytes` that was asked for `uses` times and is idle now. */
static sc_buffer *idle(fixture *f, uint64_t bytes, uint32_t uses)
{
    sc_shape *shape = sc_shapes_find(&f->shapes, 1, bytes, 0);
    sc_buffer *buffer;

    if (!shape)
        shape = sc_shapes_add(&f->shapes, &whole, 1, bytes, 0, 0);
    ck_assert(sc_cap_reserve(&f->cap, f->shapes.slots + 1));
    buffer = sc_shape_empty_slot(&f->shapes, shape);
    sc_cap_enter(&f->cap, buffer);
    sc_shape_set_state(&f->shapes, buffer, SC_STATE_IDLE);
    sc_cap_parked(&f->cap, buffer);
    buffer->uses = uses;
    return buffer;
}

/* The next to go in `step` is `expected`; it goes. */
static void expect_next(fixture *f, uint64_t step, sc_buffer *expected)
{
    sc_cap_check(&f->cap, &f->shapes);
    ck_assert_ptr_eq(sc_cap_least(&f->cap, step), expected);
    sc_shape_set_state(&f->shapes, expected, SC_STATE_EMPTY);
}

START_TEST(what_is_asked_for_least_per_byte_goes_first)
{
    fixture f;
    sc_buffer *often, *seldom, *large;

    set_up(&f);
    often = idle(&f, 2 * MIB, 9);
    seldom = idle(&f, 4 * MIB, 9);
    large = idle(&f, 64 * MIB, 9);
    expect_next(&f, 0, large);
    expect_next(&f, 0, seldom);
    expect_next(&f, 0, often);
    tear_down(&f);
}
END_TEST

START_TEST(of_equal_value_the_larger_goes_first_then_the_higher_slot)
{
    fixture f;
    sc_buffer *low, *high, *larger;

    set_up(&f);
    low = idle(&f, 2 * MIB, 0);
    high = idle(&f, 2 * MIB, 0);
    larger = idle(&f, 4 * MIB, 0);
    expect_next(&f, 0, larger);
    expect_next(&f, 0, high);
    expect_next(&f, 0, low);
    tear_down(&f);
}
END_TEST

START_TEST(what_is_parked_before_the_cursor_is_found_again)
{
    fixture f;
    sc_buffer *large, *small;

    set_up(&f);
    small = idle(&f, 2 * MIB, 1);
    large = idle(&f, 4 * MIB, 1);
    expect_next(&f, 0, large);
    expect_next(&f, 0, small);
    sc_shape_set_state(&f.shapes, small, SC_STATE_IDLE);
    sc_cap_parked(&f.cap, small);
    sc_shape_set_state(&f.shapes, large, SC_STATE_IDLE);
    sc_cap_parked(&f.cap, large);
    expect_next(&f, 0, large);
    expect_next(&f, 0, small);
    tear_down(&f);
}
END_TEST

START_TEST(a_slot_filled_after_the_order_was_made_goes_last_until_the_next_step)
{
    fixture f;
    sc_buffer *first, *second, *late;

    set_up(&f);
    first = idle(&f, 4 * MIB, 5);
    second = idle(&f, 2 * MIB, 5);
    expect_next(&f, 0, first);
    late = idle(&f, 64 * MIB, 0);
    expect_next(&f, 0, second);
    expect_next(&f, 0, late);
    sc_shape_set_state(&f.shapes, second, SC_STATE_IDLE);
    sc_cap_parked(&f.cap, second);
    sc_shape_set_state(&f.shapes, late, SC_STATE_IDLE);
    sc_cap_parked(&f.cap, late);
    expect_next(&f, 1, late);
    expect_next(&f, 1, second);
    tear_down(&f);
}
END_TEST

START_TEST(what_was_asked_for_long_ago_loses_to_what_is_asked_for_now)
{
    fixture f;
    sc_buffer *then, *now, *filler;

    set_up(&f);
    then = idle(&f, 2 * MIB, 40);
    now = idle(&f, 2 * MIB + 1, 1); /* twice the pages */
    filler = idle(&f, 512 * MIB, 0);
    expect_next(&f, 0, filler);
    for (uint64_t step = 1; step < 60; step++) {
        now->uses = 2;
        sc_shape_set_state(&f.shapes, filler, SC_STATE_IDLE);
        sc_cap_parked(&f.cap, filler);
        expect_next(&f, step, filler);
    }
    expect_next(&f, 60, then);
    expect_next(&f, 60, now);
    tear_down(&f);
}
END_TEST

START_TEST(forgotten_slots_leave_no_trace_in_the_order)
{
    fixture f;

    set_up(&f);
    for (uint64_t i = 0; i < 5000; i++) {
        sc_buffer *buffer = idle(&f, 2 * MIB + i, 1);

        sc_shape_set_state(&f.shapes, buffer, SC_STATE_EMPTY);
        sc_cap_leave(&f.cap, buffer);
        sc_shapes_forget(&f.shapes, buffer->shape);
        sc_cap_check(&f.cap, &f.shapes);
    }
    ck_assert_uint_le(f.cap.size, 64);
    tear_down(&f);
}
END_TEST

SC_SUITE("cap", the_ceiling_is_the_overhead_above_the_peak_within_the_limit_but_never_below_live,
         the_peak_is_the_most_of_the_window_and_the_running_step,
         what_is_asked_for_least_per_byte_goes_first,
         of_equal_value_the_larger_goes_first_then_the_higher_slot,
         what_is_parked_before_the_cursor_is_found_again,
         a_slot_filled_after_the_order_was_made_goes_last_until_the_next_step,
         what_was_asked_for_long_ago_loses_to_what_is_asked_for_now,
         forgotten_slots_leave_no_trace_in_the_order)
