/* SPDX-License-Identifier: MIT
 * Memory scopes: what each sees, and how they nest. */
#include "support/regions.h"
#include "support/suite.h"
#include <string.h>

static const uint64_t sizes[] = {4 * MIB, 6 * MIB};
enum { SIZES = 2, LOG = SHAPECACHE_SCOPE_LOG };

START_TEST(a_scope_sees_what_came_and_went_within_it)
{
    sc_address before = room_alloc(10 * MIB);

    room_free(room_alloc(50 * MIB)); /* gone before it begins */
    begin("scope", 0);
    room_free(room_alloc(20 * MIB));
    sc_address after = room_alloc(4 * MIB);
    shapecache_scope_info info = end();

    room_free(room_alloc(60 * MIB)); /* and after it has ended */
    ck_assert_int_eq(info.device, 0);
    ck_assert_uint_eq(info.depth, 0);
    ck_assert_uint_eq(info.live_before, 10 * MIB);
    ck_assert_uint_eq(info.live_peak, 30 * MIB);
    ck_assert_uint_eq(info.held_peak, 30 * MIB);
    ck_assert_uint_eq(info.live, 14 * MIB);
    ck_assert_uint_eq(info.idle_before + info.idle + info.trimmed, 0);
    room_free(before);
    room_free(after);
}
END_TEST

START_TEST(each_of_nested_scopes_sees_its_own_peak)
{
    room_free(room_alloc(2 * MIB));
    begin("outer", 0);
    room_free(room_alloc(20 * MIB));
    begin("inner", 0);
    sc_address kept = room_alloc(8 * MIB);

    begin("innermost", 0);
    room_free(room_alloc(2 * MIB));
    shapecache_scope_info innermost = end(), inner = end();

    room_free(kept);
    shapecache_scope_info outer = end();

    ck_assert_uint_eq(innermost.live_before, 8 * MIB);
    ck_assert_uint_eq(innermost.live_peak, 10 * MIB);
    ck_assert_uint_eq(inner.live_peak, 10 * MIB);
    ck_assert_uint_eq(outer.live_peak, 20 * MIB);
    ck_assert_uint_eq(innermost.depth, 2);
    ck_assert_uint_eq(inner.depth, 1);
    ck_assert_uint_eq(outer.depth, 0);
}
END_TEST

START_TEST(a_peak_before_an_inner_scope_is_still_the_outer_ones)
{
    room_free(room_alloc(2 * MIB));
    begin("outer", 0);
    room_free(room_alloc(20 * MIB));
    for (int i = 0; i < 3; i++) {
        begin("inner", 0);
        room_free(room_alloc(2 * MIB));
        ck_assert_uint_eq(end().live_peak, 2 * MIB);
    }
    ck_assert_uint_eq(end().live_peak, 20 * MIB);
}
END_TEST

START_TEST(marks_do_not_restart_with_a_step)
{
    room_fix(sizes, SIZES);
    begin("scope", 0);
    for (int i = 0; i < 3; i++) {
        const uint64_t one[] = {i == 0 ? sizes[1] : sizes[0]};

        room_batch(one, 1);
    }
    shapecache_scope_info info = end();

    ck_assert_uint_eq(info.live_peak, 6 * MIB);
    ck_assert_uint_eq(info.held_peak, 10 * MIB);
    ck_assert_uint_eq(info.idle_before, 10 * MIB);
}
END_TEST

START_TEST(a_scope_begun_before_the_first_allocation_sees_it)
{
    begin("load", LOG);
    begin("inner", 0);
    sc_address model = room_alloc(30 * MIB);

    room_free(room_alloc(10 * MIB));
    ck_assert_uint_eq(end().live_peak, 40 * MIB);
    shapecache_scope_info info = end();

    ck_assert_uint_eq(info.live_before, 0);
    ck_assert_uint_eq(info.live_peak, 40 * MIB);
    ck_assert_uint_eq(info.live, 30 * MIB);
    room_free(model);
}
END_TEST

START_TEST(a_scope_begun_without_a_context_tells_of_the_one_at_its_end)
{
    sc_address first = room_alloc(10 * MIB);

    fake_set_current(0);
    begin("scope", 0);
    fake_set_current(fake_primary(1)); /* not allocated on yet */
    room_free(room_alloc(6 * MIB));
    ck_assert_uint_eq(end().live_peak, 6 * MIB);

    fake_set_current(0);
    begin("scope", 0);
    fake_set_current(fake_primary(0));
    room_free(room_alloc(2 * MIB));
    shapecache_scope_info info = end();

    ck_assert_int_eq(info.device, 0);
    ck_assert_uint_eq(info.live_before, 10 * MIB);
    ck_assert_uint_eq(info.live_peak, 12 * MIB);
    room_free(first);
}
END_TEST

