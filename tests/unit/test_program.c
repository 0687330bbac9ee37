/* SPDX-License-Identifier: MIT
 * What a program may tell the cache and ask of it, by the functions of shapecache.h. */
#include "shapecache/shapecache.h"
#include "support/room.h"
#include "support/suite.h"
#include <stdlib.h>
#include <string.h>

static const uint64_t sizes[] = {3 * MIB, 3 * MIB, 4 * MIB};
enum { SIZES = 3 };

static const void *pointer(sc_address address)
{
    return (const void *)(uintptr_t)address; /* NOLINT(performance-no-int-to-ptr) */
}

/* The last row of the shape of `bytes`. */
static const char *row_of(const lines *log, uint64_t bytes)
{
    const char *found = NULL;

    for (size_t i = 0; i < lines_count(log, "shape"); i++)
        if (lines_u64(lines_of(log, "shape", i), "bytes") == bytes)
            found = lines_of(log, "shape", i);
    ck_assert_ptr_nonnull(found);
    return found;
}

START_TEST(a_hint_appears_in_the_rows_of_its_shape)
{
    const size_t dims[] = {16, 512, 384};
    char value[64];
    sc_address block = room_alloc(3 * MIB);

    ck_assert_int_eq(shapecache_hint(pointer(block), "keys \"and\" values", dims, 3),
                     SHAPECACHE_OK);
    sc_address other = room_alloc(4 * MIB);

    ck_assert_int_eq(shapecache_hint(pointer(other), NULL, dims, 1), SHAPECACHE_OK);
    (void)room_alloc(5 * MIB);
    sc_engine_finish();
    lines log = room_log();

    lines_expect(row_of(&log, 3 * MIB), "label", "\"keys \\\"and\\\" values\"");
    lines_expect(row_of(&log, 3 * MIB), "dims", "[16,512,384]");
    lines_expect(row_of(&log, 4 * MIB), "dims", "[16]");
    ck_assert(!lines_field(row_of(&log, 4 * MIB), "label", value, sizeof value));
    ck_assert(!lines_field(row_of(&log, 5 * MIB), "dims", value, sizeof value));
    lines_release(&log);
}
END_TEST

START_TEST(the_last_hint_of_a_shape_counts)
{
    char value[64];
    sc_address one = room_alloc(3 * MIB), other = room_alloc(3 * MIB);

    ck_assert_int_eq(shapecache_hint(pointer(one), "first", (const size_t[]){7}, 1), SHAPECACHE_OK);
    ck_assert_int_eq(shapecache_hint(pointer(other), "second", NULL, 0), SHAPECACHE_OK);
    sc_engine_finish();
    lines log = room_log();

    lines_expect(row_of(&log, 3 * MIB), "label", "\"second\"");
    ck_assert(!lines_field(row_of(&log, 3 * MIB), "dims", value, sizeof value));
    lines_release(&log);
}
END_TEST

START_TEST(a_label_that_is_too_long_is_cut_between_characters)
{
    char label[SHAPECACHE_LABEL_MOST + 3], wanted[SHAPECACHE_LABEL_MOST + 3];
    sc_address block = room_alloc(3 * MIB);

    memset(label, 'x', sizeof label);
    memcpy(label + SHAPECACHE_LABEL_MOST - 1, "\xc3\xa9", 3);
    ck_assert_int_eq(shapecache_hint(pointer(block), label, NULL, 0), SHAPECACHE_OK);
    sc_engine_finish();
    lines log = room_log();

    memset(wanted, 'x', sizeof wanted);
    wanted[0] = '"';
    memcpy(wanted + SHAPECACHE_LABEL_MOST, "\"", 2);
    lines_expect(row_of(&log, 3 * MIB), "label", wanted);
    lines_release(&log);
}
END_TEST

START_TEST(a_hint_that_cannot_be_used_says_what_is_wrong)
{
    const size_t dims[SHAPECACHE_DIMS_MOST + 1] = {1};
    int local = 0;

    ck_assert_int_eq(shapecache_hint(&local, "x", NULL, 0), SHAPECACHE_EOFF); /* nothing started */
    room_fix(sizes, SIZES);
    sc_address block = room_alloc(3 * MIB);

    ck_assert_int_eq(shapecache_hint(pointer(block), NULL, NULL, 0), SHAPECACHE_EVALUE);
    ck_assert_int_eq(shapecache_hint(pointer(block), "", NULL, 0), SHAPECACHE_EVALUE);
    ck_assert_int_eq(shapecache_hint(pointer(block), "x", NULL, 2), SHAPECACHE_EVALUE);
    ck_assert_int_eq(shapecache_hint(pointer(block), "x", dims, SHAPECACHE_DIMS_MOST + 1),
                     SHAPECACHE_EVALUE);
    ck_assert_int_eq(shapecache_hint(pointer(block), "x", dims, SHAPECACHE_DIMS_MOST),
                     SHAPECACHE_OK);
    ck_assert_int_eq(shapecache_hint(pointer(block + 512), "x", NULL, 0), SHAPECACHE_EPOINTER);
    ck_assert_int_eq(shapecache_hint(&local, "x", NULL, 0), SHAPECACHE_EPOINTER);
    ck_assert_int_eq(shapecache_hint(NULL, "x", NULL, 0), SHAPECACHE_EPOINTER);
    room_free(block); /* parked: no longer the program's */
    ck_assert_int_eq(shapecache_hint(pointer(block), "x", NULL, 0), SHAPECACHE_EPOINTER);
}
END_TEST

