/* SPDX-License-Identifier: MIT */
#include "engine/site.h"
#include "support/room.h"
#include "support/suite.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, SITES = 2000 };

static const void *place(uint64_t i)
{
    return (const void *)(uintptr_t)(0x400000 + 7 * i);
}

START_TEST(a_site_keeps_its_number_and_its_text)
{
    uint32_t number = sc_site_number(place(1));

    ck_assert_uint_ne(number, 0);
    ck_assert_uint_eq(sc_site_number(place(1)), number);
    ck_assert_uint_ne(sc_site_number(place(2)), number);
    ck_assert_str_eq(sc_site_text(number), "train+0x400007");
}
END_TEST

START_TEST(nowhere_is_no_site)
{
    ck_assert_uint_eq(sc_site_number(NULL), 0);
    ck_assert_ptr_null(sc_site_text(0));
}
END_TEST

START_TEST(a_site_is_mentioned_first_once)
{
    uint32_t number = sc_site_number(place(1));

    ck_assert(sc_site_is_first_mention(number));
    ck_assert(!sc_site_is_first_mention(number));
    sc_site_forget_mention(number);
    ck_assert(sc_site_is_first_mention(number));
}
END_TEST

START_TEST(more_sites_than_there_is_room_for_are_unknown_and_harmless)
{
    uint32_t unknown = 0;

    for (uint64_t i = 0; i < 40000; i++) {
        uint32_t number = sc_site_number(place(i));

        unknown += number == 0;
        ck_assert(number == 0 || sc_site_text(number));
    }
    ck_assert_uint_ge(unknown, 40000 - 16384);
    ck_assert_uint_lt(unknown, 40000 - 8192);
}
END_TEST

static uint32_t seen[THREADS][SITES];

static void *look(void *row)
{
    uint32_t *numbers = row;

    for (uint64_t i = 0; i < SITES; i++)
        numbers[i] = sc_site_number(place(i));
    return NULL;
}

START_TEST(threads_agree_on_every_number)
{
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, look, seen[i]), 0);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    for (int i = 1; i < THREADS; i++)
        ck_assert_mem_eq(seen[i], seen[0], sizeof seen[0]);
    for (uint64_t i = 0; i < SITES; i++) {
        char text[64];

        (void)snprintf(text, sizeof text, "train+0x%lx", (unsigned long)(uintptr_t)place(i));
        ck_assert_str_eq(sc_site_text(seen[0][i]), text);
    }
}
END_TEST

/* Innermost first: ours and CUDA's, the place that asked, and who called it. */
static const void *const deep[] = {
    (const void *)0x9000, (const void *)(ROOM_CUDA + 1), (const void *)0x10,
    (const void *)0x20,   (const void *)(ROOM_CUDA + 2), (const void *)0x30,
    (const void *)0x40,
};
static const void *const other_way[] = {(const void *)0x10, (const void *)0x21, (const void *)0x30};

START_TEST(a_chain_names_the_place_and_its_callers_outside_cuda)
{
    uint32_t three, four;

    room_free(room_alloc(512)); /* starts */
    room_stack(deep, sizeof deep / sizeof *deep);
    three = sc_site_of_stack((const void *)0x10, 3);
    ck_assert_str_eq(sc_site_text(three), "train+0x30 > train+0x20 > train+0x10");
    ck_assert_uint_eq(sc_site_of_stack((const void *)0x10, 3), three);
    four = sc_site_of_stack((const void *)0x10, 16);
    ck_assert_uint_ne(four, three);
    ck_assert_str_eq(sc_site_text(four), "train+0x40 > train+0x30 > train+0x20 > train+0x10");
    ck_assert_uint_eq(sc_site_of_stack((const void *)0x10, 1), sc_site_number((const void *)0x10));
    room_stack(other_way, 3);
    ck_assert_uint_ne(sc_site_of_stack((const void *)0x10, 3), three);
}
END_TEST

START_TEST(a_place_that_is_not_on_the_stack_stands_alone)
{
    room_free(room_alloc(512));
    room_stack(deep, sizeof deep / sizeof *deep);
    ck_assert_uint_eq(sc_site_of_stack((const void *)0x50, 3), sc_site_number((const void *)0x50));
}
END_TEST

/* One place, reached in two ways. */
static void batch(unsigned *allocations)
{
    fake_forget_counts();
    room_stack(deep, sizeof deep / sizeof *deep);
    sc_address one = room_alloc_from(3 * MIB, (const void *)0x10);

    room_stack(other_way, 3);
    sc_address other = room_alloc_from(3 * MIB, (const void *)0x10);

    room_free(one);
    room_free(other);
    ck_assert_int_eq(sc_engine_step(-1), 0);
    *allocations = fake_count(FAKE_MEM_ALLOC);
}

START_TEST(with_the_default_key_a_served_request_is_not_unwound)
{
    unsigned allocations, unwound;

    (void)setenv("SHAPECACHE_STACKS", "3", 1);
    batch(&allocations);
    ck_assert_uint_eq(room_unwound(), 1); /* a shape's first sight */
    for (int i = 0; i < 4; i++)
        batch(&allocations);
    ck_assert_uint_eq(allocations, 0);
    ck_assert_uint_eq(room_unwound(), 1);
    fake_fail_kind(FAKE_MEM_ALLOC, 2, SC_CUDA_OUT_OF_MEMORY);
    sc_address block = 0;

    unwound = room_unwound();
    ck_assert_int_eq(sc_engine_alloc(&block, 5 * MIB, (const void *)0x10), SC_CUDA_OUT_OF_MEMORY);
    ck_assert_uint_gt(room_unwound(), unwound);
    sc_engine_finish();
    lines log = room_log();
    char site[256];

    ck_assert(lines_field(lines_of(&log, "shape", 0), "site", site, sizeof site));
    ck_assert_str_eq(site, "\"train+0x30 > train+0x20 > train+0x10\"");
    ck_assert(lines_field(lines_of(&log, "oom", 0), "site", site, sizeof site));
    ck_assert_str_eq(site, "\"train+0x30 > train+0x21 > train+0x10\"");
    ck_assert_uint_eq(lines_count(&log, "warn"), 0);
    lines_release(&log);
}
END_TEST

