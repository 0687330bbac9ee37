/* SPDX-License-Identifier: MIT
 * What becomes of one block in every state that it can be in. */
#include "support/fixture.h"
#include "support/suite.h"

START_TEST(a_second_free_is_caught_while_parking_and_while_idle)
{
    fixture f = fixture_with(fixture_usual);
    sc_address address;
    sc_buffer *buffer, *second;

    fixture_fix(&f);
    address = fixture_get(&f, 4 * MIB);
    ck_assert_int_eq(sc_cache_free(f.cache, address, false, &buffer), SC_FREE_PARK);
    ck_assert_int_eq(sc_cache_free(f.cache, address, false, &second), SC_FREE_TWICE);
    ck_assert_ptr_null(second);
    ck_assert(sc_cache_park(f.cache, buffer, f.now));
    ck_assert_int_eq(sc_cache_free(f.cache, address, true, &second), SC_FREE_TWICE);
    ck_assert_int_eq(sc_cache_free(f.cache, address + 512, false, &second), SC_FREE_UNKNOWN);
    fixture_end(&f);
}
END_TEST

START_TEST(what_is_being_parked_is_not_handed_out)
{
    fixture f = fixture_with(fixture_usual);
    sc_address address, other;
    sc_buffer *buffer;

    fixture_fix(&f);
    address = fixture_get(&f, 4 * MIB);
    ck_assert_int_eq(sc_cache_free(f.cache, address, false, &buffer), SC_FREE_PARK);
    ck_assert_int_eq(fixture_ask(&f, (sc_request){.context = 1, .bytes = 4 * MIB}, &other),
                     SC_ALLOCATE);
    ck_assert_uint_ne(other, address);
    ck_assert(sc_cache_park(f.cache, buffer, f.now));
    ck_assert_uint_eq(fixture_get(&f, 4 * MIB), address);
    fixture_end(&f);
}
END_TEST

START_TEST(a_phase_change_during_the_wait_makes_the_free_a_real_one)
{
    fixture f = fixture_with(fixture_usual);
    sc_address address;
    sc_buffer *buffer;

    fixture_fix(&f);
    address = fixture_get(&f, 4 * MIB);
    ck_assert_int_eq(sc_cache_free(f.cache, address, false, &buffer), SC_FREE_PARK);
    (void)fixture_get(&f, 6 * MIB);
    ck_assert(!sc_cache_park(f.cache, buffer, f.now));
    ck_assert_int_eq(fixture_put(&f, address), SC_FREE_UNKNOWN);
    fixture_end(&f);
}
END_TEST

START_TEST(a_failed_wait_forgets_the_buffer_before_its_real_free)
{
    fixture f = fixture_with(fixture_usual);
    sc_address address;
    sc_buffer *buffer;
    uint64_t live;

    fixture_fix(&f);
    live = fixture_totals(&f).live_bytes;
    address = fixture_get(&f, 4 * MIB);
    ck_assert_int_eq(sc_cache_free(f.cache, address, false, &buffer), SC_FREE_PARK);
    ck_assert(sc_cache_unpark(f.cache, buffer));
    ck_assert_int_eq(fixture_put(&f, address), SC_FREE_UNKNOWN);
    ck_assert_uint_eq(fixture_totals(&f).live_bytes, live);
    fixture_end(&f);
}
END_TEST

START_TEST(a_failed_allocation_leaves_no_trace_but_the_request)
{
    fixture f = fixture_with(fixture_usual);
    sc_cache_totals before, after;
    sc_buffer *buffer;

    fixture_fix(&f);
    before = fixture_totals(&f);
    ck_assert_int_eq(
        sc_cache_request(f.cache, (sc_request){.context = 1, .bytes = 4 * MIB}, &buffer),
        SC_ALLOCATE);
    sc_cache_failed(f.cache, buffer);
    after = fixture_totals(&f);
    ck_assert_uint_eq(after.live, before.live);
    ck_assert_uint_eq(after.live_bytes, before.live_bytes);
    ck_assert_uint_eq(after.all.live_peak, before.all.live_peak);
    ck_assert_uint_eq(after.all.driver_allocs, before.all.driver_allocs);
    ck_assert_uint_eq(after.all.requests, before.all.requests + 1);
    fixture_end(&f);
}
END_TEST

