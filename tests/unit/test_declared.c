/* SPDX-License-Identifier: MIT
 * A declared set against the run it is given to: loaded, refused, or bent to fit. */
#include "shapecache/shapecache.h"
#include "support/room.h"
#include "support/suite.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const uint64_t sizes[] = {3 * MIB, 3 * MIB, 4 * MIB, 100 * KIB};
enum { SIZES = 4 };

#define TITLE  "shapecache shapes 1\n"
#define SHAPES "shape 3MiB\nshape 4MiB\nshape 100KiB\n"

static void open_room(void)
{
    room_open(1024 * MIB);
    (void)setenv("SHAPECACHE_SHAPES", "set", 1);
}

static void close_room(void)
{
    (void)unlink("set");
    (void)unlink("set.0");
    room_close();
}

static void declare_in(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");

    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

static void declare(const char *text)
{
    declare_in("set", text);
}

/* The sentences of the log's warn records, one a line. */
static const char *warnings(void)
{
    static char all[8192];
    char text[2048];
    lines log = room_log();

    all[0] = '\0';
    for (size_t i = 0; i < lines_count(&log, "warn"); i++) {
        ck_assert(lines_field(lines_of(&log, "warn", i), "text", text, sizeof text));
        strncat(all, text, sizeof all - strlen(all) - 2);
        strcat(all, "\n");
    }
    lines_release(&log);
    return all;
}

/* The first batch of a run. */
static void expect_phase(shapecache_phase_kind phase)
{
    room_batch(sizes, SIZES);
    ck_assert_int_eq(shapecache_phase(0), phase);
}

static void expect_warning(const char *json)
{
    sc_engine_finish();
    ck_assert_str_eq(warnings(), json);
}

START_TEST(a_set_that_does_not_hold_in_the_first_batch_was_fixed_all_the_same)
{
    declare(TITLE SHAPES);
    room_free(room_alloc(5 * MIB));
    expect_phase(SHAPECACHE_PHASE_FALLBACK);
    sc_engine_finish();
    char *said = room_stderr();

    ck_assert_ptr_nonnull(strstr(said, "] 1 fallback, at step 0: new shape 5.00 MiB from "));
    ck_assert_ptr_null(strstr(said, "never fixed"));
    free(said);
}
END_TEST

START_TEST(a_declared_set_is_served_from_the_second_batch_on)
{
    declare(TITLE SHAPES);
    expect_phase(SHAPECACHE_PHASE_FIXED);
    fake_forget_counts();
    room_batch(sizes, SIZES);
    ck_assert_uint_eq(fake_count(FAKE_MEM_ALLOC), 0);
    sc_engine_finish();
    char *said = room_stderr();
    lines log = room_log();
    const char *phase = lines_of(&log, "phase", 0);
    char reason[64];

    ck_assert(lines_field(phase, "reason", reason, sizeof reason));
    ck_assert_str_eq(reason, "\"declared\"");
    ck_assert_uint_eq(lines_u64(phase, "step"), 0);
    ck_assert_uint_eq(lines_u64(phase, "set_size"), 3);
    ck_assert_uint_eq(lines_count(&log, "phase"), 1);
    ck_assert_uint_eq(lines_count(&log, "warn"), 0);
    ck_assert_ptr_nonnull(strstr(said, "fixed at step 0: a set of shapes was declared, set of 3"));
    free(said);
    lines_release(&log);
}
END_TEST

START_TEST(a_shape_that_was_not_declared_is_new_as_ever)
{
    declare(TITLE SHAPES);
    expect_phase(SHAPECACHE_PHASE_FIXED);
    room_free(room_alloc(5 * MIB));
    ck_assert_int_eq(shapecache_phase(0), SHAPECACHE_PHASE_FALLBACK);
    ck_assert_uint_eq(fake_live_blocks(), 0);
    for (int i = 0; i < 4; i++)
        room_batch(sizes, SIZES);
    ck_assert_int_eq(shapecache_phase(0), SHAPECACHE_PHASE_FIXED);
}
END_TEST

START_TEST(what_the_file_says_of_a_shape_is_in_its_rows)
{
    char value[64];

    declare(TITLE "shape 3MiB label keys dims 4x5\n" SHAPES);
    expect_phase(SHAPECACHE_PHASE_FIXED);
    sc_engine_finish();
    lines log = room_log();
    const char *first = lines_of(&log, "shape", 0);

    ck_assert_uint_eq(lines_u64(first, "bytes"), 3 * MIB);
    ck_assert(lines_field(first, "label", value, sizeof value));
    ck_assert_str_eq(value, "\"keys\"");
    ck_assert(lines_field(first, "dims", value, sizeof value));
    ck_assert_str_eq(value, "[4,5]");
    lines_release(&log);
}
END_TEST

START_TEST(a_set_that_says_what_this_run_is_is_loaded_without_a_word)
{
    declare(TITLE "world 1\nrank 0\nkey bytes\nmemory 1GiB\n" SHAPES);
    expect_phase(SHAPECACHE_PHASE_FIXED);
    expect_warning("");
}
END_TEST

START_TEST(a_set_for_another_world_is_refused_with_both_values)
{
    (void)setenv("RANK", "0", 1);
    (void)setenv("WORLD_SIZE", "4", 1);
    declare(TITLE "world 8\n" SHAPES);
    expect_phase(SHAPECACHE_PHASE_WARMUP);
    expect_warning("\"Refusing to load set (SHAPECACHE_SHAPES): it is for a world of 8, and this "
                   "run has a world of 4; "
                   "shapes are learnt instead (SHAPECACHE_SHAPES_STRICT=0 loads what the two have "
                   "in common).\"\n");
}
END_TEST

START_TEST(a_set_for_another_device_memory_is_refused_with_both_values)
{
    declare(TITLE "memory 80GiB\n" SHAPES);
    expect_phase(SHAPECACHE_PHASE_WARMUP);
    expect_warning("\"Refusing to load set (SHAPECACHE_SHAPES): it is for device memory of "
                   "85899345920, and device 0 "
                   "has 1073741824; shapes are learnt instead (SHAPECACHE_SHAPES_STRICT=0 loads "
                   "what the two have in common).\"\n");
}
END_TEST

START_TEST(a_set_for_another_key_is_refused_with_both_values)
{
    declare(TITLE "key bytes+site\nshape 3MiB site a+0x1\n");
    expect_phase(SHAPECACHE_PHASE_WARMUP);
    expect_warning(
        "\"Refusing to load set (SHAPECACHE_SHAPES): it is for the key bytes+site, and "
        "SHAPECACHE_KEY is "
        "bytes; shapes are learnt instead (SHAPECACHE_SHAPES_STRICT=0 loads what the two "
        "have in common).\"\n");
}
END_TEST

START_TEST(a_refused_set_leaves_a_run_that_learns_as_ever)
{
    declare(TITLE "world 8\n" SHAPES);
    room_fix(sizes, SIZES);
    ck_assert_int_eq(shapecache_phase(0), SHAPECACHE_PHASE_FIXED);
    sc_engine_finish();
    lines log = room_log();
    char reason[64];

    ck_assert(lines_field(lines_of(&log, "phase", 0), "reason", reason, sizeof reason));
    ck_assert_str_eq(reason, "\"set-fixed\"");
    char *said = room_stderr();

    ck_assert_ptr_nonnull(
        strstr(said, "] warn: Refusing to load set (SHAPECACHE_SHAPES): it is for a world of 8"));
    free(said);
    lines_release(&log);
}
END_TEST

START_TEST(a_set_of_another_rank_or_build_is_loaded_with_a_warning)
{
    declare(TITLE "rank 5\nbuild 0.0.9\n" SHAPES);
    expect_phase(SHAPECACHE_PHASE_FIXED);
    expect_warning(
        "\"set (SHAPECACHE_SHAPES) is of rank 5, and this is rank 0; loaded all the same.\"\n"
        "\"set (SHAPECACHE_SHAPES) is of shapecache 0.0.9, and this is " SC_VERSION
        "; loaded all the same.\"\n");
}
END_TEST

START_TEST(a_malformed_file_loads_nothing_and_says_where)
{
    declare(TITLE SHAPES "shape 48MP\n");
    expect_phase(SHAPECACHE_PHASE_WARMUP);
    expect_warning("\"SHAPECACHE_SHAPES: set, line 5: expected a size such as 48MiB or 1908352, "
                   "found \\\"48MP\\\"; "
                   "nothing of it is loaded.\"\n");
}
END_TEST

START_TEST(a_file_that_is_not_there_is_said)
{
    expect_phase(SHAPECACHE_PHASE_WARMUP);
    expect_warning(
        "\"SHAPECACHE_SHAPES: set: No such file or directory; nothing of it is loaded.\"\n");
}
END_TEST

START_TEST(placeholders_name_a_set_for_each_rank)
{
    (void)setenv("SHAPECACHE_SHAPES", "set.%r", 1);
    declare_in("set.0", TITLE SHAPES);
    expect_phase(SHAPECACHE_PHASE_FIXED);
    expect_warning("");
}
END_TEST

START_TEST(a_placeholder_that_is_none_is_said)
{
    (void)setenv("SHAPECACHE_SHAPES", "set.%q", 1);
    expect_phase(SHAPECACHE_PHASE_WARMUP);
    expect_warning("\"SHAPECACHE_SHAPES has a placeholder that is none, or is too long; no set is "
                   "loaded.\"\n");
}
END_TEST

static void be_lenient(void)
{
    (void)setenv("SHAPECACHE_SHAPES_STRICT", "0", 1);
}

START_TEST(not_strict_a_set_for_another_world_is_loaded_whole)
{
    be_lenient();
    declare(TITLE "world 8\n" SHAPES);
    expect_phase(SHAPECACHE_PHASE_FIXED);
    expect_warning("\"set (SHAPECACHE_SHAPES) is for a world of 8, and this run has a world of 1; "
                   "SHAPECACHE_SHAPES_STRICT=0: loaded 3 of its 3 shapes, left none.\"\n");
}
END_TEST

START_TEST(not_strict_a_set_for_a_larger_device_leaves_what_is_too_large)
{
    be_lenient();
    declare(TITLE "memory 80GiB\nshape 2GiB\n" SHAPES);
    expect_phase(SHAPECACHE_PHASE_FIXED);
    expect_warning("\"set (SHAPECACHE_SHAPES) is for device memory of 85899345920, and device 0 "
                   "has 1073741824; "
                   "SHAPECACHE_SHAPES_STRICT=0: loaded 3 of its 4 shapes, left 1 larger than the "
                   "device.\"\n");
}
END_TEST

START_TEST(not_strict_a_set_with_sites_is_loaded_without_them)
{
    be_lenient();
    declare(TITLE "key bytes+site\nshape 3MiB site a+0x1\nshape 4MiB site b+0x2\n"
                  "shape 100KiB site c+0x3\n");
    expect_phase(SHAPECACHE_PHASE_FIXED);
    expect_warning(
        "\"set (SHAPECACHE_SHAPES) is for the key bytes+site, and SHAPECACHE_KEY is bytes; "
        "SHAPECACHE_SHAPES_STRICT=0: loaded 3 of its 3 shapes, left none.\"\n");
}
END_TEST

START_TEST(not_strict_shapes_without_a_site_are_left_where_it_is_part_of_the_key)
{
    be_lenient();
    (void)setenv("SHAPECACHE_KEY", "bytes+site", 1);
    declare(TITLE "shape 3MiB site train+0x10\nshape 4MiB\n");
    sc_address block = room_alloc_from(3 * MIB, (const void *)0x10);

    ck_assert_int_eq(shapecache_phase(0), SHAPECACHE_PHASE_FIXED);
    room_free(block);
    (void)room_alloc_from(3 * MIB, (const void *)0x11);
    ck_assert_int_eq(shapecache_phase(0), SHAPECACHE_PHASE_FALLBACK);
    expect_warning(
        "\"set (SHAPECACHE_SHAPES) is for the key bytes, and SHAPECACHE_KEY is bytes+site; "
        "SHAPECACHE_SHAPES_STRICT=0: loaded 1 of its 2 shapes, left 1 without a call "
        "site.\"\n");
}
END_TEST

START_TEST(not_strict_a_set_of_which_nothing_is_left_is_none)
{
    be_lenient();
    (void)setenv("SHAPECACHE_KEY", "bytes+site", 1);
    declare(TITLE SHAPES);
    expect_phase(SHAPECACHE_PHASE_WARMUP);
    expect_warning(
        "\"set (SHAPECACHE_SHAPES) is for the key bytes, and SHAPECACHE_KEY is bytes+site; "
        "SHAPECACHE_SHAPES_STRICT=0: loaded 0 of its 3 shapes, left 3 without a call "
        "site.\"\n");
}
END_TEST

START_TEST(not_strict_a_malformed_file_still_loads_nothing)
{
    be_lenient();
    declare(TITLE SHAPES "shape\n");
    expect_phase(SHAPECACHE_PHASE_WARMUP);
}
END_TEST

START_TEST(with_sites_in_the_key_a_shape_is_declared_at_its_site_alone)
{
    (void)setenv("SHAPECACHE_KEY", "bytes+site", 1);
    declare(TITLE "key bytes+site\nshape 3MiB site train+0x10\nshape 3MiB site train+0x20\n");
    room_free(room_alloc_from(3 * MIB, (const void *)0x10));
    room_free(room_alloc_from(3 * MIB, (const void *)0x20));
    ck_assert_int_eq(shapecache_phase(0), SHAPECACHE_PHASE_FIXED);
    room_free(room_alloc_from(3 * MIB, (const void *)0x30));
    ck_assert_int_eq(shapecache_phase(0), SHAPECACHE_PHASE_FALLBACK);
}
END_TEST

START_TEST(with_a_gate_per_site_the_declared_sites_start_fixed_and_others_learn)
{
    const void *declared = (const void *)0x10, *other = (const void *)0x20;

    (void)setenv("SHAPECACHE_SCOPE", "site", 1);
    declare(TITLE "key bytes+site\nshape 3MiB site train+0x10\n");
    sc_address one = room_alloc_from(3 * MIB, declared);
    sc_address two = room_alloc_from(3 * MIB, other);

    ck_assert_int_eq(shapecache_phase(0), SHAPECACHE_PHASE_FIXED);
    room_free(one);
    room_free(two);
    ck_assert_uint_eq(fake_live_blocks(), 1);
    ck_assert_uint_eq(room_alloc_from(3 * MIB, declared), one);
    sc_engine_finish();
    lines log = room_log();
    char scope[64];

    ck_assert(lines_field(lines_of(&log, "phase", 0), "scope", scope, sizeof scope));
    ck_assert_str_eq(scope, "\"train+0x10\"");
    ck_assert(!lines_field(lines_of(&log, "phase", 1), "scope", scope, sizeof scope));
    ck_assert_uint_eq(lines_count(&log, "phase"), 2);
    ck_assert_uint_eq(lines_u64(lines_of(&log, "end", 0), "scopes"), 2);
    ck_assert_uint_eq(lines_u64(lines_of(&log, "end", 0), "scopes_fixed"), 1);
    lines_release(&log);
}
END_TEST

START_TEST(each_device_judges_by_its_own_memory)
{
    declare(TITLE "memory 1GiB\n" SHAPES);
    expect_phase(SHAPECACHE_PHASE_FIXED);
    fake_set_current(fake_primary(1));
    room_batch(sizes, SIZES);
    ck_assert_int_eq(shapecache_phase(1), SHAPECACHE_PHASE_FIXED);
}
END_TEST

START_TEST(without_the_gate_nothing_is_declared)
{
    (void)setenv("SHAPECACHE_GATE", "0", 1);
    declare(TITLE SHAPES);
    expect_phase(SHAPECACHE_PHASE_FIXED);
    sc_engine_finish();
    lines log = room_log();
    char reason[64];

    ck_assert(lines_field(lines_of(&log, "phase", 0), "reason", reason, sizeof reason));
    ck_assert_str_eq(reason, "\"user\"");
    lines_release(&log);
}
END_TEST

SC_SUITE_WITH("declared", open_room, close_room, a_declared_set_is_served_from_the_second_batch_on,
              a_set_that_does_not_hold_in_the_first_batch_was_fixed_all_the_same,
              a_shape_that_was_not_declared_is_new_as_ever,
              what_the_file_says_of_a_shape_is_in_its_rows,
              a_set_that_says_what_this_run_is_is_loaded_without_a_word,
              a_set_for_another_world_is_refused_with_both_values,
              a_set_for_another_device_memory_is_refused_with_both_values,
              a_set_for_another_key_is_refused_with_both_values,
              a_refused_set_leaves_a_run_that_learns_as_ever,
              a_set_of_another_rank_or_build_is_loaded_with_a_warning,
              a_malformed_file_loads_nothing_and_says_where, a_file_that_is_not_there_is_said,
              placeholders_name_a_set_for_each_rank, a_placeholder_that_is_none_is_said,
              not_strict_a_set_for_another_world_is_loaded_whole,
              not_strict_a_set_for_a_larger_device_leaves_what_is_too_large,
              not_strict_a_set_with_sites_is_loaded_without_them,
              not_strict_shapes_without_a_site_are_left_where_it_is_part_of_the_key,
              not_strict_a_set_of_which_nothing_is_left_is_none,
              not_strict_a_malformed_file_still_loads_nothing,
              with_sites_in_the_key_a_shape_is_declared_at_its_site_alone,
              with_a_gate_per_site_the_declared_sites_start_fixed_and_others_learn,
              each_device_judges_by_its_own_memory, without_the_gate_nothing_is_declared)