START_TEST(a_hint_finds_its_block_on_any_device)
{
    sc_address first = room_alloc(3 * MIB);

    fake_set_current(fake_primary(1));
    sc_address second = room_alloc(4 * MIB);

    fake_set_current(0);
    ck_assert_int_eq(shapecache_hint(pointer(first), "x", NULL, 0), SHAPECACHE_OK);
    ck_assert_int_eq(shapecache_hint(pointer(second), "x", NULL, 0), SHAPECACHE_OK);
}
END_TEST

START_TEST(the_phase_is_the_devices_own)
{
    ck_assert_int_eq(shapecache_phase(-1), SHAPECACHE_PHASE_OFF); /* has not allocated */
    room_batch(sizes, SIZES);
    ck_assert_int_eq(shapecache_phase(-1), SHAPECACHE_PHASE_WARMUP);
    room_fix(sizes, SIZES);
    ck_assert_int_eq(shapecache_phase(-1), SHAPECACHE_PHASE_FIXED);
    ck_assert_int_eq(shapecache_phase(0), SHAPECACHE_PHASE_FIXED);
    room_free(room_alloc(7 * MIB));
    ck_assert_int_eq(shapecache_phase(0), SHAPECACHE_PHASE_FALLBACK);
    ck_assert_int_eq(shapecache_phase(1), SHAPECACHE_PHASE_OFF);
    ck_assert_int_eq(shapecache_phase(-2), SHAPECACHE_PHASE_OFF);
    ck_assert_int_eq(shapecache_phase(100000), SHAPECACHE_PHASE_OFF);
    fake_set_current(0);
    ck_assert_int_eq(shapecache_phase(-1), SHAPECACHE_PHASE_OFF);
    ck_assert_int_eq(shapecache_phase(0), SHAPECACHE_PHASE_FALLBACK);
    sc_engine_finish();
    ck_assert_int_eq(shapecache_phase(0), SHAPECACHE_PHASE_OFF);
}
END_TEST

START_TEST(a_mark_is_a_record_at_its_step)
{
    char value[1024], name[400];

    ck_assert_int_eq(shapecache_mark("too early"), SHAPECACHE_EOFF);
    room_batch(sizes, SIZES);
    ck_assert_int_eq(shapecache_mark("evaluation begins"), SHAPECACHE_OK);
    room_batch(sizes, SIZES);
    fake_set_current(0);
    ck_assert_int_eq(shapecache_mark("nowhere"), SHAPECACHE_OK);
    ck_assert_int_eq(shapecache_mark(NULL), SHAPECACHE_EVALUE);
    ck_assert_int_eq(shapecache_mark(""), SHAPECACHE_EVALUE);
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    ck_assert_int_eq(shapecache_mark(name), SHAPECACHE_OK);
    sc_engine_finish();
    lines log = room_log();

    ck_assert_uint_eq(lines_count(&log, "mark"), 4);
    for (size_t i = 0; i < 4; i++) {
        const char *mark = lines_of(&log, "mark", i);

        ck_assert(lines_field(mark, "name", value, sizeof value));
        if (lines_field(mark, "automatic", name, sizeof name))
            continue; /* where steps begin */
        if (!strcmp(value, "\"evaluation begins\"")) {
            lines_expect(mark, "step", "1");
            lines_expect(mark, "dev", "0");
        } else {
            ck_assert(!strcmp(value, "\"nowhere\"") || strlen(value) == 255 + 2);
            ck_assert(!lines_field(mark, "dev", value, sizeof value));
        }
    }
    lines_release(&log);
}
END_TEST

START_TEST(every_status_has_a_sentence_of_its_own)
{
    static const shapecache_status all[] = {
#define STATUS(symbol, value, text) SHAPECACHE_##symbol,
#include "shapecache/status.def"
#undef STATUS
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (size_t j = 0; j <= i; j++)
            ck_assert_int_eq(
                !strcmp(shapecache_status_text(all[i]), shapecache_status_text(all[j])), i == j);
}
END_TEST

START_TEST(steps_may_be_counted_by_requests_instead)
{
    (void)setenv("SHAPECACHE_STEP", "requests:3", 1);
    for (int i = 0; i < 6; i++)
        room_batch(sizes, SIZES); /* each ends a step by the function, too: in vain */
    sc_engine_finish();
    lines log = room_log();

    ck_assert_uint_eq(lines_count(&log, "step"), 5);
    for (size_t i = 0; i < 5; i++)
        ck_assert_uint_eq(lines_u64(lines_of(&log, "step", i), "requests"), 3);
    lines_expect(lines_of(&log, "phase", 0), "step_source", "\"requests\"");
    lines_release(&log);
}
END_TEST

SC_SUITE_WITH("program", room_enter, room_close, a_hint_appears_in_the_rows_of_its_shape,
              the_last_hint_of_a_shape_counts, a_label_that_is_too_long_is_cut_between_characters,
              a_hint_that_cannot_be_used_says_what_is_wrong, a_hint_finds_its_block_on_any_device,
              the_phase_is_the_devices_own, a_mark_is_a_record_at_its_step,
              every_status_has_a_sentence_of_its_own, steps_may_be_counted_by_requests_instead)
