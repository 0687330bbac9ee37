/* SPDX-License-Identifier: MIT
 * The cache as the engine uses it: phases, steps, and what is known of shapes. */
#include "support/fixture.h"
#include "support/suite.h"

START_TEST(in_warmup_each_request_and_each_free_goes_to_the_driver)
{
    fixture f = fixture_with(fixture_usual);
    sc_address address;

    fixture_begin(&f);
    address = fixture_get(&f, 4 * MIB);
    ck_assert_int_eq(fixture_put(&f, address), SC_FREE_RELEASE);
    ck_assert_int_eq(fixture_put(&f, address), SC_FREE_UNKNOWN);
    ck_assert_uint_eq(fixture_totals(&f).all.bypassed, 1);
    ck_assert_uint_eq(fixture_totals(&f).idle, 0);
    ck_assert_uint_eq(f.frees, 1);
    fixture_end(&f);
}
END_TEST

START_TEST(in_fixed_the_next_step_gets_the_pointers_of_this_one)
{
    fixture f = fixture_with(fixture_usual);
    sc_address before[4], after[4];
    uint64_t allocs;

    fixture_fix(&f);
    fixture_step(&f, 4 * MIB, 4, before);
    allocs = f.driver_allocs;
    for (int i = 0; i < 20; i++) {
        fixture_step(&f, 4 * MIB, 4, after);
        ck_assert_mem_eq(before, after, sizeof(before));
    }
    ck_assert_uint_eq(f.driver_allocs, allocs);
    ck_assert_uint_eq(fixture_totals(&f).all.misses, 4);
    ck_assert_uint_eq(fixture_totals(&f).all.hits, 80);
    fixture_end(&f);
}
END_TEST

START_TEST(the_first_new_shape_stops_serving_and_everything_idle_goes_at_the_next_free)
{
    fixture f = fixture_with(fixture_usual);
    sc_address address;
    const sc_phase_change *change = &f.changes[1];
    sc_buffer *buffer;

    fixture_fix(&f);
    fixture_step(&f, 4 * MIB, 4, NULL);
    ck_assert_uint_eq(fixture_totals(&f).idle, 16 * MIB);
    ck_assert_int_eq(
        fixture_ask(&f, (sc_request){.context = 1, .bytes = 6 * MIB, .site = 9}, &address),
        SC_ALLOCATE);
    ck_assert_uint_eq(f.change_count, 2);
    ck_assert_int_eq(change->to, SC_PHASE_FALLBACK);
    ck_assert_int_eq(change->reason, SC_REASON_NEW_SHAPE);
    ck_assert_uint_eq(change->idle_released, 12 * MIB); /* 4 MiB have made room for it */
    ck_assert_uint_eq(change->set_size, 2);
    ck_assert_uint_eq(sc_cache_tally(f.cache)->bypassed, 1); /* that very request */
    /* nothing is served, though idle buffers are still there */
    ck_assert_int_eq(
        sc_cache_request(f.cache, (sc_request){.context = 1, .bytes = 4 * MIB}, &buffer),
        SC_ALLOCATE);
    sc_cache_failed(f.cache, buffer);
    ck_assert_int_eq(fixture_put(&f, address), SC_FREE_RELEASE);
    ck_assert_uint_eq(fixture_totals(&f).idle, 0);
    ck_assert_uint_eq(fixture_totals(&f).fallbacks, 1);
    fixture_end(&f);
}
END_TEST

START_TEST(it_caches_again_after_rearm_quiet_steps)
{
    fixture f = fixture_with(fixture_usual);

    fixture_fix(&f);
    (void)fixture_put(&f, fixture_get(&f, 6 * MIB));
    sc_cache_step_end(f.cache);
    for (int i = 0; i < REARM; i++) {
        ck_assert_int_eq(fixture_totals(&f).phase, SC_PHASE_FALLBACK);
        fixture_step(&f, 4 * MIB, 4, NULL);
        ck_assert_uint_eq(fixture_totals(&f).idle, 0);
    }
    ck_assert_int_eq(fixture_totals(&f).phase, SC_PHASE_FIXED);
    ck_assert_int_eq(f.changes[2].reason, SC_REASON_REARM);
    fixture_end(&f);
}
END_TEST

