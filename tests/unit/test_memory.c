/* SPDX-License-Identifier: MIT
 * How much memory there is, and giving back what is idle: shapecache_memory() and
 * shapecache_trim(), and what the log tells of memory by itself. */
#include "shapecache/shapecache.h"
#include "support/room.h"
#include "support/suite.h"
#include <string.h>

static const uint64_t sizes[] = {4 * MIB, 6 * MIB};
enum { SIZES = 2 };

static shapecache_memory_info memory_of(int device)
{
    shapecache_memory_info info;

    ck_assert_int_eq(shapecache_memory(device, &info), SHAPECACHE_OK);
    ck_assert_uint_eq(info.held, info.live + info.idle);
    return info;
}

START_TEST(memory_is_told_in_whole_pages)
{
    sc_address small = room_alloc(100), odd = room_alloc(3 * MIB);
    shapecache_memory_info info = memory_of(-1);

    ck_assert_uint_eq(info.live, 2 * MIB + 4 * MIB);
    ck_assert_uint_eq(info.idle, 0);
    ck_assert_uint_eq(info.live_peak, info.live);
    ck_assert_uint_eq(info.driver_total, 1024 * MIB);
    room_free(odd);
    info = memory_of(0);
    ck_assert_uint_eq(info.live, 2 * MIB);
    ck_assert_uint_eq(info.live_peak, 6 * MIB);
    ck_assert_uint_eq(info.held_peak, 6 * MIB);
    room_free(small);
}
END_TEST

START_TEST(what_is_idle_is_held_until_a_trim)
{
    room_fix(sizes, SIZES);
    shapecache_memory_info before = memory_of(-1);

    ck_assert_uint_eq(before.live, 0);
    ck_assert_uint_eq(before.idle, 10 * MIB);
    ck_assert_uint_eq(fake_live_blocks(), SIZES);
    ck_assert_int_eq(shapecache_trim(-1), SHAPECACHE_OK);
    shapecache_memory_info after = memory_of(-1);

    ck_assert_uint_eq(after.held, 0);
    ck_assert_uint_eq(after.driver_free, before.driver_free + 10 * MIB);
    ck_assert_uint_eq(fake_live_blocks(), 0);
}
END_TEST

START_TEST(a_trim_leaves_what_is_live_alone)
{
    room_fix(sizes, SIZES);
    sc_address kept = room_alloc(sizes[0]);

    ck_assert_int_eq(shapecache_trim(0), SHAPECACHE_OK);
    ck_assert(fake_is_live(kept));
    ck_assert_uint_eq(memory_of(0).live, sizes[0]);
    ck_assert_uint_eq(memory_of(0).idle, 0);
}
END_TEST

START_TEST(a_trim_changes_no_phase)
{
    room_fix(sizes, SIZES);
    ck_assert_int_eq(shapecache_trim(-1), SHAPECACHE_OK);
    ck_assert_int_eq(shapecache_phase(-1), SHAPECACHE_PHASE_FIXED);
    unsigned before = fake_count(FAKE_MEM_ALLOC);

    room_batch(sizes, SIZES);
    ck_assert_uint_eq(fake_count(FAKE_MEM_ALLOC), before + SIZES); /* nothing was left */
    room_batch(sizes, SIZES);
    ck_assert_uint_eq(fake_count(FAKE_MEM_ALLOC), before + SIZES); /* and is kept again */
    ck_assert_int_eq(shapecache_phase(-1), SHAPECACHE_PHASE_FIXED);
    sc_engine_finish();
    lines log = room_log();

    const char *mark = lines_of(&log, "mark", 1); /* the first says where steps begin */

    lines_expect(mark, "name", "\"trim\"");
    lines_expect(mark, "automatic", "1");
    ck_assert_uint_eq(lines_u64(mark, "trimmed"), 10 * MIB);
    ck_assert_uint_eq(lines_sum(&log, "end", "evicted"), 0);
    ck_assert_uint_eq(lines_sum(&log, "end", "malloc_frees"), 0);
    ck_assert_uint_eq(lines_sum(&log, "end", "driver_frees"), fake_count(FAKE_MEM_FREE));
    lines_release(&log);
}
END_TEST

START_TEST(a_trim_waits_for_no_device)
{
    room_fix(sizes, SIZES);
    unsigned before = fake_count(FAKE_CONTEXT_WAIT);

    ck_assert_int_eq(shapecache_trim(-1), SHAPECACHE_OK); /* the frees have waited */
    ck_assert_uint_eq(fake_count(FAKE_CONTEXT_WAIT), before);
}
END_TEST

START_TEST(during_a_capture_nothing_is_given_back_and_the_driver_is_not_asked)
{
    room_fix(sizes, SIZES);
    sc_engine_capture_begin();
    unsigned frees = fake_count(FAKE_MEM_FREE), questions = fake_count(FAKE_MEM_INFO);

    ck_assert_int_eq(shapecache_trim(-1), SHAPECACHE_ECAPTURE);
    ck_assert_uint_eq(memory_of(-1).driver_total, 0);
    ck_assert_uint_eq(memory_of(-1).idle, 10 * MIB);
    ck_assert_uint_eq(fake_count(FAKE_MEM_FREE), frees);
    ck_assert_uint_eq(fake_count(FAKE_MEM_INFO), questions);
    sc_engine_capture_end();
    ck_assert_int_eq(shapecache_trim(-1), SHAPECACHE_OK);
    ck_assert_uint_eq(memory_of(-1).idle, 0);
}
END_TEST

