/* SPDX-License-Identifier: MIT
 * The call site as a part of the key, and a gate for each. */
#include "support/fixture.h"
#include "support/suite.h"

START_TEST(two_places_that_ask_for_the_same_size_share_nothing_when_the_site_is_part_of_the_key)
{
    sc_cache_rules rules = fixture_usual;
    sc_address first, second, again;
    fixture f;

    rules.is_keyed_by_site = true;
    rules.overhead_percent = 200;
    f = fixture_with(rules);
    fixture_begin(&f);
    for (int i = 0; i <= WARMUP; i++) {
        (void)fixture_ask(&f, (sc_request){.context = 1, .bytes = 4 * MIB, .site = 5}, &first);
        (void)fixture_put(&f, first);
        (void)fixture_ask(&f, (sc_request){.context = 1, .bytes = 4 * MIB, .site = 6}, &second);
        (void)fixture_put(&f, second);
        sc_cache_step_end(f.cache);
    }
    ck_assert_int_eq(fixture_totals(&f).phase, SC_PHASE_FIXED);
    ck_assert_uint_eq(fixture_totals(&f).shapes, 2);
    (void)fixture_ask(&f, (sc_request){.context = 1, .bytes = 4 * MIB, .site = 5}, &first);
    (void)fixture_put(&f, first);
    ck_assert_int_eq(
        fixture_ask(&f, (sc_request){.context = 1, .bytes = 4 * MIB, .site = 6}, &second),
        SC_ALLOCATE);
    ck_assert_uint_ne(second, first);
    (void)fixture_put(&f, second);
    ck_assert_int_eq(
        fixture_ask(&f, (sc_request){.context = 1, .bytes = 4 * MIB, .site = 5}, &again), SC_HIT);
    ck_assert_uint_eq(again, first);
    ck_assert_int_eq(fixture_totals(&f).phase, SC_PHASE_FIXED);
    (void)fixture_ask(&f, (sc_request){.context = 1, .bytes = 4 * MIB, .site = 7}, &again);
    ck_assert_int_eq(fixture_totals(&f).phase, SC_PHASE_FALLBACK);
    fixture_end(&f);
}
END_TEST

enum { STEADY = 5, MOODY = 6 };

static sc_cache_rules scoped_rules(void)
{
    sc_cache_rules rules = fixture_usual;

    rules.is_keyed_by_site = true;
    rules.is_scoped_by_site = true;
    rules.overhead_percent = 200;
    return rules;
}

static sc_answer ask_at(fixture *f, uint32_t site, uint64_t bytes, sc_address *address)
{
    return fixture_ask(f, (sc_request){.context = 1, .bytes = bytes, .site = site}, address);
}

/* 4 MiB at one site, `moody` bytes at the other. */
static void scoped_step(fixture *f, uint64_t moody)
{
    sc_address one, other;

    (void)ask_at(f, STEADY, 4 * MIB, &one);
    (void)ask_at(f, MOODY, moody, &other);
    (void)fixture_put(f, other);
    (void)fixture_put(f, one);
    sc_cache_step_end(f->cache);
}

static void reach_fixed_at_both(fixture *f)
{
    fixture_begin(f);
    for (int i = 0; i <= WARMUP; i++)
        scoped_step(f, 6 * MIB);
    ck_assert_uint_eq(fixture_totals(f).scopes.fixed, 2);
    scoped_step(f, 6 * MIB); /* parks */
    ck_assert_uint_eq(fixture_totals(f).idle, 10 * MIB);
}