START_TEST(requests_below_small_are_served_but_never_change_the_phase)
{
    fixture f = fixture_with(fixture_usual);
    sc_address address;

    fixture_begin(&f);
    for (uint64_t i = 0; i <= WARMUP; i++) {
        (void)fixture_put(&f, fixture_get(&f, 512 + i)); /* a new one each step */
        fixture_step(&f, 4 * MIB, 1, NULL);
    }
    ck_assert_int_eq(fixture_totals(&f).phase, SC_PHASE_FIXED);
    address = fixture_get(&f, 5000);
    ck_assert_int_eq(fixture_totals(&f).phase, SC_PHASE_FIXED);
    ck_assert_uint_eq(sc_cache_tally(f.cache)->misses, 1);
    ck_assert_int_eq(fixture_put(&f, address), SC_FREE_PARK);
    ck_assert_uint_eq(fixture_get(&f, 5000), address);
    ck_assert_uint_eq(f.changes[0].set_size, 1);
    fixture_end(&f);
}
END_TEST

START_TEST(a_known_shape_whose_buffers_have_gone_is_a_miss_not_a_new_shape)
{
    fixture f = fixture_with(fixture_usual);
    sc_address address;

    fixture_fix(&f);
    fixture_give_back(&f, SC_TAKE_ALL);
    for (int i = 0; i < 50; i++)
        sc_cache_step_end(f.cache);
    ck_assert_int_eq(fixture_ask(&f, (sc_request){.context = 1, .bytes = 4 * MIB}, &address),
                     SC_ALLOCATE);
    ck_assert_uint_eq(sc_cache_tally(f.cache)->misses, 1);
    ck_assert_int_eq(fixture_totals(&f).phase, SC_PHASE_FIXED);
    fixture_end(&f);
}
END_TEST

START_TEST(while_a_capture_is_open_both_ways_pass)
{
    fixture f = fixture_with(fixture_usual);
    sc_address address, passed;
    sc_buffer *buffer;

    fixture_fix(&f);
    address = fixture_get(&f, 4 * MIB);
    ck_assert_int_eq(fixture_put(&f, address), SC_FREE_PARK);
    ck_assert_int_eq(
        fixture_ask(&f, (sc_request){.context = 1, .bytes = 4 * MIB, .is_passing = true}, &passed),
        SC_ALLOCATE);
    ck_assert_uint_eq(sc_cache_tally(f.cache)->bypassed, 1);
    ck_assert_int_eq(sc_cache_free(f.cache, passed, true, &buffer), SC_FREE_RELEASE);
    ck_assert_uint_eq(fixture_get(&f, 4 * MIB), address);
    fixture_end(&f);
}
END_TEST

START_TEST(an_out_of_memory_with_idle_buffers_falls_back_and_says_that_a_retry_makes_sense)
{
    fixture f = fixture_with(fixture_usual);

    fixture_fix(&f);
    ck_assert(!sc_cache_out_of_memory(f.cache, 0)); /* nothing is idle: the phase stays */
    ck_assert_int_eq(fixture_totals(&f).phase, SC_PHASE_FIXED);
    fixture_step(&f, 4 * MIB, 4, NULL);
    ck_assert(sc_cache_out_of_memory(f.cache, 0));
    ck_assert_int_eq(fixture_totals(&f).phase, SC_PHASE_FALLBACK);
    ck_assert_int_eq(f.changes[1].reason, SC_REASON_OOM);
    fixture_give_back(&f, SC_TAKE_ALL);
    ck_assert_uint_eq(fixture_totals(&f).idle, 0);
    ck_assert(!sc_cache_out_of_memory(f.cache, 0));
    ck_assert_uint_eq(fixture_totals(&f).ooms, 3);
    ck_assert_uint_eq(fixture_totals(&f).all.evicted, 0);
    fixture_end(&f);
}
END_TEST

START_TEST(closing_is_final_and_drains)
{
    fixture f = fixture_with(fixture_usual);

    fixture_fix(&f);
    fixture_step(&f, 4 * MIB, 4, NULL);
    sc_cache_close(f.cache, SC_REASON_STICKY_ERROR);
    sc_cache_close(f.cache, SC_REASON_USER);
    ck_assert_uint_eq(f.change_count, 2);
    ck_assert_int_eq(f.changes[1].reason, SC_REASON_STICKY_ERROR);
    ck_assert_int_eq(fixture_put(&f, fixture_get(&f, 4 * MIB)), SC_FREE_RELEASE);
    ck_assert_uint_eq(fixture_totals(&f).idle, 0);
    for (int i = 0; i < 100; i++)
        fixture_step(&f, 4 * MIB, 4, NULL);
    ck_assert_int_eq(fixture_totals(&f).phase, SC_PHASE_OFF);
    fixture_end(&f);
}
END_TEST

