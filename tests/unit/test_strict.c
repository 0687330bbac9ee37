/* SPDX-License-Identifier: MIT
 * SHAPECACHE_STRICT: which driver allocations are errors, and what the log says of them. */
#include "engine/strict.h"
#include "support/room.h"
#include "support/suite.h"
#include <string.h>

static const uint64_t sizes[] = {3 * MIB, 3 * MIB, 3 * MIB, 3 * MIB, 4 * MIB, 100 * KIB};
enum { SIZES = 6, MANY = 300 };

static void open_strict(void)
{
    ck_assert_int_eq(setenv("SHAPECACHE_STRICT", "1", 1), 0);
    room_enter();
}

static void open_ungated(void)
{
    ck_assert_int_eq(setenv("SHAPECACHE_GATE", "0", 1), 0);
    open_strict();
}

static void open_observing(void)
{
    ck_assert_int_eq(setenv("SHAPECACHE", "observe", 1), 0);
    open_strict();
}

static void open_scoped(void)
{
    ck_assert_int_eq(setenv("SHAPECACHE_SCOPE", "site", 1), 0);
    open_strict();
}

static lines finished(void)
{
    sc_engine_finish();
    return room_log();
}

/* How many records there are, and how many are counted at the end. */
static void expect(const lines *log, size_t records, uint64_t count)
{
    ck_assert_uint_eq(lines_count(log, "strict"), records);
    ck_assert_uint_eq(lines_u64(lines_of(log, "end", 0), "strict"), count);
}

static unsigned said(const char *what)
{
    char *text = room_stderr();
    unsigned count = 0;

    for (const char *at = text; (at = strstr(at, what)); at++)
        count++;
    free(text);
    return count;
}

START_TEST(a_fixed_set_is_no_error_not_even_in_the_step_in_which_the_cache_fills)
{
    room_fix(sizes, SIZES);
    for (int i = 0; i < 10; i++)
        room_batch(sizes, SIZES);
    lines log = finished();

    expect(&log, 0, 0);
    ck_assert_uint_gt(lines_u64(lines_of(&log, "end", 0), "misses"), 0);
    ck_assert_uint_eq(said("STRICT"), 0);
    lines_release(&log);
}
END_TEST

START_TEST(a_new_shape_is_one_with_its_step_bytes_and_site)
{
    room_fix(sizes, SIZES);
    room_free(room_alloc_from(2 * MIB, (const void *)0x1a2b));
    room_free(room_alloc_from(5 * MIB, (const void *)0x1a2b)); /* in fallback: allowed */
    lines log = finished();
    const char *row = lines_of(&log, "strict", 0);

    expect(&log, 1, 1);
    lines_expect(row, "lapse", "\"new-shape\"");
    lines_expect(row, "site", "\"train+0x1a2b\"");
    ck_assert_uint_eq(lines_u64(row, "bytes"), 2 * MIB);
    ck_assert_uint_eq(lines_u64(row, "step"), 5);
    ck_assert_uint_eq(lines_u64(row, "shape"), lines_u64(lines_of(&log, "phase", 1), "shape"));
    ck_assert_uint_eq(said("] SHAPECACHE_STRICT: in phase fixed, step 5, the driver was asked for "
                           "2.00 MiB from train+0x1a2b: its shape was never seen before\n"),
                      1);
    lines_release(&log);
}
END_TEST

START_TEST(more_buffers_at_once_than_ever_are_counted_each_and_recorded_once)
{
    room_fix(sizes, SIZES);
    for (int step = 0; step < 3; step++) {
        sc_address more[7];

        for (int i = 0; i < 7; i++) /* three more than there ever were, then none */
            more[i] = room_alloc(3 * MIB);
        for (int i = 0; i < 7; i++)
            room_free(more[i]);
        ck_assert_int_eq(sc_engine_step(0), 0);
    }
    lines log = finished();

    expect(&log, 1, 3);
    lines_expect(lines_of(&log, "strict", 0), "lapse", "\"more\"");
    ck_assert_uint_eq(lines_u64(lines_of(&log, "strict", 0), "bytes"), 3 * MIB);
    ck_assert_uint_eq(said("STRICT"), 1);
    lines_release(&log);
}
END_TEST

START_TEST(what_was_given_back_is_gone)
{
    room_fix(sizes, SIZES);
    ck_assert_int_eq(sc_engine_trim(0), 0);
    room_batch(sizes, SIZES);
    lines log = finished();

    expect(&log, 3, SIZES); /* three shapes */
    for (size_t i = 0; i < 3; i++)
        lines_expect(lines_of(&log, "strict", i), "lapse", "\"gone\"");
    lines_release(&log);
}
END_TEST