START_TEST(with_the_site_in_the_key_each_way_to_a_place_is_a_shape)
{
    unsigned allocations;

    (void)setenv("SHAPECACHE_STACKS", "3", 1);
    (void)setenv("SHAPECACHE_KEY", "bytes+site", 1);
    for (int i = 0; i < 5; i++)
        batch(&allocations);
    ck_assert_uint_eq(allocations, 0);
    sc_engine_finish();
    lines log = room_log();

    ck_assert_uint_eq(lines_u64(lines_of(&log, "end", 0), "shapes"), 2);
    lines_release(&log);
}
END_TEST

START_TEST(without_libunwind_places_are_told_alone_and_that_is_said_once)
{
    (void)setenv("SHAPECACHE_STACKS", "3", 1);
    for (uint64_t i = 1; i <= 3; i++)
        room_free(room_alloc_from(i * MIB, (const void *)0x10));
    sc_engine_finish();
    lines log = room_log();
    char text[256];

    ck_assert_uint_eq(lines_count(&log, "warn"), 1);
    ck_assert(lines_field(lines_of(&log, "warn", 0), "text", text, sizeof text));
    ck_assert_ptr_nonnull(strstr(text, "libunwind.so.8 is not to be found"));
    ck_assert(lines_field(lines_of(&log, "shape", 0), "site", text, sizeof text));
    ck_assert_str_eq(text, "\"train+0x10\"");
    lines_release(&log);
}
END_TEST

START_TEST(by_default_nothing_is_unwound)
{
    unsigned allocations;

    for (int i = 0; i < 5; i++)
        batch(&allocations);
    ck_assert_uint_eq(room_unwound(), 0);
}
END_TEST

START_TEST(a_place_is_of_one_file_and_a_chain_of_several_places)
{
    const sc_site_object *object = sc_site_object_of(sc_site_number(place(1)));

    ck_assert_str_eq(object->path, "/opt/train");
    ck_assert_str_eq(object->build_id, "0b5e");
    ck_assert_ptr_eq(sc_site_object_of(sc_site_number(place(2))), object);
    ck_assert_ptr_null(sc_site_object_of(sc_site_number((const void *)(uintptr_t)ROOM_CUDA)));
    ck_assert_ptr_null(sc_site_object_of(sc_site_named("train.py:7")));
    ck_assert_ptr_null(sc_site_object_of(0));
    ck_assert_ptr_null(sc_site_chain(sc_site_number(place(1))));
    room_stack(deep, sizeof deep / sizeof *deep);
    uint32_t number = sc_site_of_stack((const void *)0x10, 2);
    const uint32_t *chain = sc_site_chain(number);

    ck_assert_ptr_null(sc_site_object_of(number));
    ck_assert_uint_eq(chain[0], sc_site_number((const void *)0x20));
    ck_assert_uint_eq(chain[1], sc_site_number((const void *)0x10));
    ck_assert_uint_eq(chain[2], 0);
}
END_TEST

START_TEST(the_log_says_the_file_of_a_place_and_the_places_of_a_chain_before_it)
{
    static const char *const sites[] = {"\"train+0x20\"", "\"train+0x10\"",
                                        "\"train+0x20 > train+0x10\""};

    (void)setenv("SHAPECACHE_STACKS", "2", 1);
    room_stack(deep, sizeof deep / sizeof *deep);
    room_free(room_alloc_from(3 * MIB, (const void *)0x10));
    sc_engine_finish();
    lines log = room_log();

    ck_assert_uint_eq(lines_count(&log, "site"), 3);
    for (size_t i = 0; i < 3; i++)
        lines_expect(lines_of(&log, "site", i), "site", sites[i]);
    lines_expect(lines_of(&log, "site", 1), "object", "\"/opt/train\"");
    lines_expect(lines_of(&log, "site", 1), "build_id", "\"0b5e\"");
    lines_expect_absent(lines_of(&log, "site", 2), "object");
    lines_release(&log);
}
END_TEST

SC_SUITE_WITH("site", room_enter, room_close, a_site_keeps_its_number_and_its_text,
              nowhere_is_no_site, a_site_is_mentioned_first_once,
              more_sites_than_there_is_room_for_are_unknown_and_harmless,
              threads_agree_on_every_number, a_chain_names_the_place_and_its_callers_outside_cuda,
              a_place_that_is_not_on_the_stack_stands_alone,
              with_the_default_key_a_served_request_is_not_unwound,
              with_the_site_in_the_key_each_way_to_a_place_is_a_shape,
              without_libunwind_places_are_told_alone_and_that_is_said_once,
              by_default_nothing_is_unwound, a_place_is_of_one_file_and_a_chain_of_several_places,
              the_log_says_the_file_of_a_place_and_the_places_of_a_chain_before_it)
