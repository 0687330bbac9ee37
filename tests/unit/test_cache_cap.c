/* SPDX-License-Identifier: MIT
 * How much is held: the cap, headroom, what is idle for too long, the driver's reserve. */
#include "support/fixture.h"
#include "support/suite.h"

/* Each step uses one of ten lengths beside what is always there: every shape is known, and all of
 * them together far exceed the cap. */
static void wide_steps(fixture *f, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        sc_address wide = fixture_get(f, 6 * MIB - i * 7 % 10);

        fixture_step(f, 4 * MIB, 10, NULL);
        (void)fixture_put(f, wide);
    }
}

START_TEST(a_set_wider_than_the_cap_is_kept_within_it_by_evictions_at_frees_alone)
{
    fixture f = fixture_with(fixture_usual);
    uint64_t inside;

    fixture_begin(&f);
    wide_steps(&f, 40);
    ck_assert_int_eq(fixture_totals(&f).phase, SC_PHASE_FIXED);
    inside = f.frees_in_allocations;
    wide_steps(&f, 60);
    ck_assert_uint_gt(fixture_totals(&f).all.evicted, 0);
    ck_assert_uint_gt(fixture_totals(&f).all.hits, 0);
    ck_assert_uint_gt(fixture_totals(&f).idle, 0);
    ck_assert_uint_eq(f.frees_in_allocations, inside);
    fixture_end(&f);
}
END_TEST

/* One step that holds a buffer of each of these sizes at once; 0 ends them. */
static void hold_all(fixture *f, const uint64_t *bytes)
{
    sc_address addresses[8];
    unsigned count = 0;

    for (; bytes[count] != 0; count++)
        addresses[count] = fixture_get(f, bytes[count]);
    while (count > 0)
        (void)fixture_put(f, addresses[--count]);
    sc_cache_step_end(f->cache);
}

START_TEST(a_set_that_fits_is_served_whole_though_its_largest_would_not_fit_once_more)
{
    static const uint64_t sets[][5] = {{MIB},
                                       {MIB, 2 * MIB},
                                       {3 * MIB, 3 * MIB, 5 * MIB, 100000},
                                       {5 * MIB, 7 * MIB, 9 * MIB, 9 * MIB}};

    for (unsigned s = 0; s < sizeof sets / sizeof sets[0]; s++) {
        fixture f = fixture_with(fixture_usual);
        uint64_t before;

        fixture_begin(&f);
        for (unsigned i = 0; i < WARMUP + 4; i++)
            hold_all(&f, sets[s]);
        ck_assert_int_eq(fixture_totals(&f).phase, SC_PHASE_FIXED);
        before = f.driver_allocs;
        for (unsigned i = 0; i < 20; i++)
            hold_all(&f, sets[s]);
        ck_assert_uint_eq(f.driver_allocs, before);
        fixture_end(&f);
    }
}
END_TEST

START_TEST(room_for_a_miss_is_made_at_the_last_free_before_it_and_not_earlier)
{
    fixture f = fixture_with(fixture_usual);
    uint64_t inside = 0;

    /* 40 MiB live at most, so that 50 may be held of a set of 54 */
    fixture_begin(&f);
    for (unsigned i = 0; i < 60; i++) {
        sc_address held[4];

        inside = i == 20 ? f.frees_in_allocations : inside;
        for (unsigned k = 0; k < 4; k++)
            held[k] = fixture_get(&f, 10 * MIB);
        for (unsigned k = 0; k < 4; k++)
            (void)fixture_put(&f, held[k]);
        (void)fixture_put(&f, fixture_get(&f, 12 * MIB));
        if (i >= 20)
            ck_assert_uint_eq(fixture_totals(&f).idle, 44 * MIB);
        for (unsigned k = 0; k < 3; k++)
            (void)fixture_put(&f, fixture_get(&f, 2 * MIB));
        if (i >= 20) { /* a 10 and the 12 go in turns, for each other */
            ck_assert_uint_eq(fixture_totals(&f).idle, 32 * MIB);
            ck_assert_uint_eq(sc_cache_tally(f.cache)->hits, 6);
        }
        sc_cache_step_end(f.cache);
    }
    ck_assert_uint_eq(f.frees_in_allocations, inside);
    fixture_end(&f);
}
END_TEST

START_TEST(headroom_for_a_small_buffer_is_not_a_whole_page)
{
    fixture f = fixture_with(fixture_usual);
    sc_cache_totals before = {0}, after;

    f.rules.gate.warmup = 1;
    fixture_begin(&f);
    for (unsigned i = 0; i < 40; i++) {
        before = i == 20 ? fixture_totals(&f) : before;
        /* more than one page holds, asked for one by one: the cap is a page and a quarter */
        for (uint64_t bytes = 65536; bytes < 65536 + 40 * 512; bytes += 512)
            (void)fixture_put(&f, fixture_get(&f, bytes));
        sc_cache_step_end(f.cache);
    }
    after = fixture_totals(&f);
    ck_assert_int_eq(after.phase, SC_PHASE_FIXED);
    ck_assert_uint_gt(4 * (after.all.hits - before.all.hits),
                      after.all.requests - before.all.requests);
    fixture_end(&f);
}
END_TEST