START_TEST(a_scope_tells_of_the_device_where_it_began)
{
    room_free(room_alloc(2 * MIB));
    begin("zero", 0);
    fake_set_current(fake_primary(1));
    room_free(room_alloc(50 * MIB));
    begin("one", 0);
    room_free(room_alloc(4 * MIB));
    fake_set_current(fake_primary(0));
    shapecache_scope_info one = end(), zero = end();

    ck_assert_int_eq(one.device, 1);
    ck_assert_uint_eq(one.live_peak, 4 * MIB);
    ck_assert_int_eq(zero.device, 0);
    ck_assert_uint_eq(zero.live_peak, 0);
}
END_TEST

START_TEST(trims_go_where_they_were_asked_for)
{
    room_fix(sizes, SIZES);
    begin("before", SHAPECACHE_SCOPE_TRIM_BEFORE);
    room_batch(sizes, SIZES);
    shapecache_scope_info info = end();

    ck_assert_uint_eq(info.trimmed, 10 * MIB);
    ck_assert_uint_eq(info.idle_before, 0);
    ck_assert_uint_eq(info.idle, 10 * MIB);
    begin("after", SHAPECACHE_SCOPE_TRIM_AFTER);
    room_batch(sizes, SIZES);
    info = end();
    ck_assert_uint_eq(info.trimmed, 10 * MIB);
    ck_assert_uint_eq(info.idle_before, 10 * MIB);
    ck_assert_uint_eq(info.held_peak, 10 * MIB);
    ck_assert_uint_eq(info.idle, 0);
    ck_assert_uint_eq(fake_live_blocks(), 0);
}
END_TEST

START_TEST(during_a_capture_a_scope_trims_nothing)
{
    const unsigned both = SHAPECACHE_SCOPE_TRIM_BEFORE | SHAPECACHE_SCOPE_TRIM_AFTER;

    room_fix(sizes, SIZES);
    unsigned frees = fake_count(FAKE_MEM_FREE);

    sc_engine_capture_begin();
    begin("captured", both | LOG);
    shapecache_scope_info info = end();

    sc_engine_capture_end();
    ck_assert_uint_eq(info.trimmed, 0);
    ck_assert_uint_eq(info.idle, 10 * MIB);
    ck_assert_uint_eq(fake_count(FAKE_MEM_FREE), frees);
}
END_TEST

START_TEST(only_a_scope_that_asks_for_it_is_in_the_log)
{
    char value[128];

    room_fix(sizes, SIZES);
    begin("out\"er", LOG | SHAPECACHE_SCOPE_TRIM_AFTER);
    begin("silent", 0);
    begin("inner", LOG);
    room_batch(sizes, SIZES);
    (void)end();
    (void)end();
    (void)end();
    sc_engine_finish();
    lines log = room_log();
    const char *inner = lines_of(&log, "scope", 0), *outer = lines_of(&log, "scope", 1);

    ck_assert_uint_eq(lines_count(&log, "scope"), 2);
    lines_expect(inner, "name", "\"inner\"");
    lines_expect(inner, "depth", "2");
    lines_expect(inner, "dev", "0");
    lines_expect(outer, "name", "\"out\\\"er\"");
    lines_expect(outer, "depth", "0");
    ck_assert_uint_eq(lines_u64(inner, "live_peak"), 10 * MIB);
    ck_assert_uint_eq(lines_u64(inner, "idle_before"), 10 * MIB);
    ck_assert_uint_eq(lines_u64(inner, "live_before"), 0);
    ck_assert_uint_eq(lines_u64(outer, "trimmed"), 10 * MIB);
    ck_assert_uint_eq(lines_u64(outer, "idle"), 0);
    ck_assert_uint_eq(lines_u64(inner, "idle"), 10 * MIB);
    ck_assert_uint_le(lines_u64(inner, "dur_ns"), lines_u64(outer, "dur_ns"));
    ck_assert(lines_field(inner, "step", value, sizeof value));
    lines_release(&log);
}
END_TEST

START_TEST(no_record_of_many_scopes_in_one_step_is_lost)
{
    room_free(room_alloc(MIB));
    for (int i = 0; i < 2000; i++) {
        begin("one of many", LOG);
        (void)end();
    }
    sc_engine_finish();
    lines log = room_log();

    size_t scopes = 0;

    for (size_t i = 0; i < log.count; i++)
        scopes += strstr(log.line[i], "\"ev\":\"scope\"") != NULL;
    ck_assert_uint_eq(scopes, 2000);
    ck_assert_uint_eq(lines_count(&log, "warn"), 0);
    lines_release(&log);
}
END_TEST

SC_SUITE_WITH("region", room_enter, room_close, a_scope_sees_what_came_and_went_within_it,
              each_of_nested_scopes_sees_its_own_peak,
              a_peak_before_an_inner_scope_is_still_the_outer_ones,
              marks_do_not_restart_with_a_step, a_scope_begun_before_the_first_allocation_sees_it,
              a_scope_begun_without_a_context_tells_of_the_one_at_its_end,
              a_scope_tells_of_the_device_where_it_began, trims_go_where_they_were_asked_for,
              during_a_capture_a_scope_trims_nothing, only_a_scope_that_asks_for_it_is_in_the_log,
              no_record_of_many_scopes_in_one_step_is_lost)
