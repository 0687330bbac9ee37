/* SPDX-License-Identifier: MIT */
#include "cache/headroom.h"
#include "support/suite.h"

#define MIB ((uint64_t)1 << 20)

static sc_shape large = {.id = 1, .mapped = 4 * MIB};
static sc_shape small = {.id = 2, .mapped = 512, .is_packed = true};
static const uint64_t ceiling = 100 * MIB;

/* A stretch begins where live bytes are `live`; so many misses of `shape` do not fit in it. */
static void stretch(sc_headroom *headroom, uint64_t live, sc_shape *shape, unsigned misses)
{
    sc_headroom_park(headroom, &large, live);
    while (misses-- > 0)
        sc_headroom_miss(headroom, shape, 0, (sc_mapped){.own = ceiling + 1}, ceiling);
}

static void expect(const sc_headroom *headroom, uint64_t own, uint64_t packed)
{
    sc_mapped wanted = sc_headroom_wanted(headroom);

    ck_assert_uint_eq(wanted.own, own);
    ck_assert_uint_eq(wanted.packed, packed);
}

START_TEST(what_a_stretch_missed_is_wanted_where_it_began_and_nowhere_else)
{
    sc_headroom headroom = {0};

    for (int step = 0; step < 5; step++) {
        stretch(&headroom, 40 * MIB, &large, 0);
        expect(&headroom, 0, 0);
        stretch(&headroom, 50 * MIB, &large, 3);
        stretch(&headroom, 60 * MIB, &small, 2);
        stretch(&headroom, 70 * MIB, &large, 0);
        expect(&headroom, 0, 0);
        sc_headroom_step_end(&headroom);
    }
    stretch(&headroom, 40 * MIB, &large, 0);
    stretch(&headroom, 50 * MIB, &large, 0);
    expect(&headroom, 12 * MIB, 0);
    stretch(&headroom, 60 * MIB, &small, 0);
    expect(&headroom, 0, 1024);
}
END_TEST

START_TEST(what_a_stretch_has_missed_so_far_is_not_wanted_again)
{
    sc_headroom headroom = {0};

    for (int step = 0; step < 2; step++) {
        stretch(&headroom, 40 * MIB, &large, 0);
        stretch(&headroom, 50 * MIB, &large, 3);
    }
    expect(&headroom, 0, 0);
    stretch(&headroom, 40 * MIB, &large, 0);
    stretch(&headroom, 50 * MIB, &large, 1);
    expect(&headroom, 8 * MIB, 0);
}
END_TEST

START_TEST(a_place_where_nothing_was_missed_the_last_time_wants_nothing)
{
    sc_headroom headroom = {0};

    for (int step = 0; step < 2; step++) {
        stretch(&headroom, 40 * MIB, &large, 0);
        stretch(&headroom, 50 * MIB, &large, 3 * (step == 0));
    }
    stretch(&headroom, 40 * MIB, &large, 0);
    stretch(&headroom, 50 * MIB, &large, 0);
    expect(&headroom, 0, 0);
}
END_TEST

START_TEST(a_place_is_told_by_live_bytes_and_by_the_last_two_shapes_freed)
{
    uint64_t key = sc_headroom_key(5, 1, 2);

    ck_assert_uint_eq(sc_headroom_key(5, 1, 2), key);
    ck_assert_uint_ne(sc_headroom_key(6, 1, 2), key);
    ck_assert_uint_ne(sc_headroom_key(5, 2, 2), key);
    ck_assert_uint_ne(sc_headroom_key(5, 1, 1), key);
    ck_assert_uint_ne(sc_headroom_key(5, 2, 1), key);
}
END_TEST

