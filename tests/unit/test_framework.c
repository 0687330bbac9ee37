/* SPDX-License-Identifier: MIT
 * Programs of a framework: one whose allocator keeps what it asks for, and one that is a script. */
#include "engine/site.h"
#include "support/room.h"
#include "support/suite.h"
#include <stdlib.h>
#include <string.h>

static const void *const hoarder = (const void *)(ROOM_HOARDER + 0x10);
static const void *const other = (const void *)0x2000;

/* What a framework does in a step: one segment that it has not asked for before, and a custom
 * operation that asks for the same block each time. */
static unsigned framework_step(uint64_t segment)
{
    (void)room_alloc_from(segment, hoarder);
    fake_forget_counts();
    sc_address block = room_alloc_from(3 * MIB, other);
    unsigned asked = fake_count(FAKE_MEM_ALLOC);

    room_free(block);
    ck_assert_int_eq(sc_engine_step(-1), 0);
    return asked;
}

START_TEST(what_a_caching_allocator_asks_for_passes_and_everything_else_is_cached)
{
    unsigned asked = 0;

    for (uint64_t i = 0; i < 8; i++)
        asked = framework_step((2 + i) * MIB);
    ck_assert_uint_eq(asked, 0);
    ck_assert_int_eq(sc_engine_phase(-1), SC_PHASE_FIXED);
    sc_engine_finish();
    lines log = room_log();
    const char *end = lines_of(&log, "end", 0);

    ck_assert_uint_eq(lines_u64(end, "requests"), 16);
    ck_assert_uint_eq(lines_u64(end, "shapes"), 1);
    ck_assert_uint_ge(lines_u64(end, "bypassed"), 8);
    ck_assert_uint_eq(lines_count(&log, "phase"), 1);
    lines_release(&log);
}
END_TEST

START_TEST(what_it_gives_back_is_free_for_others_at_once)
{
    sc_address segments[8];

    for (int round = 0; round < 6; round++) {
        for (unsigned i = 0; i < 8; i++)
            segments[i] = room_alloc_from(20 * MIB, hoarder);
        for (unsigned i = 0; i < 8; i++)
            room_free(segments[i]);
        ck_assert_uint_eq(fake_live_bytes(), 0);
        ck_assert_int_eq(sc_engine_step(-1), 0);
    }
}
END_TEST

START_TEST(it_is_said_once_with_the_way_to_the_tensors)
{
    for (int i = 0; i < 3; i++)
        (void)room_alloc_from(2 * MIB, hoarder);
    sc_engine_finish();
    lines log = room_log();
    char text[512];

    ck_assert_uint_eq(lines_count(&log, "warn"), 1);
    ck_assert(lines_field(lines_of(&log, "warn", 0), "text", text, sizeof text));
    ck_assert_ptr_nonnull(strstr(text, "libc10_cuda.so+0x"));
    ck_assert_ptr_nonnull(strstr(text, "shapecache run --torch"));
    lines_release(&log);
}
END_TEST

START_TEST(the_summary_of_a_run_that_passed_by_claims_no_peak)
{
    (void)setenv("SHAPECACHE_SUMMARY", "line", 1);
    for (int i = 0; i < 3; i++)
        (void)room_alloc_from(2 * MIB, hoarder);
    sc_engine_finish();
    char *said = room_stderr();

    ck_assert_msg(strstr(said, "] 3 requests, all passed by; see shapecache report log\n") != NULL,
                  "%s", said);
    free(said);
}
END_TEST

/* Asked for again and again, as tensors are. */
static unsigned tensors(void)
{
    for (int i = 0; i < 6; i++) {
        fake_forget_counts();
        room_free(room_alloc_from(3 * MIB, hoarder));
        ck_assert_int_eq(sc_engine_step(-1), 0);
    }
    return fake_count(FAKE_MEM_ALLOC);
}

START_TEST(with_its_cache_off_its_tensors_are_cached)
{
    (void)setenv("PYTORCH_NO_CUDA_MEMORY_CACHING", "1", 1);
    ck_assert_uint_eq(tensors(), 0);
}
END_TEST

START_TEST(all_caches_its_segments_too)
{
    (void)setenv("SHAPECACHE", "all", 1);
    ck_assert_uint_eq(tensors(), 0);
}
END_TEST

START_TEST(an_out_of_memory_of_its_own_gets_what_is_idle)
{
    sc_address segment = 0;

    for (int i = 0; i < 6; i++) {
        room_free(room_alloc_from(300 * MIB, other));
        ck_assert_int_eq(sc_engine_step(-1), 0);
    }
    ck_assert_uint_eq(fake_live_bytes(), 300 * MIB); /* idle */
    ck_assert_int_eq(sc_engine_alloc(&segment, 900 * MIB, hoarder), SC_CUDA_SUCCESS);
    room_free(segment);
    ck_assert_int_eq(sc_engine_alloc(&segment, 2000 * MIB, hoarder), SC_CUDA_OUT_OF_MEMORY);
}
END_TEST