START_TEST(a_new_shape_at_one_site_stops_that_one_alone)
{
    fixture f = fixture_with(scoped_rules());
    sc_address one, other;

    reach_fixed_at_both(&f);
    ck_assert_int_eq(ask_at(&f, MOODY, 7 * MIB, &other), SC_ALLOCATE);
    ck_assert_int_eq(fixture_totals(&f).phase, SC_PHASE_FIXED);
    ck_assert_uint_eq(fixture_totals(&f).scopes.all, 2);
    ck_assert_uint_eq(fixture_totals(&f).scopes.fixed, 1);
    ck_assert_uint_eq(fixture_totals(&f).idle,
                      10 * MIB); /* inside an allocation nothing goes back */
    const sc_phase_change *change = &f.changes[f.change_count - 1];

    ck_assert(change->is_of_scope);
    ck_assert_uint_eq(change->scope, MOODY);
    ck_assert_int_eq(change->reason, SC_REASON_NEW_SHAPE);
    ck_assert_uint_eq(change->idle_released, 6 * MIB);
    ck_assert_int_eq(ask_at(&f, STEADY, 4 * MIB, &one), SC_HIT);
    ck_assert_int_eq(fixture_put(&f, one),
                     SC_FREE_PARK); /* and the other's idle memory goes back here */
    ck_assert_uint_eq(fixture_totals(&f).idle, 4 * MIB);
    ck_assert_int_eq(fixture_put(&f, other), SC_FREE_RELEASE);
    ck_assert_int_eq(ask_at(&f, MOODY, 6 * MIB, &other), SC_ALLOCATE);
    ck_assert_int_eq(fixture_put(&f, other), SC_FREE_RELEASE);
    ck_assert_int_eq(ask_at(&f, STEADY, 4 * MIB, &one), SC_HIT);
    ck_assert_uint_eq(fixture_totals(&f).fallbacks, 1);
    fixture_end(&f);
}
END_TEST

START_TEST(what_fell_back_is_not_served_though_it_has_not_gone_back_yet)
{
    fixture f = fixture_with(scoped_rules());
    sc_address first, second;

    reach_fixed_at_both(&f);
    (void)ask_at(&f, MOODY, 7 * MIB, &first);
    ck_assert_int_eq(ask_at(&f, MOODY, 6 * MIB, &second), SC_ALLOCATE);
    ck_assert_uint_eq(fixture_totals(&f).idle, 10 * MIB);
    fixture_end(&f);
}
END_TEST

START_TEST(each_site_comes_back_when_its_own_shapes_are_quiet)
{
    fixture f = fixture_with(scoped_rules());

    reach_fixed_at_both(&f);
    scoped_step(&f, 7 * MIB);
    for (int i = 0; i < REARM - 1; i++) {
        scoped_step(&f, 7 * MIB);
        ck_assert_uint_eq(fixture_totals(&f).scopes.fixed, 1);
    }
    scoped_step(&f, 7 * MIB);
    ck_assert_uint_eq(fixture_totals(&f).scopes.fixed, 2);
    ck_assert_int_eq(f.changes[f.change_count - 1].reason, SC_REASON_REARM);
    fixture_end(&f);
}
END_TEST

START_TEST(a_new_site_warms_up_alone_and_trips_nothing)
{
    fixture f = fixture_with(scoped_rules());
    sc_address address;

    reach_fixed_at_both(&f);
    for (int i = 0; i <= WARMUP; i++) {
        ck_assert_int_eq(ask_at(&f, 7, MIB, &address), SC_ALLOCATE);
        ck_assert_int_eq(fixture_put(&f, address), SC_FREE_RELEASE);
        scoped_step(&f, 6 * MIB);
        ck_assert_uint_eq(fixture_totals(&f).fallbacks, 0);
    }
    ck_assert_uint_eq(fixture_totals(&f).scopes.all, 3);
    ck_assert_uint_eq(fixture_totals(&f).scopes.fixed, 3);
    fixture_end(&f);
}
END_TEST

START_TEST(a_site_that_is_silent_learns_nothing_from_others_steps)
{
    fixture f = fixture_with(scoped_rules());
    sc_address address;

    fixture_begin(&f);
    (void)ask_at(&f, 7, MIB, &address);
    for (int i = 0; i <= WARMUP; i++)
        scoped_step(&f, 6 * MIB);
    ck_assert_uint_eq(fixture_totals(&f).scopes.all, 3);
    ck_assert_uint_eq(fixture_totals(&f).scopes.fixed, 2);
    fixture_end(&f);
}
END_TEST

START_TEST(the_device_is_in_the_best_phase_of_its_sites)
{
    fixture f = fixture_with(scoped_rules());
    sc_address address;
    unsigned of_device = 0;

    reach_fixed_at_both(&f);
    (void)ask_at(&f, MOODY, 7 * MIB, &address);
    ck_assert_int_eq(fixture_totals(&f).phase, SC_PHASE_FIXED);
    (void)ask_at(&f, STEADY, 7 * MIB, &address);
    ck_assert_int_eq(fixture_totals(&f).phase, SC_PHASE_FALLBACK);
    for (unsigned i = 0; i < f.change_count; i++)
        of_device += !f.changes[i].is_of_scope;
    ck_assert_uint_eq(of_device, 2);
    ck_assert(!f.changes[f.change_count - 1].is_of_scope); /* after the site's own */
    ck_assert_int_eq(f.changes[f.change_count - 1].to, SC_PHASE_FALLBACK);
    fixture_end(&f);
}
END_TEST