START_TEST(of_a_miss_that_fits_nothing_is_learnt)
{
    sc_headroom headroom = {0};

    for (int step = 0; step < 4; step++) {
        stretch(&headroom, 40 * MIB, &large, 0);
        stretch(&headroom, 50 * MIB, &large, 0);
        sc_headroom_miss(&headroom, &large, 0, (sc_mapped){.own = ceiling}, ceiling);
    }
    stretch(&headroom, 40 * MIB, &large, 0);
    stretch(&headroom, 50 * MIB, &large, 0);
    expect(&headroom, 0, 0);
}
END_TEST

START_TEST(a_miss_of_what_went_for_headroom_in_the_same_stretch_asks_for_none)
{
    sc_headroom headroom = {0};

    for (int step = 0; step < 4; step++) {
        stretch(&headroom, 40 * MIB, &large, 0);
        stretch(&headroom, 50 * MIB, &large, 0);
        sc_headroom_cede(&headroom, &large, (uint64_t)step);
        for (int i = 0; i < 2; i++)
            sc_headroom_miss(&headroom, &large, (uint64_t)step, (sc_mapped){.own = ceiling + 1},
                             ceiling);
        sc_headroom_step_end(&headroom);
    }
    stretch(&headroom, 40 * MIB, &large, 0);
    stretch(&headroom, 50 * MIB, &large, 0);
    expect(&headroom, 4 * MIB, 0); /* for the second alone */
}
END_TEST

START_TEST(once_enough_misses_come_as_a_surprise_room_is_wanted_everywhere_until_they_do_not)
{
    sc_headroom headroom = {0};
    uint64_t live = 0;

    for (unsigned i = 0; i < 64; i++) {
        expect(&headroom, 0, 0);
        stretch(&headroom, live++, i == 1 ? &large : &small, 1);
    }
    stretch(&headroom, live++, &large, 0);
    expect(&headroom, 4 * MIB, 0);
    sc_headroom_step_end(&headroom); /* they count in this step and the next */
    expect(&headroom, 4 * MIB, 0);
    stretch(&headroom, live++, &small, 1);
    sc_headroom_step_end(&headroom);
    expect(&headroom, 0, 512);
    sc_headroom_step_end(&headroom);
    expect(&headroom, 0, 0);
    for (unsigned i = 0; i < 3; i++) { /* the first of these is the last surprise */
        stretch(&headroom, 40 * MIB, &large, 0);
        stretch(&headroom, 50 * MIB, &large, 1);
    }
    stretch(&headroom, 40 * MIB, &large, 0);
    expect(&headroom, 4 * MIB, 0);
    stretch(&headroom, 50 * MIB, &large, 1);
    expect(&headroom, 0, 0);
}
END_TEST

START_TEST(a_new_place_replaces_the_one_that_is_where_it_belongs)
{
    sc_headroom headroom = {0};
    uint64_t live = 0, first;

    stretch(&headroom, live, &large, 0);
    stretch(&headroom, live, &large, 2);
    first = headroom.key;
    do
        stretch(&headroom, ++live, &large, 0);
    while (headroom.key % SC_HEADROOM_PLACES != first % SC_HEADROOM_PLACES);
    sc_headroom_miss(&headroom, &large, 0, (sc_mapped){.own = ceiling + 1}, ceiling);
    stretch(&headroom, live, &large, 0);
    expect(&headroom, 4 * MIB, 0);
    stretch(&headroom, 0, &large, 0);
    expect(&headroom, 0, 0);
}
END_TEST

SC_SUITE("headroom", what_a_stretch_missed_is_wanted_where_it_began_and_nowhere_else,
         what_a_stretch_has_missed_so_far_is_not_wanted_again,
         a_place_where_nothing_was_missed_the_last_time_wants_nothing,
         a_place_is_told_by_live_bytes_and_by_the_last_two_shapes_freed,
         of_a_miss_that_fits_nothing_is_learnt,
         a_miss_of_what_went_for_headroom_in_the_same_stretch_asks_for_none,
         once_enough_misses_come_as_a_surprise_room_is_wanted_everywhere_until_they_do_not,
         a_new_place_replaces_the_one_that_is_where_it_belongs)