START_TEST(a_size_that_the_driver_refuses_is_no_shape)
{
    const sc_request large = {.context = 1, .bytes = 6 * MIB};
    fixture f = fixture_with(fixture_usual);
    sc_buffer *one, *other;
    sc_address address;

    fixture_fix(&f);
    for (int i = 0; i < 2 * WARMUP; i++) {
        ck_assert_int_eq(sc_cache_request(f.cache, large, &one), SC_ALLOCATE);
        ck_assert_int_eq(sc_cache_request(f.cache, large, &other), SC_ALLOCATE);
        sc_cache_failed(f.cache, one);
        sc_cache_failed(f.cache, other);
        ck_assert(!sc_cache_knows(f.cache, &large));
        fixture_step(&f, 4 * MIB, 4, NULL);
    }
    ck_assert_int_eq(fixture_totals(&f).phase, SC_PHASE_FIXED);
    ck_assert_uint_eq(fixture_totals(&f).shapes, 1);
    ck_assert_uint_eq(fixture_totals(&f).all.misses, 4); /* of the first fixed step */
    ck_assert_uint_eq(f.shape_count, 1);
    ck_assert_int_eq(fixture_ask(&f, large, &address), SC_ALLOCATE); /* now it is granted */
    ck_assert_int_eq(fixture_totals(&f).phase, SC_PHASE_FALLBACK);
    ck_assert_uint_eq(f.shape_count, 2);
    fixture_end(&f);
}
END_TEST

START_TEST(what_is_refused_does_not_hold_the_gate_shut)
{
    fixture f = fixture_with(fixture_usual);
    sc_buffer *buffer;

    fixture_begin(&f);
    for (uint64_t i = 0; i <= WARMUP; i++) {
        ck_assert_int_eq(
            sc_cache_request(f.cache, (sc_request){.context = 1, .bytes = 6 * MIB + i}, &buffer),
            SC_ALLOCATE);
        sc_cache_failed(f.cache, buffer);
        fixture_step(&f, 4 * MIB, 4, NULL);
    }
    ck_assert_int_eq(fixture_totals(&f).phase, SC_PHASE_FIXED);
    fixture_end(&f);
}
END_TEST

START_TEST(more_than_the_device_has_passes_by_and_costs_nothing)
{
    sc_cache_rules rules = fixture_usual;
    sc_buffer *buffer;
    fixture f;

    rules.total = 100 * MIB;
    f = fixture_with(rules);
    fixture_fix(&f);
    fixture_step(&f, 4 * MIB, 4, NULL);
    ck_assert_int_eq(
        sc_cache_request(f.cache, (sc_request){.context = 1, .bytes = UINT64_MAX}, &buffer),
        SC_PASS);
    ck_assert(!sc_cache_wants(f.cache, SC_TAKE_ROOM));
    ck_assert(!sc_cache_out_of_memory(f.cache, UINT64_MAX));
    ck_assert_uint_eq(fixture_totals(&f).ooms, 1);
    ck_assert_uint_eq(fixture_totals(&f).idle, 16 * MIB);
    ck_assert_int_eq(fixture_totals(&f).phase, SC_PHASE_FIXED);
    ck_assert(sc_cache_out_of_memory(f.cache, 100 * MIB)); /* giving back may help */
    ck_assert_int_eq(fixture_totals(&f).phase, SC_PHASE_FALLBACK);
    fixture_end(&f);
}
END_TEST

START_TEST(an_address_we_hold_already_is_a_proof_that_somebody_frees_behind_our_back)
{
    fixture f = fixture_with(fixture_usual);
    sc_address address;
    sc_buffer *buffer;

    fixture_fix(&f);
    address = fixture_get(&f, 4 * MIB);
    ck_assert_int_eq(
        sc_cache_request(f.cache, (sc_request){.context = 1, .bytes = 4 * MIB}, &buffer),
        SC_ALLOCATE);
    ck_assert(!sc_cache_allocated(f.cache, buffer, address, 0));
    sc_cache_check(f.cache);
    ck_assert_uint_eq(fixture_totals(&f).live, 4 * MIB);
    ck_assert_int_eq(fixture_put(&f, address), SC_FREE_PARK);
    fixture_end(&f);
}
END_TEST