START_TEST(observing_runs_the_gate_and_keeps_nothing)
{
    sc_cache_rules rules = fixture_usual;
    fixture f;

    rules.is_observing = true;
    f = fixture_with(rules);
    fixture_fix(&f);
    for (int i = 0; i < 5; i++) {
        fixture_step(&f, 4 * MIB, 4, NULL);
        ck_assert_uint_eq(fixture_totals(&f).idle, 0);
    }
    ck_assert_uint_eq(fixture_totals(&f).all.bypassed, fixture_totals(&f).all.requests);
    ck_assert_uint_eq(f.frees, f.driver_allocs);
    (void)fixture_get(&f, 6 * MIB);
    ck_assert_int_eq(fixture_totals(&f).phase, SC_PHASE_FALLBACK);
    fixture_end(&f);
}
END_TEST

START_TEST(without_the_gate_every_shape_is_kept_from_the_first_request_on)
{
    sc_cache_rules rules = fixture_usual;
    fixture f;

    rules.gate.is_gated = false;
    f = fixture_with(rules);
    fixture_begin(&f);
    ck_assert_uint_eq(f.change_count, 1);
    ck_assert_int_eq(f.changes[0].to, SC_PHASE_FIXED);
    ck_assert_int_eq(f.changes[0].reason, SC_REASON_USER);
    for (uint64_t i = 1; i <= 50; i++)
        fixture_step(&f, 2 * i * MIB, 2, NULL);
    ck_assert_uint_eq(fixture_totals(&f).idle, 50 * 51 * 2 * MIB);
    ck_assert(!sc_cache_out_of_memory(f.cache, 0));
    ck_assert_int_eq(fixture_totals(&f).phase, SC_PHASE_FIXED);
    ck_assert_uint_eq(f.frees, 0);
    fixture_end(&f);
}
END_TEST

START_TEST(a_steps_row_comes_before_the_phase_row_it_brings)
{
    fixture f = fixture_with(fixture_usual);

    fixture_fix(&f);
    ck_assert_uint_eq(f.rows_at_change[0], WARMUP + 1);
    ck_assert_int_eq(f.rows[WARMUP].phase, SC_PHASE_WARMUP);
    ck_assert_uint_eq(f.rows[WARMUP].step, WARMUP);
    ck_assert_int_eq(f.rows[WARMUP].ended_by, SC_STEP_END_API);
    ck_assert_uint_eq(f.changes[0].step, WARMUP + 1);
    ck_assert_uint_eq(f.rows[0].tally.requests, 4);
    ck_assert_uint_eq(f.rows[0].tally.live_peak, 16 * MIB);
    ck_assert_uint_eq(fixture_totals(&f).steps_in[SC_PHASE_WARMUP], WARMUP + 1);
    fixture_end(&f);
}
END_TEST

START_TEST(step_ends_are_inferred_until_the_program_names_one)
{
    sc_cache_rules rules = fixture_usual;
    fixture f;
    uint64_t inferred;

    rules.step_source = SC_STEPS_INFERRED;
    f = fixture_with(rules);
    fixture_begin(&f);
    for (int named = 0; named < 2; named++) {
        for (int i = 0; i < 50; i++) {
            sc_address addresses[8];

            for (uint64_t j = 0; j < 8; j++)
                addresses[j] = fixture_get(&f, (4 + 2 * j) * MIB);
            for (int j = 8; j-- > 0;)
                (void)fixture_put(&f, addresses[j]);
        }
        if (named == 0) {
            inferred = fixture_totals(&f).step;
            ck_assert_uint_gt(inferred, 30);
            ck_assert_int_eq(f.rows[10].ended_by, SC_STEP_END_LIVE);
            sc_cache_step_end(f.cache);
        }
    }
    ck_assert_uint_eq(fixture_totals(&f).step, inferred + 1);
    ck_assert_int_eq(f.rows[inferred].ended_by, SC_STEP_END_API);
    fixture_end(&f);
}
END_TEST

