/* SPDX-License-Identifier: MIT */
#include "engine/site.h"
#include "support/room.h"
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, SITES = 2000 };

static void open_room(void)
{
    room_open(MIB);
}

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

int main(void)
{
    Suite *suite = suite_create("site");
    TCase *tcase = tcase_create("site");
    SRunner *runner = srunner_create(suite);

    tcase_add_checked_fixture(tcase, open_room, room_close);
    tcase_add_test(tcase, a_site_keeps_its_number_and_its_text);
    tcase_add_test(tcase, nowhere_is_no_site);
    tcase_add_test(tcase, a_site_is_mentioned_first_once);
    tcase_add_test(tcase, more_sites_than_there_is_room_for_are_unknown_and_harmless);
    tcase_add_test(tcase, threads_agree_on_every_number);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