START_TEST(another_devices_memory_can_be_asked_for_and_given_back)
{
    room_fix(sizes, SIZES);
    sc_context own = fake_primary(1);

    fake_set_current(own);
    room_free(room_alloc(2 * MIB));
    ck_assert_uint_eq(memory_of(-1).live_peak, 2 * MIB);
    ck_assert_uint_eq(memory_of(0).idle, 10 * MIB);
    ck_assert_uint_eq(memory_of(0).driver_free, 1014 * MIB);
    ck_assert_uint_eq(memory_of(1).driver_free, 1024 * MIB);
    ck_assert_int_eq(shapecache_trim(0), SHAPECACHE_OK);
    ck_assert_uint_eq(memory_of(0).driver_free, 1024 * MIB);
    ck_assert_uint_eq(fake_get_current(), own); /* as it was */
}
END_TEST

START_TEST(a_question_that_cannot_be_answered_says_why)
{
    shapecache_memory_info info = {.live = 77};

    ck_assert_int_eq(shapecache_memory(0, &info), SHAPECACHE_EOFF); /* nothing started */
    ck_assert_int_eq(shapecache_trim(0), SHAPECACHE_EOFF);
    room_free(room_alloc(MIB));
    ck_assert_int_eq(shapecache_memory(-1, NULL), SHAPECACHE_EVALUE);
    ck_assert_int_eq(shapecache_memory(-2, &info), SHAPECACHE_EDEVICE);
    ck_assert_int_eq(shapecache_memory(100000, &info), SHAPECACHE_EDEVICE);
    ck_assert_int_eq(shapecache_memory(1, &info), SHAPECACHE_EOFF);
    ck_assert_int_eq(shapecache_trim(-2), SHAPECACHE_EDEVICE);
    ck_assert_int_eq(shapecache_trim(1), SHAPECACHE_EOFF);
    fake_set_current(0);
    ck_assert_int_eq(shapecache_memory(-1, &info), SHAPECACHE_EDEVICE);
    ck_assert_int_eq(shapecache_trim(-1), SHAPECACHE_EDEVICE);
    ck_assert_uint_eq(info.live, 77);
    sc_engine_finish();
    ck_assert_int_eq(shapecache_trim(0), SHAPECACHE_EOFF);
}
END_TEST

START_TEST(a_driver_that_does_not_answer_leaves_its_figures_at_0)
{
    room_free(room_alloc(4 * MIB));
    fake_fail_kind(FAKE_MEM_INFO, 1, 999);
    ck_assert_uint_eq(memory_of(0).driver_total, 0);
    ck_assert_uint_eq(memory_of(0).driver_total, 1024 * MIB);
    fake_set_current(fake_primary(1));
    fake_fail_kind(FAKE_CONTEXT_PUSH, 1, 999);
    ck_assert_uint_eq(memory_of(0).driver_total, 0);
    ck_assert_uint_eq(memory_of(0).live_peak, 4 * MIB);
    ck_assert_uint_eq(memory_of(0).driver_total, 1024 * MIB);
}
END_TEST

START_TEST(a_mark_tells_where_steps_begin)
{
    sc_address weights = room_alloc(20 * MIB);

    for (int i = 0; i < 3; i++)
        room_batch(sizes, SIZES);
    sc_engine_finish();
    lines log = room_log();
    const char *mark = lines_of(&log, "mark", 0);

    ck_assert_uint_eq(lines_count(&log, "mark"), 1);
    lines_expect(mark, "name", "\"steps begin\"");
    lines_expect(mark, "automatic", "1");
    lines_expect(mark, "step", "1");
    ck_assert_uint_eq(lines_u64(mark, "live"), 20 * MIB);
    ck_assert_uint_eq(lines_u64(mark, "live_peak"), 30 * MIB);
    ck_assert(fake_is_live(weights));
    lines_release(&log);
}
END_TEST

START_TEST(a_row_for_every_third_step_has_the_marks_of_all_three)
{
    (void)setenv("SHAPECACHE_LOG_EVERY", "3", 1);
    for (uint64_t i = 0; i < 7; i++) { /* the highest, step 2, has no row */
        const uint64_t one[] = {i == 2 ? 40 * MIB : (2 + 2 * i) * MIB};

        room_batch(one, 1);
    }
    sc_engine_finish();
    lines log = room_log();

    ck_assert_uint_eq(lines_count(&log, "step"), 3);
    ck_assert_uint_eq(lines_u64(lines_of(&log, "step", 0), "live_peak"), 2 * MIB);
    ck_assert_uint_eq(lines_u64(lines_of(&log, "step", 1), "live_peak"), 40 * MIB);
    ck_assert_uint_eq(lines_u64(lines_of(&log, "step", 2), "live_peak"), 14 * MIB);
    ck_assert_uint_eq(lines_u64(lines_of(&log, "step", 2), "requests"), 1); /* its own */
    lines_release(&log);
}
END_TEST

SC_SUITE_WITH("memory", room_enter, room_close, memory_is_told_in_whole_pages,
              what_is_idle_is_held_until_a_trim, a_trim_leaves_what_is_live_alone,
              a_trim_changes_no_phase, a_trim_waits_for_no_device,
              during_a_capture_nothing_is_given_back_and_the_driver_is_not_asked,
              another_devices_memory_can_be_asked_for_and_given_back,
              a_question_that_cannot_be_answered_says_why,
              a_driver_that_does_not_answer_leaves_its_figures_at_0, a_mark_tells_where_steps_begin,
              a_row_for_every_third_step_has_the_marks_of_all_three)