START_TEST(steps_counted_by_requests_end_though_some_pass)
{
    (void)setenv("SHAPECACHE_STEP", "requests:4", 1);
    for (int i = 0; i < 3; i++)
        room_free(room_alloc_from(3 * MIB, other));
    for (int i = 0; i < 3; i++)
        room_free(room_alloc_from(2 * MIB, hoarder));
    room_free(room_alloc_from(3 * MIB, other));
    sc_engine_finish();
    lines log = room_log();

    ck_assert_uint_eq(lines_count(&log, "step"), 1);
    ck_assert_uint_eq(lines_u64(lines_of(&log, "step", 0), "requests"), 6);
    lines_release(&log);
}
END_TEST

START_TEST(a_new_shape_and_an_out_of_memory_are_told_by_the_line_of_the_script)
{
    const uint64_t fixed[] = {3 * MIB};
    char site[256];

    room_script("train.py:31");
    room_fix(fixed, 1);
    ck_assert_uint_eq(room_looked(), 1); /* and no served request looks */
    room_script("model.py:7");
    room_free(room_alloc(4 * MIB));
    room_script("eval.py:90");
    fake_fail_kind(FAKE_MEM_ALLOC, 2, SC_CUDA_OUT_OF_MEMORY);
    sc_address block = 0;

    ck_assert_int_eq(sc_engine_alloc(&block, 4 * MIB, other), SC_CUDA_OUT_OF_MEMORY);
    sc_engine_finish();
    lines log = room_log();

    ck_assert(lines_field(lines_of(&log, "phase", 1), "site", site, sizeof site));
    ck_assert_str_eq(site, "\"model.py:7\"");
    ck_assert(lines_field(lines_of(&log, "oom", 0), "site", site, sizeof site));
    ck_assert_str_eq(site, "\"eval.py:90\"");
    ck_assert(lines_field(lines_of(&log, "site", 0), "site", site, sizeof site));
    ck_assert_str_eq(site, "\"train.py:31\"");
    char *said = room_stderr();

    ck_assert_ptr_nonnull(strstr(said, "new shape 4.00 MiB from model.py:7"));
    free(said);
    lines_release(&log);
}
END_TEST

START_TEST(a_thread_that_runs_no_script_is_told_by_its_code)
{
    char site[256];

    room_script(NULL);
    room_free(room_alloc_from(3 * MIB, other));
    sc_engine_finish();
    lines log = room_log();

    ck_assert(lines_field(lines_of(&log, "shape", 0), "site", site, sizeof site));
    ck_assert_str_eq(site, "\"train+0x2000\"");
    lines_release(&log);
}
END_TEST

START_TEST(where_the_site_is_part_of_the_key_the_script_is_not_looked_at)
{
    (void)setenv("SHAPECACHE_KEY", "bytes+site", 1);
    room_script("train.py:31");
    for (int i = 0; i < 3; i++)
        room_free(room_alloc_from(3 * MIB, other));
    ck_assert_uint_eq(room_looked(), 0);
}
END_TEST

START_TEST(places_with_the_same_text_are_one)
{
    uint32_t one = sc_site_named("train.py:31");

    ck_assert_uint_ne(one, 0);
    ck_assert_uint_eq(sc_site_named("train.py:31"), one);
    ck_assert_uint_ne(sc_site_named("train.py:32"), one);
    ck_assert_str_eq(sc_site_text(one), "train.py:31");
    ck_assert(!sc_site_is_hoarder(one));
    ck_assert(sc_site_is_hoarder(sc_site_number(hoarder)));
    ck_assert(!sc_site_is_hoarder(sc_site_number(other)));
    ck_assert(!sc_site_is_hoarder(0));
}
END_TEST

SC_SUITE_WITH("framework", room_enter, room_close,
              what_a_caching_allocator_asks_for_passes_and_everything_else_is_cached,
              what_it_gives_back_is_free_for_others_at_once,
              it_is_said_once_with_the_way_to_the_tensors,
              the_summary_of_a_run_that_passed_by_claims_no_peak,
              with_its_cache_off_its_tensors_are_cached, all_caches_its_segments_too,
              an_out_of_memory_of_its_own_gets_what_is_idle,
              steps_counted_by_requests_end_though_some_pass,
              a_new_shape_and_an_out_of_memory_are_told_by_the_line_of_the_script,
              a_thread_that_runs_no_script_is_told_by_its_code,
              where_the_site_is_part_of_the_key_the_script_is_not_looked_at,
              places_with_the_same_text_are_one)