START_TEST(when_the_peaks_window_shrinks_the_next_free_gives_back_what_is_above)
{
    fixture f = fixture_with(fixture_usual);
    sc_address last;

    fixture_fix(&f);
    fixture_step(&f, 4 * MIB, 4, NULL);
    ck_assert_uint_eq(fixture_totals(&f).idle, 16 * MIB);
    last = fixture_get(&f, 512);
    for (uint64_t i = 2; i < fixture_usual.max_age; i++) {
        sc_cache_step_end(f.cache);
        fixture_check_cap(&f);
    }
    ck_assert_uint_eq(fixture_totals(&f).idle, 16 * MIB);
    sc_cache_step_end(f.cache); /* such an end, found inside a request, frees nothing */
    ck_assert_uint_eq(fixture_totals(&f).idle, 16 * MIB);
    (void)fixture_put(&f, last);
    ck_assert_uint_le(fixture_totals(&f).idle, 2 * MIB);
    fixture_end(&f);
}
END_TEST

START_TEST(live_memory_above_the_limit_leaves_no_room_to_cache)
{
    sc_cache_rules rules = fixture_usual;
    fixture f;

    rules.limit = 6 * MIB;
    f = fixture_with(rules);
    fixture_fix(&f);
    for (int i = 0; i < 5; i++)
        fixture_step(&f, 4 * MIB, 4, NULL);
    ck_assert_uint_le(fixture_totals(&f).idle, 6 * MIB);
    ck_assert_uint_gt(fixture_totals(&f).all.evicted, 0);
    fixture_end(&f);
}
END_TEST

START_TEST(what_is_on_its_way_back_still_counts_as_held)
{
    fixture f = fixture_with(fixture_usual);
    sc_victims victims;

    fixture_fix(&f);
    fixture_step(&f, 4 * MIB, 4, NULL);
    sc_cache_take(f.cache, SC_TAKE_ALL, &victims);
    ck_assert_uint_eq(victims.count, 4);
    ck_assert_uint_eq(victims.bytes, 16 * MIB);
    ck_assert_uint_eq(fixture_totals(&f).idle, 16 * MIB);
    ck_assert_int_eq(fixture_put(&f, victims.address[0]), SC_FREE_UNKNOWN);
    sc_cache_gone(f.cache, &victims);
    ck_assert_uint_eq(fixture_totals(&f).idle, 0);
    fixture_end(&f);
}
END_TEST

/* Time passes, at a place where the program would wait. */
static void wait_for(fixture *f, uint64_t ns)
{
    f->now += ns;
    sc_cache_tick(f->cache, f->now);
    fixture_give_back(f, SC_TAKE_DUE);
    fixture_check_cap(f);
}

START_TEST(what_was_idle_for_too_long_goes_back_and_nothing_else_does)
{
    sc_cache_rules rules = fixture_usual;
    sc_address kept;
    fixture f;

    rules.max_idle = 1600;
    f = fixture_with(rules);
    fixture_fix(&f);
    fixture_step(&f, 4 * MIB, 4, NULL);
    wait_for(&f, 1599);
    ck_assert_uint_eq(fixture_totals(&f).idle, 16 * MIB);
    kept = fixture_get(&f, 4 * MIB);
    (void)fixture_put(&f, kept); /* unused from now on */
    wait_for(&f, 101);           /* a sixteenth of the time may pass before the cache looks again */
    ck_assert_uint_eq(fixture_totals(&f).idle, 4 * MIB);
    ck_assert_uint_eq(fixture_totals(&f).all.expired, 3);
    ck_assert_uint_eq(fixture_totals(&f).all.evicted, 0);
    ck_assert_uint_eq(fixture_get(&f, 4 * MIB), kept);
    wait_for(&f, 10000); /* live memory does not expire */
    ck_assert_uint_eq(fixture_totals(&f).live, 4 * MIB);
    (void)fixture_put(&f, kept);
    wait_for(&f, 1700);
    ck_assert_uint_eq(fixture_totals(&f).idle, 0);
    ck_assert_uint_eq(fixture_totals(&f).all.expired, 4);
    ck_assert_int_eq(fixture_totals(&f).phase, SC_PHASE_FIXED);
    fixture_end(&f);
}
END_TEST

START_TEST(what_has_expired_is_not_served_even_before_it_has_gone_back)
{
    sc_cache_rules rules = fixture_usual;
    sc_address before[4];
    fixture f;

    rules.max_idle = 1600;
    f = fixture_with(rules);
    fixture_fix(&f);
    fixture_step(&f, 4 * MIB, 4, before);
    sc_cache_tick(f.cache, f.now += 1600);
    ck_assert(sc_cache_wants(f.cache, SC_TAKE_DUE));
    (void)fixture_get(&f, 4 * MIB);
    ck_assert_uint_eq(fixture_totals(&f).all.hits, 0);
    ck_assert_int_eq(fixture_put(&f, before[3]), SC_FREE_TWICE); /* ours still */
    ck_assert_uint_eq(fixture_totals(&f).idle, 0);
    fixture_end(&f);
}
END_TEST