START_TEST(every_so_many_requests_are_a_step_whatever_else_arrives)
{
    sc_cache_rules rules = fixture_usual;
    fixture f;

    rules.step_source = SC_STEPS_COUNTED;
    rules.step_requests = 5;
    f = fixture_with(rules);
    fixture_begin(&f);
    for (unsigned i = 1; i <= 60; i++) {
        (void)fixture_put(&f, fixture_get(&f, 4 * MIB));
        sc_cache_step_end(f.cache); /* the setting wins */
        ck_assert_uint_eq(fixture_totals(&f).step, (i - 1) / 5);
    }
    for (unsigned i = 0; i < f.row_count; i++) {
        ck_assert_uint_eq(f.rows[i].tally.requests, 5);
        ck_assert_int_eq(f.rows[i].ended_by, SC_STEP_END_REQUESTS);
    }
    ck_assert_int_eq(fixture_totals(&f).phase, SC_PHASE_FIXED);
    fixture_end(&f);
}
END_TEST

typedef struct walk {
    unsigned count;
    sc_shape_row last;
} walk;

static void visit(void *self, const sc_shape_row *row)
{
    walk *w = self;

    w->count++;
    w->last = *row;
}

START_TEST(a_walk_names_each_shape_or_those_changed_since_the_last)
{
    fixture f = fixture_with(fixture_usual);
    walk all = {0}, changed = {0}, again = {0}, one = {0};

    fixture_fix(&f);
    fixture_step(&f, 4 * MIB, 4, NULL);
    fixture_step(&f, 4 * MIB, 4, NULL);
    (void)fixture_get(&f, 512);
    sc_cache_each_shape(f.cache, false, visit, &all);
    ck_assert_uint_eq(all.count, 2);
    sc_cache_each_shape(f.cache, true, visit, &changed);
    ck_assert_uint_eq(changed.count, 0);
    (void)fixture_get(&f, 4 * MIB);
    sc_cache_each_shape(f.cache, true, visit, &one);
    sc_cache_each_shape(f.cache, true, visit, &again);
    ck_assert_uint_eq(one.count, 1);
    ck_assert_uint_eq(again.count, 0);
    ck_assert_uint_eq(one.last.bytes, 4 * MIB);
    ck_assert_uint_eq(one.last.requests, 4 * (WARMUP + 1) + 9);
    ck_assert_uint_eq(one.last.misses, 4);
    ck_assert_uint_eq(one.last.hits, 5);
    ck_assert_uint_eq(one.last.high, 4);
    ck_assert_uint_eq(one.last.bytes_high, 16 * MIB);
    ck_assert_uint_eq(one.last.live, 1);
    ck_assert_uint_eq(one.last.idle, 3);
    ck_assert_uint_eq(one.last.allocations, 4 * (WARMUP + 1) + 4);
    ck_assert_uint_eq(one.last.miss_ns, one.last.allocations * 100);
    fixture_end(&f);
}
END_TEST

START_TEST(known_shapes_are_bounded_and_the_forgotten_counted)
{
    sc_cache_rules rules = fixture_usual;
    fixture f;

    rules.gate.max_shapes = 1;
    f = fixture_with(rules);
    fixture_begin(&f);
    for (uint64_t i = 0; i < 1000; i++)
        (void)fixture_put(&f, fixture_get(&f, MIB + i));
    ck_assert_uint_eq(fixture_totals(&f).shapes, 64);
    ck_assert_uint_eq(fixture_totals(&f).shapes_forgotten, 1000 - 64);
    fixture_end(&f);
}
END_TEST

SC_SUITE("cache", in_warmup_each_request_and_each_free_goes_to_the_driver,
         in_fixed_the_next_step_gets_the_pointers_of_this_one,
         the_first_new_shape_stops_serving_and_everything_idle_goes_at_the_next_free,
         it_caches_again_after_rearm_quiet_steps,
         requests_below_small_are_served_but_never_change_the_phase,
         a_known_shape_whose_buffers_have_gone_is_a_miss_not_a_new_shape,
         while_a_capture_is_open_both_ways_pass,
         an_out_of_memory_with_idle_buffers_falls_back_and_says_that_a_retry_makes_sense,
         closing_is_final_and_drains, observing_runs_the_gate_and_keeps_nothing,
         without_the_gate_every_shape_is_kept_from_the_first_request_on,
         a_steps_row_comes_before_the_phase_row_it_brings,
         step_ends_are_inferred_until_the_program_names_one,
         every_so_many_requests_are_a_step_whatever_else_arrives,
         a_walk_names_each_shape_or_those_changed_since_the_last,
         known_shapes_are_bounded_and_the_forgotten_counted)