START_TEST(an_out_of_memory_stops_every_site_in_one_word)
{
    fixture f = fixture_with(scoped_rules());
    unsigned changes;

    reach_fixed_at_both(&f);
    changes = f.change_count;
    ck_assert(sc_cache_out_of_memory(f.cache, 0));
    ck_assert_uint_eq(f.change_count, changes + 1);
    ck_assert(!f.changes[changes].is_of_scope);
    ck_assert_int_eq(f.changes[changes].reason, SC_REASON_OOM);
    ck_assert_uint_eq(f.changes[changes].idle_released, 10 * MIB);
    ck_assert_uint_eq(fixture_totals(&f).scopes.fixed, 0);
    ck_assert_uint_eq(fixture_totals(&f).fallbacks, 1);
    fixture_end(&f);
}
END_TEST

START_TEST(closing_closes_every_site_and_those_to_come)
{
    fixture f = fixture_with(scoped_rules());
    sc_address address;

    reach_fixed_at_both(&f);
    sc_cache_close(f.cache, SC_REASON_USER);
    ck_assert_int_eq(fixture_totals(&f).phase, SC_PHASE_OFF);
    for (int i = 0; i < 3 * WARMUP; i++) {
        ck_assert_int_eq(ask_at(&f, 7, MIB, &address), SC_ALLOCATE);
        ck_assert_int_eq(fixture_put(&f, address), SC_FREE_RELEASE);
        scoped_step(&f, 6 * MIB);
    }
    ck_assert_int_eq(fixture_totals(&f).phase, SC_PHASE_OFF);
    ck_assert_uint_eq(fixture_totals(&f).idle, 0);
    fixture_end(&f);
}
END_TEST

START_TEST(what_comes_from_an_unknown_place_shares_one_gate)
{
    fixture f = fixture_with(scoped_rules());
    sc_address address;

    fixture_begin(&f);
    for (int i = 0; i <= WARMUP; i++) {
        (void)ask_at(&f, 0, 4 * MIB, &address);
        (void)fixture_put(&f, address);
        sc_cache_step_end(f.cache);
    }
    ck_assert_uint_eq(fixture_totals(&f).scopes.all, 1);
    ck_assert_uint_eq(fixture_totals(&f).scopes.fixed, 1);
    ck_assert_int_eq(fixture_totals(&f).phase, SC_PHASE_FIXED);
    fixture_end(&f);
}
END_TEST

START_TEST(too_wide_a_set_at_one_site_stops_that_one_alone)
{
    sc_cache_rules rules = scoped_rules();
    sc_address address;
    fixture f;

    rules.gate.max_shapes = 3;
    f = fixture_with(rules);
    fixture_begin(&f);
    for (int i = 0; i < 8; i++) {
        for (uint64_t j = 0; j < 4; j++) {
            (void)ask_at(&f, MOODY, (4 + 2 * j) * MIB, &address);
            (void)fixture_put(&f, address);
        }
        (void)ask_at(&f, STEADY, 4 * MIB, &address);
        (void)fixture_put(&f, address);
        sc_cache_step_end(f.cache);
    }
    ck_assert_uint_eq(fixture_totals(&f).scopes.all, 2);
    ck_assert_uint_eq(fixture_totals(&f).scopes.fixed, 1);
    fixture_end(&f);
}
END_TEST

SC_SUITE("cache_scope",
         two_places_that_ask_for_the_same_size_share_nothing_when_the_site_is_part_of_the_key,
         a_new_shape_at_one_site_stops_that_one_alone,
         what_fell_back_is_not_served_though_it_has_not_gone_back_yet,
         each_site_comes_back_when_its_own_shapes_are_quiet,
         a_new_site_warms_up_alone_and_trips_nothing,
         a_site_that_is_silent_learns_nothing_from_others_steps,
         the_device_is_in_the_best_phase_of_its_sites,
         an_out_of_memory_stops_every_site_in_one_word, closing_closes_every_site_and_those_to_come,
         what_comes_from_an_unknown_place_shares_one_gate,
         too_wide_a_set_at_one_site_stops_that_one_alone)