START_TEST(a_set_that_becomes_fixed_again_may_fill_again)
{
    room_fix(sizes, SIZES);
    room_free(room_alloc(2 * MIB));
    for (int i = 0; i < 20; i++)
        room_batch(sizes, SIZES);
    lines log = finished();

    expect(&log, 1, 1);
    lines_expect(lines_of(&log, "phase", 2), "to", "\"fixed\"");
    lines_release(&log);
}
END_TEST

START_TEST(records_are_bounded_and_the_count_is_not)
{
    sc_address more[2 * MANY];

    for (int step = 0; step < 5; step++) {
        for (uint64_t i = 0; i < MANY; i++)
            more[i] = room_alloc(KIB * (i + 1));
        for (uint64_t i = 0; i < MANY; i++)
            room_free(more[i]);
        ck_assert_int_eq(sc_engine_step(0), 0);
    }
    for (uint64_t i = 0; i < 2 * MANY; i++)
        more[i] = room_alloc(KIB * (i % MANY + 1));
    for (uint64_t i = 0; i < 2 * MANY; i++)
        room_free(more[i]);
    lines log = finished();

    expect(&log, SC_STRICT_RECORDS, MANY);
    lines_release(&log);
}
END_TEST

START_TEST(an_allocation_that_the_driver_refuses_is_none)
{
    sc_address address;

    room_fix(sizes, SIZES);
    fake_fail_kind(FAKE_MEM_ALLOC, 2, SC_CUDA_OUT_OF_MEMORY);
    ck_assert_int_eq(sc_engine_alloc(&address, 2 * MIB, NULL), SC_CUDA_OUT_OF_MEMORY);
    lines log = finished();

    expect(&log, 0, 0);
    lines_release(&log);
}
END_TEST

START_TEST(what_is_asked_for_during_a_capture_is_none)
{
    sc_address during;

    room_fix(sizes, SIZES);
    sc_engine_capture_begin();
    during = room_alloc(3 * MIB);
    sc_engine_capture_end();
    room_free(during);
    lines log = finished();

    expect(&log, 0, 0);
    lines_release(&log);
}
END_TEST

START_TEST(with_a_gate_per_site_each_settles_by_itself)
{
    for (uint64_t step = 0; step < 8; step++) {
        sc_address fixed = room_alloc_from(4 * MIB, (const void *)0x10);
        sc_address moody = room_alloc_from((6 + step) * MIB, (const void *)0x20);

        room_free(moody); /* never fixed: no error of its own */
        room_free(fixed);
        ck_assert_int_eq(sc_engine_step(0), 0);
    }
    room_free(room_alloc_from(5 * MIB, (const void *)0x10));
    lines log = finished();

    expect(&log, 1, 1);
    lines_expect(lines_of(&log, "strict", 0), "site", "\"train+0x10\"");
    lines_expect(lines_of(&log, "strict", 0), "lapse", "\"new-shape\"");
    lines_release(&log);
}
END_TEST

START_TEST(without_the_setting_nothing_is_said)
{
    room_fix(sizes, SIZES);
    room_free(room_alloc(2 * MIB));
    lines log = finished();

    ck_assert_uint_eq(lines_count(&log, "strict"), 0);
    lines_expect_absent(lines_of(&log, "end", 0), "strict");
    ck_assert_uint_eq(said("STRICT"), 0);
    lines_release(&log);
}
END_TEST

START_TEST(where_nothing_is_cached_or_gated_nothing_settles)
{
    for (int i = 0; i < 6; i++)
        room_batch(sizes, SIZES);
    room_free(room_alloc(2 * MIB));
    lines log = finished();

    expect(&log, 0, 0);
    lines_release(&log);
}
END_TEST

int main(void)
{
    const TTest *const strict[] = {
        a_fixed_set_is_no_error_not_even_in_the_step_in_which_the_cache_fills,
        a_new_shape_is_one_with_its_step_bytes_and_site,
        more_buffers_at_once_than_ever_are_counted_each_and_recorded_once,
        what_was_given_back_is_gone,
        a_set_that_becomes_fixed_again_may_fill_again,
        records_are_bounded_and_the_count_is_not,
        an_allocation_that_the_driver_refuses_is_none,
        what_is_asked_for_during_a_capture_is_none};
    const TTest *const scoped[] = {with_a_gate_per_site_each_settles_by_itself};
    const TTest *const off[] = {without_the_setting_nothing_is_said};
    const TTest *const never[] = {where_nothing_is_cached_or_gated_nothing_settles};
    Suite *suite = suite_create("strict");

    sc_suite_add(suite, "on", open_strict, room_close, strict, sizeof strict / sizeof *strict);
    sc_suite_add(suite, "scoped", open_scoped, room_close, scoped, 1);
    sc_suite_add(suite, "off", room_enter, room_close, off, 1);
    sc_suite_add(suite, "ungated", open_ungated, room_close, never, 1);
    sc_suite_add(suite, "observing", open_observing, room_close, never, 1);
    return sc_suite_run(suite);
}