START_TEST(a_clock_that_comes_late_and_out_of_order_expires_nothing_young)
{
    sc_cache_rules rules = fixture_usual;
    fixture f;

    rules.max_idle = 1600;
    f = fixture_with(rules);
    f.now = 10000;
    fixture_fix(&f);
    fixture_step(&f, 4 * MIB, 4, NULL);
    for (uint64_t late = 0; late < 10000; late += 100) {
        sc_cache_tick(f.cache, late);
        ck_assert(!sc_cache_wants(f.cache, SC_TAKE_DUE));
    }
    wait_for(&f, 1600);
    ck_assert_uint_eq(fixture_totals(&f).idle, 0);
    fixture_end(&f);
}
END_TEST

START_TEST(idle_memory_goes_back_until_the_driver_has_its_reserve)
{
    sc_cache_rules rules = fixture_usual;
    fixture f;

    rules.reserve = 100 * MIB;
    f = fixture_with(rules);
    fixture_fix(&f);
    fixture_step(&f, 4 * MIB, 4, NULL);
    ck_assert(sc_cache_minds_driver_free(f.cache));
    sc_cache_driver_free(f.cache, 100 * MIB);
    ck_assert(!sc_cache_wants(f.cache, SC_TAKE_DUE));
    sc_cache_driver_free(f.cache, 93 * MIB); /* 7 short: two buffers */
    ck_assert(!sc_cache_wants(f.cache, SC_TAKE_ROOM));
    wait_for(&f, 0);
    ck_assert_uint_eq(fixture_totals(&f).idle, 8 * MIB);
    ck_assert_uint_eq(fixture_totals(&f).all.evicted, 2);
    /* until the driver is asked again no more than that is kept */
    fixture_step(&f, 4 * MIB, 4, NULL);
    ck_assert_uint_eq(fixture_totals(&f).idle, 8 * MIB);
    ck_assert_uint_eq(f.frees_in_allocations, 0);
    sc_cache_driver_free(f.cache, 1000 * MIB);
    fixture_step(&f, 4 * MIB, 4, NULL);
    ck_assert_uint_eq(fixture_totals(&f).idle, 16 * MIB);
    sc_cache_driver_free(f.cache, 0);
    wait_for(&f, 0);
    ck_assert_uint_eq(fixture_totals(&f).idle, 0);
    ck_assert(!sc_cache_minds_driver_free(f.cache));
    fixture_end(&f);
}
END_TEST

START_TEST(the_reserve_never_asks_for_live_memory)
{
    sc_cache_rules rules = fixture_usual;
    sc_address address;
    fixture f;

    rules.reserve = 100 * MIB;
    f = fixture_with(rules);
    fixture_fix(&f);
    address = fixture_get(&f, 4 * MIB);
    sc_cache_driver_free(f.cache, 50 * MIB);
    ck_assert(!sc_cache_wants(f.cache, SC_TAKE_DUE));
    ck_assert_int_eq(fixture_put(&f, address), SC_FREE_PARK);
    ck_assert_uint_eq(fixture_totals(&f).idle, 0);
    fixture_end(&f);
}
END_TEST

START_TEST(without_the_gate_neither_time_nor_reserve_takes_anything)
{
    sc_cache_rules rules = fixture_usual;
    fixture f;

    rules.reserve = 100 * MIB;
    rules.max_idle = 1600;
    rules.gate.is_gated = false;
    f = fixture_with(rules);
    fixture_begin(&f);
    fixture_step(&f, 4 * MIB, 4, NULL);
    sc_cache_driver_free(f.cache, 0);
    wait_for(&f, 100000);
    ck_assert_uint_eq(fixture_totals(&f).idle, 16 * MIB);
    ck_assert(!sc_cache_minds_driver_free(f.cache));
    fixture_end(&f);
}
END_TEST

SC_SUITE("cache_cap", a_set_wider_than_the_cap_is_kept_within_it_by_evictions_at_frees_alone,
         a_set_that_fits_is_served_whole_though_its_largest_would_not_fit_once_more,
         room_for_a_miss_is_made_at_the_last_free_before_it_and_not_earlier,
         headroom_for_a_small_buffer_is_not_a_whole_page,
         when_the_peaks_window_shrinks_the_next_free_gives_back_what_is_above,
         live_memory_above_the_limit_leaves_no_room_to_cache,
         what_is_on_its_way_back_still_counts_as_held,
         what_was_idle_for_too_long_goes_back_and_nothing_else_does,
         what_has_expired_is_not_served_even_before_it_has_gone_back,
         a_clock_that_comes_late_and_out_of_order_expires_nothing_young,
         idle_memory_goes_back_until_the_driver_has_its_reserve,
         the_reserve_never_asks_for_live_memory,
         without_the_gate_neither_time_nor_reserve_takes_anything)