START_TEST(memory_that_went_by_another_door_while_it_was_being_parked_is_not_freed_again)
{
    fixture f = fixture_with(fixture_usual);
    sc_address address;
    sc_buffer *buffer;

    for (int is_failed = 0; is_failed < 2; is_failed++) {
        f = fixture_with(fixture_usual);
        fixture_fix(&f);
        address = fixture_get(&f, 4 * MIB);
        ck_assert_int_eq(sc_cache_free(f.cache, address, false, &buffer), SC_FREE_PARK);
        sc_cache_forget(f.cache, address);
        ck_assert_int_eq(fixture_put(&f, address), SC_FREE_UNKNOWN);
        if (is_failed)
            ck_assert(!sc_cache_unpark(f.cache, buffer));
        else
            ck_assert(sc_cache_park(f.cache, buffer, f.now));
        ck_assert_uint_eq(fixture_totals(&f).idle, 0);
        ck_assert_uint_ne(fixture_get(&f, 4 * MIB), address);
        fixture_end(&f);
    }
}
END_TEST

START_TEST(a_context_that_ends_takes_its_buffers_in_every_state)
{
    fixture f = fixture_with(fixture_usual);
    sc_address live, kept;
    sc_buffer *reserved, *parking;

    fixture_fix(&f);
    fixture_step(&f, 4 * MIB, 4, NULL); /* three stay idle */
    live = fixture_get(&f, 4 * MIB);
    ck_assert_int_eq(sc_cache_free(f.cache, fixture_get(&f, 4 * MIB), false, &parking),
                     SC_FREE_PARK);
    (void)fixture_ask(&f, (sc_request){.context = 2, .bytes = 4096}, &kept);
    ck_assert_int_eq(
        sc_cache_request(f.cache, (sc_request){.context = 1, .bytes = 4096}, &reserved),
        SC_ALLOCATE);
    sc_cache_forget_context(f.cache, 1);
    sc_cache_check(f.cache);
    ck_assert_uint_eq(fixture_totals(&f).live_bytes, 4096);
    ck_assert_uint_eq(fixture_totals(&f).idle, 0);
    ck_assert(sc_cache_allocated(f.cache, reserved, f.next += MIB, 0));
    ck_assert(sc_cache_park(f.cache, parking, f.now));
    ck_assert_int_eq(fixture_put(&f, f.next), SC_FREE_UNKNOWN);
    ck_assert_int_eq(fixture_put(&f, live), SC_FREE_UNKNOWN);
    ck_assert_int_eq(fixture_put(&f, kept), SC_FREE_PARK);
    fixture_end(&f);
}
END_TEST

START_TEST(exported_memory_is_never_handed_out_again)
{
    fixture f = fixture_with(fixture_usual);
    sc_address address;
    sc_buffer *buffer;

    fixture_fix(&f);
    address = fixture_get(&f, 4 * MIB); /* exported while live */
    sc_cache_export(f.cache, address);
    ck_assert_int_eq(fixture_put(&f, address), SC_FREE_RELEASE);

    address = fixture_get(&f, 4 * MIB); /* while it is being parked */
    ck_assert_int_eq(sc_cache_free(f.cache, address, false, &buffer), SC_FREE_PARK);
    sc_cache_export(f.cache, address);
    ck_assert(!sc_cache_park(f.cache, buffer, f.now));

    address = fixture_get(&f, 4 * MIB); /* when it is idle already */
    ck_assert_int_eq(fixture_put(&f, address), SC_FREE_PARK);
    sc_cache_export(f.cache, address);
    sc_cache_check(f.cache);
    ck_assert_uint_ne(fixture_get(&f, 4 * MIB), address);
    ck_assert(sc_cache_wants(f.cache, SC_TAKE_DUE));
    fixture_give_back(&f, SC_TAKE_DUE);
    ck_assert_int_eq(fixture_put(&f, address), SC_FREE_UNKNOWN);
    ck_assert_int_eq(fixture_totals(&f).phase, SC_PHASE_FIXED);
    fixture_end(&f);
}
END_TEST

SC_SUITE("cache_blocks", a_second_free_is_caught_while_parking_and_while_idle,
         what_is_being_parked_is_not_handed_out,
         a_phase_change_during_the_wait_makes_the_free_a_real_one,
         a_failed_wait_forgets_the_buffer_before_its_real_free,
         a_failed_allocation_leaves_no_trace_but_the_request,
         a_size_that_the_driver_refuses_is_no_shape, what_is_refused_does_not_hold_the_gate_shut,
         more_than_the_device_has_passes_by_and_costs_nothing,
         an_address_we_hold_already_is_a_proof_that_somebody_frees_behind_our_back,
         memory_that_went_by_another_door_while_it_was_being_parked_is_not_freed_again,
         a_context_that_ends_takes_its_buffers_in_every_state,
         exported_memory_is_never_handed_out_again)
