/* SPDX-License-Identifier: MIT
 * The cache as the engine uses it, over a driver that is one counter. After each whole operation
 * the cap is computed here and held against what the cache holds. */
#include "cache/cache.h"
#include "support/suite.h"

#define MIB ((uint64_t)1 << 20)
enum { WARMUP = 3, REARM = 6, MOST_LIVE = 256 };

typedef struct fixture {
    sc_cache *cache;
    sc_cache_rules rules;
    uint64_t next; /* the driver never hands out an address twice, unless told to */
    uint64_t frees, frees_in_allocations, driver_allocs;
    sc_phase_change changes[64];
    unsigned change_count;
    sc_step_row rows[512];
    unsigned row_count;
    unsigned rows_at_change[64];
    unsigned shape_count;
    uint64_t peaks[512]; /* live peak of each finished step */
    uint64_t now;
} fixture;

static void on_phase(void *self, const sc_phase_change *change)
{
    fixture *f = self;

    f->rows_at_change[f->change_count] = f->row_count;
    f->changes[f->change_count++] = *change;
}

static void on_step(void *self, const sc_step_row *row)
{
    fixture *f = self;

    f->peaks[f->row_count] = row->tally.live_peak;
    f->rows[f->row_count++] = *row;
}

static void on_shape(void *self, const sc_shape_row *row)
{
    fixture *f = self;

    ck_assert_uint_eq(row->id, f->shape_count);
    ck_assert_uint_eq(row->requests, 1);
    f->shape_count++;
}

static const sc_cache_rules usual = {
    .gate = {.warmup = WARMUP, .rearm = REARM, .max_shapes = 100, .is_gated = true},
    .overhead_percent = 25,
    .limit = UINT64_C(1) << 40,
    .max_age = 8,
    .small = 65536,
};

static fixture set_up(sc_cache_rules rules)
{
    return (fixture){.rules = rules, .next = MIB};
}

static void begin(fixture *f)
{
    const sc_cache_observer observer = {f, on_phase, on_step, on_shape};

    f->cache = sc_cache_new(&f->rules, &observer);
    ck_assert_ptr_nonnull(f->cache);
}

static sc_cache_totals totals_of(const fixture *f)
{
    sc_cache_totals totals;

    sc_cache_read_totals(f->cache, &totals);
    return totals;
}

static void give_back(fixture *f, sc_take why)
{
    sc_victims victims;

    for (;;) {
        sc_cache_take(f->cache, why, &victims);
        if (victims.count == 0)
            break;
        f->frees += victims.count;
        f->frees_in_allocations += why == SC_TAKE_ROOM ? victims.count : 0;
        sc_cache_gone(f->cache, &victims);
    }
    ck_assert(!sc_cache_wants(f->cache, why));
}

/* held <= max(live, min(limit, 1.25 x most live bytes of the last max_age steps)) */
static void check_cap(const fixture *f)
{
    sc_cache_totals now = totals_of(f);
    uint64_t peak = sc_cache_tally(f->cache)->live_peak, most;

    sc_cache_check(f->cache);
    if (!f->rules.gate.is_gated)
        return;
    for (unsigned i = 0; i < f->row_count; i++)
        if (f->row_count - i < f->rules.max_age && f->peaks[i] > peak)
            peak = f->peaks[i];
    most = peak + peak * f->rules.overhead_percent / 100;
    most = most < f->rules.limit ? most : f->rules.limit;
    ck_assert_uint_le(now.live + now.idle, now.live > most ? now.live : most);
}

static sc_answer ask(fixture *f, sc_request request, sc_address *address)
{
    sc_buffer *buffer;
    sc_answer answer = sc_cache_request(f->cache, request, &buffer);

    if (answer == SC_ALLOCATE) {
        give_back(f, SC_TAKE_ROOM);
        f->driver_allocs++;
        ck_assert(sc_cache_allocated(f->cache, buffer, f->next += 64 * MIB, 100));
    }
    *address = sc_buffer_address(buffer);
    check_cap(f);
    return answer;
}

static sc_address get(fixture *f, uint64_t bytes)
{
    sc_address address;

    (void)ask(f, (sc_request){.context = 1, .bytes = bytes}, &address);
    return address;
}

static sc_free_answer put(fixture *f, sc_address address)
{
    sc_buffer *buffer;
    sc_free_answer answer = sc_cache_free(f->cache, address, false, &buffer);

    if (answer == SC_FREE_PARK && !sc_cache_park(f->cache, buffer, f->now))
        f->frees++;
    f->frees += answer == SC_FREE_RELEASE;
    give_back(f, SC_TAKE_DUE);
    check_cap(f);
    return answer;
}

/* One step: `count` buffers of `bytes`, all live at once, freed in the order they came. */
static void step(fixture *f, uint64_t bytes, unsigned count, sc_address *addresses)
{
    sc_address mine[MOST_LIVE];

    for (unsigned i = 0; i < count; i++) {
        mine[i] = get(f, bytes);
        if (addresses)
            addresses[i] = mine[i];
    }
    for (unsigned i = 0; i < count; i++)
        (void)put(f, mine[i]);
    sc_cache_step_end(f->cache);
    give_back(f, SC_TAKE_DUE);
    check_cap(f);
}

static void reach_fixed(fixture *f)
{
    begin(f);
    for (int i = 0; i <= WARMUP; i++) {
        ck_assert_int_eq(totals_of(f).phase, SC_PHASE_WARMUP);
        step(f, 4 * MIB, 4, NULL);
    }
    ck_assert_int_eq(totals_of(f).phase, SC_PHASE_FIXED);
}

static void tear_down(fixture *f)
{
    sc_cache_check(f->cache);
    sc_cache_delete(f->cache);
}

START_TEST(in_warmup_each_request_and_each_free_goes_to_the_driver)
{
    fixture f = set_up(usual);
    sc_address address;

    begin(&f);
    address = get(&f, 4 * MIB);
    ck_assert_int_eq(put(&f, address), SC_FREE_RELEASE);
    ck_assert_int_eq(put(&f, address), SC_FREE_UNKNOWN);
    ck_assert_uint_eq(totals_of(&f).all.bypassed, 1);
    ck_assert_uint_eq(totals_of(&f).idle, 0);
    ck_assert_uint_eq(f.frees, 1);
    tear_down(&f);
}
END_TEST

START_TEST(in_fixed_the_next_step_gets_the_pointers_of_this_one)
{
    fixture f = set_up(usual);
    sc_address before[4], after[4];
    uint64_t allocs;

    reach_fixed(&f);
    step(&f, 4 * MIB, 4, before);
    allocs = f.driver_allocs;
    for (int i = 0; i < 20; i++) {
        step(&f, 4 * MIB, 4, after);
        ck_assert_mem_eq(before, after, sizeof(before));
    }
    ck_assert_uint_eq(f.driver_allocs, allocs);
    ck_assert_uint_eq(totals_of(&f).all.misses, 4);
    ck_assert_uint_eq(totals_of(&f).all.hits, 80);
    tear_down(&f);
}
END_TEST

START_TEST(the_first_new_shape_stops_serving_and_everything_idle_goes_at_the_next_free)
{
    fixture f = set_up(usual);
    sc_address address;
    const sc_phase_change *change = &f.changes[1];
    sc_buffer *buffer;

    reach_fixed(&f);
    step(&f, 4 * MIB, 4, NULL);
    ck_assert_uint_eq(totals_of(&f).idle, 16 * MIB);
    ck_assert_int_eq(ask(&f, (sc_request){.context = 1, .bytes = 6 * MIB, .site = 9}, &address),
                     SC_ALLOCATE);
    ck_assert_uint_eq(f.change_count, 2);
    ck_assert_int_eq(change->to, SC_PHASE_FALLBACK);
    ck_assert_int_eq(change->reason, SC_REASON_NEW_SHAPE);
    ck_assert_uint_eq(change->idle_released, 16 * MIB);
    ck_assert_uint_eq(change->set_size, 2);
    ck_assert_uint_eq(sc_cache_tally(f.cache)->bypassed, 1); /* that very request */
    /* nothing is served, though idle buffers are still there */
    ck_assert_int_eq(
        sc_cache_request(f.cache, (sc_request){.context = 1, .bytes = 4 * MIB}, &buffer),
        SC_ALLOCATE);
    sc_cache_failed(f.cache, buffer);
    ck_assert_int_eq(put(&f, address), SC_FREE_RELEASE);
    ck_assert_uint_eq(totals_of(&f).idle, 0);
    ck_assert_uint_eq(totals_of(&f).fallbacks, 1);
    tear_down(&f);
}
END_TEST

START_TEST(it_caches_again_after_rearm_quiet_steps)
{
    fixture f = set_up(usual);

    reach_fixed(&f);
    (void)put(&f, get(&f, 6 * MIB));
    sc_cache_step_end(f.cache);
    for (int i = 0; i < REARM; i++) {
        ck_assert_int_eq(totals_of(&f).phase, SC_PHASE_FALLBACK);
        step(&f, 4 * MIB, 4, NULL);
        ck_assert_uint_eq(totals_of(&f).idle, 0);
    }
    ck_assert_int_eq(totals_of(&f).phase, SC_PHASE_FIXED);
    ck_assert_int_eq(f.changes[2].reason, SC_REASON_REARM);
    tear_down(&f);
}
END_TEST

START_TEST(requests_below_small_are_served_but_never_change_the_phase)
{
    fixture f = set_up(usual);
    sc_address address;

    begin(&f);
    for (uint64_t i = 0; i <= WARMUP; i++) {
        (void)put(&f, get(&f, 512 + i)); /* a new one each step */
        step(&f, 4 * MIB, 1, NULL);
    }
    ck_assert_int_eq(totals_of(&f).phase, SC_PHASE_FIXED);
    address = get(&f, 5000);
    ck_assert_int_eq(totals_of(&f).phase, SC_PHASE_FIXED);
    ck_assert_uint_eq(sc_cache_tally(f.cache)->misses, 1);
    ck_assert_int_eq(put(&f, address), SC_FREE_PARK);
    ck_assert_uint_eq(get(&f, 5000), address);
    ck_assert_uint_eq(f.changes[0].set_size, 1);
    tear_down(&f);
}
END_TEST

START_TEST(a_known_shape_whose_buffers_have_gone_is_a_miss_not_a_new_shape)
{
    fixture f = set_up(usual);
    sc_address address;

    reach_fixed(&f);
    give_back(&f, SC_TAKE_ALL);
    for (int i = 0; i < 50; i++)
        sc_cache_step_end(f.cache);
    ck_assert_int_eq(ask(&f, (sc_request){.context = 1, .bytes = 4 * MIB}, &address), SC_ALLOCATE);
    ck_assert_uint_eq(sc_cache_tally(f.cache)->misses, 1);
    ck_assert_int_eq(totals_of(&f).phase, SC_PHASE_FIXED);
    tear_down(&f);
}
END_TEST

START_TEST(a_second_free_is_caught_while_parking_and_while_idle)
{
    fixture f = set_up(usual);
    sc_address address;
    sc_buffer *buffer, *second;

    reach_fixed(&f);
    address = get(&f, 4 * MIB);
    ck_assert_int_eq(sc_cache_free(f.cache, address, false, &buffer), SC_FREE_PARK);
    ck_assert_int_eq(sc_cache_free(f.cache, address, false, &second), SC_FREE_TWICE);
    ck_assert_ptr_null(second);
    ck_assert(sc_cache_park(f.cache, buffer, f.now));
    ck_assert_int_eq(sc_cache_free(f.cache, address, true, &second), SC_FREE_TWICE);
    ck_assert_int_eq(sc_cache_free(f.cache, address + 512, false, &second), SC_FREE_UNKNOWN);
    tear_down(&f);
}
END_TEST

START_TEST(what_is_being_parked_is_not_handed_out)
{
    fixture f = set_up(usual);
    sc_address address, other;
    sc_buffer *buffer;

    reach_fixed(&f);
    address = get(&f, 4 * MIB);
    ck_assert_int_eq(sc_cache_free(f.cache, address, false, &buffer), SC_FREE_PARK);
    ck_assert_int_eq(ask(&f, (sc_request){.context = 1, .bytes = 4 * MIB}, &other), SC_ALLOCATE);
    ck_assert_uint_ne(other, address);
    ck_assert(sc_cache_park(f.cache, buffer, f.now));
    ck_assert_uint_eq(get(&f, 4 * MIB), address);
    tear_down(&f);
}
END_TEST

START_TEST(a_phase_change_during_the_wait_makes_the_free_a_real_one)
{
    fixture f = set_up(usual);
    sc_address address;
    sc_buffer *buffer;

    reach_fixed(&f);
    address = get(&f, 4 * MIB);
    ck_assert_int_eq(sc_cache_free(f.cache, address, false, &buffer), SC_FREE_PARK);
    (void)get(&f, 6 * MIB);
    ck_assert(!sc_cache_park(f.cache, buffer, f.now));
    ck_assert_int_eq(put(&f, address), SC_FREE_UNKNOWN);
    tear_down(&f);
}
END_TEST

START_TEST(a_failed_wait_forgets_the_buffer_before_its_real_free)
{
    fixture f = set_up(usual);
    sc_address address;
    sc_buffer *buffer;
    uint64_t live;

    reach_fixed(&f);
    live = totals_of(&f).live_bytes;
    address = get(&f, 4 * MIB);
    ck_assert_int_eq(sc_cache_free(f.cache, address, false, &buffer), SC_FREE_PARK);
    ck_assert(sc_cache_unpark(f.cache, buffer));
    ck_assert_int_eq(put(&f, address), SC_FREE_UNKNOWN);
    ck_assert_uint_eq(totals_of(&f).live_bytes, live);
    tear_down(&f);
}
END_TEST

START_TEST(a_failed_allocation_leaves_no_trace_but_the_request)
{
    fixture f = set_up(usual);
    sc_cache_totals before, after;
    sc_buffer *buffer;

    reach_fixed(&f);
    before = totals_of(&f);
    ck_assert_int_eq(
        sc_cache_request(f.cache, (sc_request){.context = 1, .bytes = 4 * MIB}, &buffer),
        SC_ALLOCATE);
    sc_cache_failed(f.cache, buffer);
    after = totals_of(&f);
    ck_assert_uint_eq(after.live, before.live);
    ck_assert_uint_eq(after.live_bytes, before.live_bytes);
    ck_assert_uint_eq(after.all.live_peak, before.all.live_peak);
    ck_assert_uint_eq(after.all.driver_allocs, before.all.driver_allocs);
    ck_assert_uint_eq(after.all.requests, before.all.requests + 1);
    tear_down(&f);
}
END_TEST

START_TEST(an_address_we_hold_already_is_a_proof_that_somebody_frees_behind_our_back)
{
    fixture f = set_up(usual);
    sc_address address;
    sc_buffer *buffer;

    reach_fixed(&f);
    address = get(&f, 4 * MIB);
    ck_assert_int_eq(
        sc_cache_request(f.cache, (sc_request){.context = 1, .bytes = 4 * MIB}, &buffer),
        SC_ALLOCATE);
    ck_assert(!sc_cache_allocated(f.cache, buffer, address, 0));
    sc_cache_check(f.cache);
    ck_assert_uint_eq(totals_of(&f).live, 4 * MIB);
    ck_assert_int_eq(put(&f, address), SC_FREE_PARK);
    tear_down(&f);
}
END_TEST

START_TEST(memory_that_went_by_another_door_while_it_was_being_parked_is_not_freed_again)
{
    fixture f = set_up(usual);
    sc_address address;
    sc_buffer *buffer;

    for (int is_failed = 0; is_failed < 2; is_failed++) {
        f = set_up(usual);
        reach_fixed(&f);
        address = get(&f, 4 * MIB);
        ck_assert_int_eq(sc_cache_free(f.cache, address, false, &buffer), SC_FREE_PARK);
        sc_cache_forget(f.cache, address);
        ck_assert_int_eq(put(&f, address), SC_FREE_UNKNOWN);
        if (is_failed)
            ck_assert(!sc_cache_unpark(f.cache, buffer));
        else
            ck_assert(sc_cache_park(f.cache, buffer, f.now));
        ck_assert_uint_eq(totals_of(&f).idle, 0);
        ck_assert_uint_ne(get(&f, 4 * MIB), address);
        tear_down(&f);
    }
}
END_TEST

START_TEST(a_context_that_ends_takes_its_buffers_in_every_state)
{
    fixture f = set_up(usual);
    sc_address live, kept;
    sc_buffer *reserved, *parking;

    reach_fixed(&f);
    step(&f, 4 * MIB, 4, NULL); /* three stay idle */
    live = get(&f, 4 * MIB);
    ck_assert_int_eq(sc_cache_free(f.cache, get(&f, 4 * MIB), false, &parking), SC_FREE_PARK);
    (void)ask(&f, (sc_request){.context = 2, .bytes = 4096}, &kept);
    ck_assert_int_eq(
        sc_cache_request(f.cache, (sc_request){.context = 1, .bytes = 4096}, &reserved),
        SC_ALLOCATE);
    sc_cache_forget_context(f.cache, 1);
    sc_cache_check(f.cache);
    ck_assert_uint_eq(totals_of(&f).live_bytes, 4096);
    ck_assert_uint_eq(totals_of(&f).idle, 0);
    ck_assert(sc_cache_allocated(f.cache, reserved, f.next += MIB, 0));
    ck_assert(sc_cache_park(f.cache, parking, f.now));
    ck_assert_int_eq(put(&f, f.next), SC_FREE_UNKNOWN);
    ck_assert_int_eq(put(&f, live), SC_FREE_UNKNOWN);
    ck_assert_int_eq(put(&f, kept), SC_FREE_PARK);
    tear_down(&f);
}
END_TEST

START_TEST(exported_memory_is_never_handed_out_again)
{
    fixture f = set_up(usual);
    sc_address address;
    sc_buffer *buffer;

    reach_fixed(&f);
    address = get(&f, 4 * MIB); /* exported while live */
    sc_cache_export(f.cache, address);
    ck_assert_int_eq(put(&f, address), SC_FREE_RELEASE);

    address = get(&f, 4 * MIB); /* while it is being parked */
    ck_assert_int_eq(sc_cache_free(f.cache, address, false, &buffer), SC_FREE_PARK);
    sc_cache_export(f.cache, address);
    ck_assert(!sc_cache_park(f.cache, buffer, f.now));

    address = get(&f, 4 * MIB); /* when it is idle already */
    ck_assert_int_eq(put(&f, address), SC_FREE_PARK);
    sc_cache_export(f.cache, address);
    sc_cache_check(f.cache);
    ck_assert_uint_ne(get(&f, 4 * MIB), address);
    ck_assert(sc_cache_wants(f.cache, SC_TAKE_DUE));
    give_back(&f, SC_TAKE_DUE);
    ck_assert_int_eq(put(&f, address), SC_FREE_UNKNOWN);
    ck_assert_int_eq(totals_of(&f).phase, SC_PHASE_FIXED);
    tear_down(&f);
}
END_TEST

START_TEST(while_a_capture_is_open_both_ways_pass)
{
    fixture f = set_up(usual);
    sc_address address, passed;
    sc_buffer *buffer;

    reach_fixed(&f);
    address = get(&f, 4 * MIB);
    ck_assert_int_eq(put(&f, address), SC_FREE_PARK);
    ck_assert_int_eq(
        ask(&f, (sc_request){.context = 1, .bytes = 4 * MIB, .is_passing = true}, &passed),
        SC_ALLOCATE);
    ck_assert_uint_eq(sc_cache_tally(f.cache)->bypassed, 1);
    ck_assert_int_eq(sc_cache_free(f.cache, passed, true, &buffer), SC_FREE_RELEASE);
    ck_assert_uint_eq(get(&f, 4 * MIB), address);
    tear_down(&f);
}
END_TEST

START_TEST(an_out_of_memory_with_idle_buffers_falls_back_and_says_that_a_retry_makes_sense)
{
    fixture f = set_up(usual);

    reach_fixed(&f);
    ck_assert(!sc_cache_out_of_memory(f.cache)); /* nothing is idle: the phase stays */
    ck_assert_int_eq(totals_of(&f).phase, SC_PHASE_FIXED);
    step(&f, 4 * MIB, 4, NULL);
    ck_assert(sc_cache_out_of_memory(f.cache));
    ck_assert_int_eq(totals_of(&f).phase, SC_PHASE_FALLBACK);
    ck_assert_int_eq(f.changes[1].reason, SC_REASON_OOM);
    give_back(&f, SC_TAKE_ALL);
    ck_assert_uint_eq(totals_of(&f).idle, 0);
    ck_assert(!sc_cache_out_of_memory(f.cache));
    ck_assert_uint_eq(totals_of(&f).ooms, 3);
    ck_assert_uint_eq(totals_of(&f).all.evicted, 0);
    tear_down(&f);
}
END_TEST

START_TEST(closing_is_final_and_drains)
{
    fixture f = set_up(usual);

    reach_fixed(&f);
    step(&f, 4 * MIB, 4, NULL);
    sc_cache_close(f.cache, SC_REASON_STICKY_ERROR);
    sc_cache_close(f.cache, SC_REASON_USER);
    ck_assert_uint_eq(f.change_count, 2);
    ck_assert_int_eq(f.changes[1].reason, SC_REASON_STICKY_ERROR);
    ck_assert_int_eq(put(&f, get(&f, 4 * MIB)), SC_FREE_RELEASE);
    ck_assert_uint_eq(totals_of(&f).idle, 0);
    for (int i = 0; i < 100; i++)
        step(&f, 4 * MIB, 4, NULL);
    ck_assert_int_eq(totals_of(&f).phase, SC_PHASE_OFF);
    tear_down(&f);
}
END_TEST

START_TEST(observing_runs_the_gate_and_keeps_nothing)
{
    sc_cache_rules rules = usual;
    fixture f;

    rules.is_observing = true;
    f = set_up(rules);
    reach_fixed(&f);
    for (int i = 0; i < 5; i++) {
        step(&f, 4 * MIB, 4, NULL);
        ck_assert_uint_eq(totals_of(&f).idle, 0);
    }
    ck_assert_uint_eq(totals_of(&f).all.bypassed, totals_of(&f).all.requests);
    ck_assert_uint_eq(f.frees, f.driver_allocs);
    (void)get(&f, 6 * MIB);
    ck_assert_int_eq(totals_of(&f).phase, SC_PHASE_FALLBACK);
    tear_down(&f);
}
END_TEST

START_TEST(without_the_gate_every_shape_is_kept_from_the_first_request_on)
{
    sc_cache_rules rules = usual;
    fixture f;

    rules.gate.is_gated = false;
    f = set_up(rules);
    begin(&f);
    ck_assert_uint_eq(f.change_count, 1);
    ck_assert_int_eq(f.changes[0].to, SC_PHASE_FIXED);
    ck_assert_int_eq(f.changes[0].reason, SC_REASON_USER);
    for (uint64_t i = 1; i <= 50; i++)
        step(&f, 2 * i * MIB, 2, NULL);
    ck_assert_uint_eq(totals_of(&f).idle, 50 * 51 * 2 * MIB);
    ck_assert(!sc_cache_out_of_memory(f.cache));
    ck_assert_int_eq(totals_of(&f).phase, SC_PHASE_FIXED);
    ck_assert_uint_eq(f.frees, 0);
    tear_down(&f);
}
END_TEST

/* Each step uses one of ten lengths beside what is always there: every shape is known, and all of
 * them together far exceed the cap. */
static void wide_steps(fixture *f, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        sc_address wide = get(f, 6 * MIB - i * 7 % 10);

        step(f, 4 * MIB, 10, NULL);
        (void)put(f, wide);
    }
}

START_TEST(a_set_wider_than_the_cap_is_kept_within_it_by_evictions_at_frees_alone)
{
    fixture f = set_up(usual);
    uint64_t inside;

    begin(&f);
    wide_steps(&f, 20);
    ck_assert_int_eq(totals_of(&f).phase, SC_PHASE_FIXED);
    inside = f.frees_in_allocations;
    wide_steps(&f, 60);
    ck_assert_uint_gt(totals_of(&f).all.evicted, 0);
    ck_assert_uint_gt(totals_of(&f).all.hits, 0);
    ck_assert_uint_gt(totals_of(&f).idle, 0);
    ck_assert_uint_eq(f.frees_in_allocations, inside);
    tear_down(&f);
}
END_TEST

/* One step that holds a buffer of each of these sizes at once; 0 ends them. */
static void hold_all(fixture *f, const uint64_t *bytes)
{
    sc_address addresses[8];
    unsigned count = 0;

    for (; bytes[count] != 0; count++)
        addresses[count] = get(f, bytes[count]);
    while (count > 0)
        (void)put(f, addresses[--count]);
    sc_cache_step_end(f->cache);
}

START_TEST(a_set_that_fits_is_served_whole_though_its_largest_would_not_fit_once_more)
{
    static const uint64_t sets[][5] = {{MIB},
                                       {MIB, 2 * MIB},
                                       {3 * MIB, 3 * MIB, 5 * MIB, 100000},
                                       {5 * MIB, 7 * MIB, 9 * MIB, 9 * MIB}};

    for (unsigned s = 0; s < sizeof sets / sizeof sets[0]; s++) {
        fixture f = set_up(usual);
        uint64_t before;

        begin(&f);
        for (unsigned i = 0; i < WARMUP + 4; i++)
            hold_all(&f, sets[s]);
        ck_assert_int_eq(totals_of(&f).phase, SC_PHASE_FIXED);
        before = f.driver_allocs;
        for (unsigned i = 0; i < 20; i++)
            hold_all(&f, sets[s]);
        ck_assert_uint_eq(f.driver_allocs, before);
        tear_down(&f);
    }
}
END_TEST

START_TEST(headroom_for_a_small_buffer_is_not_a_whole_page)
{
    fixture f = set_up(usual);
    sc_cache_totals before = {0}, after;

    f.rules.gate.warmup = 1;
    begin(&f);
    for (unsigned i = 0; i < 40; i++) {
        before = i == 20 ? totals_of(&f) : before;
        /* more than one page holds, asked for one by one: the cap is a page and a quarter */
        for (uint64_t bytes = 65536; bytes < 65536 + 40 * 512; bytes += 512)
            (void)put(&f, get(&f, bytes));
        sc_cache_step_end(f.cache);
    }
    after = totals_of(&f);
    ck_assert_int_eq(after.phase, SC_PHASE_FIXED);
    ck_assert_uint_gt(4 * (after.all.hits - before.all.hits),
                      after.all.requests - before.all.requests);
    tear_down(&f);
}
END_TEST

START_TEST(when_the_peaks_window_shrinks_the_next_free_gives_back_what_is_above)
{
    fixture f = set_up(usual);
    sc_address last;

    reach_fixed(&f);
    step(&f, 4 * MIB, 4, NULL);
    ck_assert_uint_eq(totals_of(&f).idle, 16 * MIB);
    last = get(&f, 512);
    for (uint64_t i = 2; i < usual.max_age; i++) {
        sc_cache_step_end(f.cache);
        check_cap(&f);
    }
    ck_assert_uint_eq(totals_of(&f).idle, 16 * MIB);
    sc_cache_step_end(f.cache); /* such an end, found inside a request, frees nothing */
    ck_assert_uint_eq(totals_of(&f).idle, 16 * MIB);
    (void)put(&f, last);
    ck_assert_uint_le(totals_of(&f).idle, 2 * MIB);
    tear_down(&f);
}
END_TEST

START_TEST(live_memory_above_the_limit_leaves_no_room_to_cache)
{
    sc_cache_rules rules = usual;
    fixture f;

    rules.limit = 6 * MIB;
    f = set_up(rules);
    reach_fixed(&f);
    for (int i = 0; i < 5; i++)
        step(&f, 4 * MIB, 4, NULL);
    ck_assert_uint_le(totals_of(&f).idle, 6 * MIB);
    ck_assert_uint_gt(totals_of(&f).all.evicted, 0);
    tear_down(&f);
}
END_TEST

START_TEST(a_steps_row_comes_before_the_phase_row_it_brings)
{
    fixture f = set_up(usual);

    reach_fixed(&f);
    ck_assert_uint_eq(f.rows_at_change[0], WARMUP + 1);
    ck_assert_int_eq(f.rows[WARMUP].phase, SC_PHASE_WARMUP);
    ck_assert_uint_eq(f.rows[WARMUP].step, WARMUP);
    ck_assert_int_eq(f.rows[WARMUP].ended_by, SC_STEP_END_API);
    ck_assert_uint_eq(f.changes[0].step, WARMUP + 1);
    ck_assert_uint_eq(f.rows[0].tally.requests, 4);
    ck_assert_uint_eq(f.rows[0].tally.live_peak, 16 * MIB);
    ck_assert_uint_eq(totals_of(&f).steps_in[SC_PHASE_WARMUP], WARMUP + 1);
    tear_down(&f);
}
END_TEST

START_TEST(step_ends_are_inferred_until_the_program_names_one)
{
    sc_cache_rules rules = usual;
    fixture f;
    uint64_t inferred;

    rules.step_source = SC_STEPS_INFERRED;
    f = set_up(rules);
    begin(&f);
    for (int named = 0; named < 2; named++) {
        for (int i = 0; i < 50; i++) {
            sc_address addresses[8];

            for (uint64_t j = 0; j < 8; j++)
                addresses[j] = get(&f, (4 + 2 * j) * MIB);
            for (int j = 8; j-- > 0;)
                (void)put(&f, addresses[j]);
        }
        if (named == 0) {
            inferred = totals_of(&f).step;
            ck_assert_uint_gt(inferred, 30);
            ck_assert_int_eq(f.rows[10].ended_by, SC_STEP_END_LIVE);
            sc_cache_step_end(f.cache);
        }
    }
    ck_assert_uint_eq(totals_of(&f).step, inferred + 1);
    ck_assert_int_eq(f.rows[inferred].ended_by, SC_STEP_END_API);
    tear_down(&f);
}
END_TEST

START_TEST(every_so_many_requests_are_a_step_whatever_else_arrives)
{
    sc_cache_rules rules = usual;
    fixture f;

    rules.step_source = SC_STEPS_COUNTED;
    rules.step_requests = 5;
    f = set_up(rules);
    begin(&f);
    for (unsigned i = 1; i <= 60; i++) {
        (void)put(&f, get(&f, 4 * MIB));
        sc_cache_step_end(f.cache); /* the setting wins */
        ck_assert_uint_eq(totals_of(&f).step, (i - 1) / 5);
    }
    for (unsigned i = 0; i < f.row_count; i++) {
        ck_assert_uint_eq(f.rows[i].tally.requests, 5);
        ck_assert_int_eq(f.rows[i].ended_by, SC_STEP_END_REQUESTS);
    }
    ck_assert_int_eq(totals_of(&f).phase, SC_PHASE_FIXED);
    tear_down(&f);
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
    fixture f = set_up(usual);
    walk all = {0}, changed = {0}, again = {0}, one = {0};

    reach_fixed(&f);
    step(&f, 4 * MIB, 4, NULL);
    step(&f, 4 * MIB, 4, NULL);
    (void)get(&f, 512);
    sc_cache_each_shape(f.cache, false, visit, &all);
    ck_assert_uint_eq(all.count, 2);
    sc_cache_each_shape(f.cache, true, visit, &changed);
    ck_assert_uint_eq(changed.count, 0);
    (void)get(&f, 4 * MIB);
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
    tear_down(&f);
}
END_TEST

START_TEST(what_is_on_its_way_back_still_counts_as_held)
{
    fixture f = set_up(usual);
    sc_victims victims;

    reach_fixed(&f);
    step(&f, 4 * MIB, 4, NULL);
    sc_cache_take(f.cache, SC_TAKE_ALL, &victims);
    ck_assert_uint_eq(victims.count, 4);
    ck_assert_uint_eq(victims.bytes, 16 * MIB);
    ck_assert_uint_eq(totals_of(&f).idle, 16 * MIB);
    ck_assert_int_eq(put(&f, victims.address[0]), SC_FREE_UNKNOWN);
    sc_cache_gone(f.cache, &victims);
    ck_assert_uint_eq(totals_of(&f).idle, 0);
    tear_down(&f);
}
END_TEST

START_TEST(known_shapes_are_bounded_and_the_forgotten_counted)
{
    sc_cache_rules rules = usual;
    fixture f;

    rules.gate.max_shapes = 1;
    f = set_up(rules);
    begin(&f);
    for (uint64_t i = 0; i < 1000; i++)
        (void)put(&f, get(&f, MIB + i));
    ck_assert_uint_eq(totals_of(&f).shapes, 64);
    ck_assert_uint_eq(totals_of(&f).shapes_forgotten, 1000 - 64);
    tear_down(&f);
}
END_TEST

START_TEST(two_places_that_ask_for_the_same_size_share_nothing_when_the_site_is_part_of_the_key)
{
    sc_cache_rules rules = usual;
    sc_address first, second, again;
    fixture f;

    rules.is_keyed_by_site = true;
    rules.overhead_percent = 200;
    f = set_up(rules);
    begin(&f);
    for (int i = 0; i <= WARMUP; i++) {
        (void)ask(&f, (sc_request){.context = 1, .bytes = 4 * MIB, .site = 5}, &first);
        (void)put(&f, first);
        (void)ask(&f, (sc_request){.context = 1, .bytes = 4 * MIB, .site = 6}, &second);
        (void)put(&f, second);
        sc_cache_step_end(f.cache);
    }
    ck_assert_int_eq(totals_of(&f).phase, SC_PHASE_FIXED);
    ck_assert_uint_eq(totals_of(&f).shapes, 2);
    (void)ask(&f, (sc_request){.context = 1, .bytes = 4 * MIB, .site = 5}, &first);
    (void)put(&f, first);
    ck_assert_int_eq(ask(&f, (sc_request){.context = 1, .bytes = 4 * MIB, .site = 6}, &second),
                     SC_ALLOCATE);
    ck_assert_uint_ne(second, first);
    (void)put(&f, second);
    ck_assert_int_eq(ask(&f, (sc_request){.context = 1, .bytes = 4 * MIB, .site = 5}, &again),
                     SC_HIT);
    ck_assert_uint_eq(again, first);
    ck_assert_int_eq(totals_of(&f).phase, SC_PHASE_FIXED);
    (void)ask(&f, (sc_request){.context = 1, .bytes = 4 * MIB, .site = 7}, &again);
    ck_assert_int_eq(totals_of(&f).phase, SC_PHASE_FALLBACK);
    tear_down(&f);
}
END_TEST

/* --- a gate per call site --- */

enum { STEADY = 5, MOODY = 6 };

static sc_cache_rules scoped_rules(void)
{
    sc_cache_rules rules = usual;

    rules.is_keyed_by_site = true;
    rules.is_scoped_by_site = true;
    rules.overhead_percent = 200;
    return rules;
}

static sc_answer ask_at(fixture *f, uint32_t site, uint64_t bytes, sc_address *address)
{
    return ask(f, (sc_request){.context = 1, .bytes = bytes, .site = site}, address);
}

/* 4 MiB at one site, `moody` bytes at the other. */
static void scoped_step(fixture *f, uint64_t moody)
{
    sc_address one, other;

    (void)ask_at(f, STEADY, 4 * MIB, &one);
    (void)ask_at(f, MOODY, moody, &other);
    (void)put(f, other);
    (void)put(f, one);
    sc_cache_step_end(f->cache);
}

static void reach_fixed_at_both(fixture *f)
{
    begin(f);
    for (int i = 0; i <= WARMUP; i++)
        scoped_step(f, 6 * MIB);
    ck_assert_uint_eq(totals_of(f).scopes.fixed, 2);
    scoped_step(f, 6 * MIB); /* parks */
    ck_assert_uint_eq(totals_of(f).idle, 10 * MIB);
}

START_TEST(a_new_shape_at_one_site_stops_that_one_alone)
{
    fixture f = set_up(scoped_rules());
    sc_address one, other;

    reach_fixed_at_both(&f);
    ck_assert_int_eq(ask_at(&f, MOODY, 7 * MIB, &other), SC_ALLOCATE);
    ck_assert_int_eq(totals_of(&f).phase, SC_PHASE_FIXED);
    ck_assert_uint_eq(totals_of(&f).scopes.all, 2);
    ck_assert_uint_eq(totals_of(&f).scopes.fixed, 1);
    ck_assert_uint_eq(totals_of(&f).idle, 10 * MIB); /* inside an allocation nothing goes back */
    const sc_phase_change *change = &f.changes[f.change_count - 1];

    ck_assert(change->is_of_scope);
    ck_assert_uint_eq(change->scope, MOODY);
    ck_assert_int_eq(change->reason, SC_REASON_NEW_SHAPE);
    ck_assert_uint_eq(change->idle_released, 6 * MIB);
    ck_assert_int_eq(ask_at(&f, STEADY, 4 * MIB, &one), SC_HIT);
    ck_assert_int_eq(put(&f, one), SC_FREE_PARK); /* and the other's idle memory goes back here */
    ck_assert_uint_eq(totals_of(&f).idle, 4 * MIB);
    ck_assert_int_eq(put(&f, other), SC_FREE_RELEASE);
    ck_assert_int_eq(ask_at(&f, MOODY, 6 * MIB, &other), SC_ALLOCATE);
    ck_assert_int_eq(put(&f, other), SC_FREE_RELEASE);
    ck_assert_int_eq(ask_at(&f, STEADY, 4 * MIB, &one), SC_HIT);
    ck_assert_uint_eq(totals_of(&f).fallbacks, 1);
    tear_down(&f);
}
END_TEST

START_TEST(what_fell_back_is_not_served_though_it_has_not_gone_back_yet)
{
    fixture f = set_up(scoped_rules());
    sc_address first, second;

    reach_fixed_at_both(&f);
    (void)ask_at(&f, MOODY, 7 * MIB, &first);
    ck_assert_int_eq(ask_at(&f, MOODY, 6 * MIB, &second), SC_ALLOCATE);
    ck_assert_uint_eq(totals_of(&f).idle, 10 * MIB);
    tear_down(&f);
}
END_TEST

START_TEST(each_site_comes_back_when_its_own_shapes_are_quiet)
{
    fixture f = set_up(scoped_rules());

    reach_fixed_at_both(&f);
    scoped_step(&f, 7 * MIB);
    for (int i = 0; i < REARM - 1; i++) {
        scoped_step(&f, 7 * MIB);
        ck_assert_uint_eq(totals_of(&f).scopes.fixed, 1);
    }
    scoped_step(&f, 7 * MIB);
    ck_assert_uint_eq(totals_of(&f).scopes.fixed, 2);
    ck_assert_int_eq(f.changes[f.change_count - 1].reason, SC_REASON_REARM);
    tear_down(&f);
}
END_TEST

START_TEST(a_new_site_warms_up_alone_and_trips_nothing)
{
    fixture f = set_up(scoped_rules());
    sc_address address;

    reach_fixed_at_both(&f);
    for (int i = 0; i <= WARMUP; i++) {
        ck_assert_int_eq(ask_at(&f, 7, MIB, &address), SC_ALLOCATE);
        ck_assert_int_eq(put(&f, address), SC_FREE_RELEASE);
        scoped_step(&f, 6 * MIB);
        ck_assert_uint_eq(totals_of(&f).fallbacks, 0);
    }
    ck_assert_uint_eq(totals_of(&f).scopes.all, 3);
    ck_assert_uint_eq(totals_of(&f).scopes.fixed, 3);
    tear_down(&f);
}
END_TEST

START_TEST(a_site_that_is_silent_learns_nothing_from_others_steps)
{
    fixture f = set_up(scoped_rules());
    sc_address address;

    begin(&f);
    (void)ask_at(&f, 7, MIB, &address);
    for (int i = 0; i <= WARMUP; i++)
        scoped_step(&f, 6 * MIB);
    ck_assert_uint_eq(totals_of(&f).scopes.all, 3);
    ck_assert_uint_eq(totals_of(&f).scopes.fixed, 2);
    tear_down(&f);
}
END_TEST

START_TEST(the_device_is_in_the_best_phase_of_its_sites)
{
    fixture f = set_up(scoped_rules());
    sc_address address;
    unsigned of_device = 0;

    reach_fixed_at_both(&f);
    (void)ask_at(&f, MOODY, 7 * MIB, &address);
    ck_assert_int_eq(totals_of(&f).phase, SC_PHASE_FIXED);
    (void)ask_at(&f, STEADY, 7 * MIB, &address);
    ck_assert_int_eq(totals_of(&f).phase, SC_PHASE_FALLBACK);
    for (unsigned i = 0; i < f.change_count; i++)
        of_device += !f.changes[i].is_of_scope;
    ck_assert_uint_eq(of_device, 2);
    ck_assert(!f.changes[f.change_count - 1].is_of_scope); /* after the site's own */
    ck_assert_int_eq(f.changes[f.change_count - 1].to, SC_PHASE_FALLBACK);
    tear_down(&f);
}
END_TEST

START_TEST(an_out_of_memory_stops_every_site_in_one_word)
{
    fixture f = set_up(scoped_rules());
    unsigned changes;

    reach_fixed_at_both(&f);
    changes = f.change_count;
    ck_assert(sc_cache_out_of_memory(f.cache));
    ck_assert_uint_eq(f.change_count, changes + 1);
    ck_assert(!f.changes[changes].is_of_scope);
    ck_assert_int_eq(f.changes[changes].reason, SC_REASON_OOM);
    ck_assert_uint_eq(f.changes[changes].idle_released, 10 * MIB);
    ck_assert_uint_eq(totals_of(&f).scopes.fixed, 0);
    ck_assert_uint_eq(totals_of(&f).fallbacks, 1);
    tear_down(&f);
}
END_TEST

START_TEST(closing_closes_every_site_and_those_to_come)
{
    fixture f = set_up(scoped_rules());
    sc_address address;

    reach_fixed_at_both(&f);
    sc_cache_close(f.cache, SC_REASON_USER);
    ck_assert_int_eq(totals_of(&f).phase, SC_PHASE_OFF);
    for (int i = 0; i < 3 * WARMUP; i++) {
        ck_assert_int_eq(ask_at(&f, 7, MIB, &address), SC_ALLOCATE);
        ck_assert_int_eq(put(&f, address), SC_FREE_RELEASE);
        scoped_step(&f, 6 * MIB);
    }
    ck_assert_int_eq(totals_of(&f).phase, SC_PHASE_OFF);
    ck_assert_uint_eq(totals_of(&f).idle, 0);
    tear_down(&f);
}
END_TEST

START_TEST(what_comes_from_an_unknown_place_shares_one_gate)
{
    fixture f = set_up(scoped_rules());
    sc_address address;

    begin(&f);
    for (int i = 0; i <= WARMUP; i++) {
        (void)ask_at(&f, 0, 4 * MIB, &address);
        (void)put(&f, address);
        sc_cache_step_end(f.cache);
    }
    ck_assert_uint_eq(totals_of(&f).scopes.all, 1);
    ck_assert_uint_eq(totals_of(&f).scopes.fixed, 1);
    ck_assert_int_eq(totals_of(&f).phase, SC_PHASE_FIXED);
    tear_down(&f);
}
END_TEST

START_TEST(too_wide_a_set_at_one_site_stops_that_one_alone)
{
    sc_cache_rules rules = scoped_rules();
    sc_address address;
    fixture f;

    rules.gate.max_shapes = 3;
    f = set_up(rules);
    begin(&f);
    for (int i = 0; i < 8; i++) {
        for (uint64_t j = 0; j < 4; j++) {
            (void)ask_at(&f, MOODY, (4 + 2 * j) * MIB, &address);
            (void)put(&f, address);
        }
        (void)ask_at(&f, STEADY, 4 * MIB, &address);
        (void)put(&f, address);
        sc_cache_step_end(f.cache);
    }
    ck_assert_uint_eq(totals_of(&f).scopes.all, 2);
    ck_assert_uint_eq(totals_of(&f).scopes.fixed, 1);
    tear_down(&f);
}
END_TEST

/* Time passes, at a place where the program would wait. */
static void wait_for(fixture *f, uint64_t ns)
{
    f->now += ns;
    sc_cache_tick(f->cache, f->now);
    give_back(f, SC_TAKE_DUE);
    check_cap(f);
}

START_TEST(what_was_idle_for_too_long_goes_back_and_nothing_else_does)
{
    sc_cache_rules rules = usual;
    sc_address kept;
    fixture f;

    rules.max_idle = 1600;
    f = set_up(rules);
    reach_fixed(&f);
    step(&f, 4 * MIB, 4, NULL);
    wait_for(&f, 1599);
    ck_assert_uint_eq(totals_of(&f).idle, 16 * MIB);
    kept = get(&f, 4 * MIB);
    (void)put(&f, kept); /* unused from now on */
    wait_for(&f, 101);   /* a sixteenth of the time may pass before the cache looks again */
    ck_assert_uint_eq(totals_of(&f).idle, 4 * MIB);
    ck_assert_uint_eq(totals_of(&f).all.expired, 3);
    ck_assert_uint_eq(totals_of(&f).all.evicted, 0);
    ck_assert_uint_eq(get(&f, 4 * MIB), kept);
    wait_for(&f, 10000); /* live memory does not expire */
    ck_assert_uint_eq(totals_of(&f).live, 4 * MIB);
    (void)put(&f, kept);
    wait_for(&f, 1700);
    ck_assert_uint_eq(totals_of(&f).idle, 0);
    ck_assert_uint_eq(totals_of(&f).all.expired, 4);
    ck_assert_int_eq(totals_of(&f).phase, SC_PHASE_FIXED);
    tear_down(&f);
}
END_TEST

START_TEST(what_has_expired_is_not_served_even_before_it_has_gone_back)
{
    sc_cache_rules rules = usual;
    sc_address before[4];
    fixture f;

    rules.max_idle = 1600;
    f = set_up(rules);
    reach_fixed(&f);
    step(&f, 4 * MIB, 4, before);
    sc_cache_tick(f.cache, f.now += 1600);
    ck_assert(sc_cache_wants(f.cache, SC_TAKE_DUE));
    (void)get(&f, 4 * MIB);
    ck_assert_uint_eq(totals_of(&f).all.hits, 0);
    ck_assert_int_eq(put(&f, before[3]), SC_FREE_TWICE); /* ours still */
    ck_assert_uint_eq(totals_of(&f).idle, 0);
    tear_down(&f);
}
END_TEST

START_TEST(a_clock_that_comes_late_and_out_of_order_expires_nothing_young)
{
    sc_cache_rules rules = usual;
    fixture f;

    rules.max_idle = 1600;
    f = set_up(rules);
    f.now = 10000;
    reach_fixed(&f);
    step(&f, 4 * MIB, 4, NULL);
    for (uint64_t late = 0; late < 10000; late += 100) {
        sc_cache_tick(f.cache, late);
        ck_assert(!sc_cache_wants(f.cache, SC_TAKE_DUE));
    }
    wait_for(&f, 1600);
    ck_assert_uint_eq(totals_of(&f).idle, 0);
    tear_down(&f);
}
END_TEST

START_TEST(idle_memory_goes_back_until_the_driver_has_its_reserve)
{
    sc_cache_rules rules = usual;
    fixture f;

    rules.reserve = 100 * MIB;
    f = set_up(rules);
    reach_fixed(&f);
    step(&f, 4 * MIB, 4, NULL);
    ck_assert(sc_cache_minds_driver_free(f.cache));
    sc_cache_driver_free(f.cache, 100 * MIB);
    ck_assert(!sc_cache_wants(f.cache, SC_TAKE_DUE));
    sc_cache_driver_free(f.cache, 93 * MIB); /* 7 short: two buffers */
    ck_assert(!sc_cache_wants(f.cache, SC_TAKE_ROOM));
    wait_for(&f, 0);
    ck_assert_uint_eq(totals_of(&f).idle, 8 * MIB);
    ck_assert_uint_eq(totals_of(&f).all.evicted, 2);
    /* until the driver is asked again no more than that is kept */
    step(&f, 4 * MIB, 4, NULL);
    ck_assert_uint_eq(totals_of(&f).idle, 8 * MIB);
    ck_assert_uint_eq(f.frees_in_allocations, 0);
    sc_cache_driver_free(f.cache, 1000 * MIB);
    step(&f, 4 * MIB, 4, NULL);
    ck_assert_uint_eq(totals_of(&f).idle, 16 * MIB);
    sc_cache_driver_free(f.cache, 0);
    wait_for(&f, 0);
    ck_assert_uint_eq(totals_of(&f).idle, 0);
    ck_assert(!sc_cache_minds_driver_free(f.cache));
    tear_down(&f);
}
END_TEST

START_TEST(the_reserve_never_asks_for_live_memory)
{
    sc_cache_rules rules = usual;
    sc_address address;
    fixture f;

    rules.reserve = 100 * MIB;
    f = set_up(rules);
    reach_fixed(&f);
    address = get(&f, 4 * MIB);
    sc_cache_driver_free(f.cache, 50 * MIB);
    ck_assert(!sc_cache_wants(f.cache, SC_TAKE_DUE));
    ck_assert_int_eq(put(&f, address), SC_FREE_PARK);
    ck_assert_uint_eq(totals_of(&f).idle, 0);
    tear_down(&f);
}
END_TEST

START_TEST(without_the_gate_neither_time_nor_reserve_takes_anything)
{
    sc_cache_rules rules = usual;
    fixture f;

    rules.reserve = 100 * MIB;
    rules.max_idle = 1600;
    rules.gate.is_gated = false;
    f = set_up(rules);
    begin(&f);
    step(&f, 4 * MIB, 4, NULL);
    sc_cache_driver_free(f.cache, 0);
    wait_for(&f, 100000);
    ck_assert_uint_eq(totals_of(&f).idle, 16 * MIB);
    ck_assert(!sc_cache_minds_driver_free(f.cache));
    tear_down(&f);
}
END_TEST

SC_SUITE(
    "cache", in_warmup_each_request_and_each_free_goes_to_the_driver,
    in_fixed_the_next_step_gets_the_pointers_of_this_one,
    the_first_new_shape_stops_serving_and_everything_idle_goes_at_the_next_free,
    it_caches_again_after_rearm_quiet_steps,
    requests_below_small_are_served_but_never_change_the_phase,
    a_known_shape_whose_buffers_have_gone_is_a_miss_not_a_new_shape,
    a_second_free_is_caught_while_parking_and_while_idle, what_is_being_parked_is_not_handed_out,
    a_phase_change_during_the_wait_makes_the_free_a_real_one,
    a_failed_wait_forgets_the_buffer_before_its_real_free,
    a_failed_allocation_leaves_no_trace_but_the_request,
    an_address_we_hold_already_is_a_proof_that_somebody_frees_behind_our_back,
    memory_that_went_by_another_door_while_it_was_being_parked_is_not_freed_again,
    a_context_that_ends_takes_its_buffers_in_every_state, exported_memory_is_never_handed_out_again,
    while_a_capture_is_open_both_ways_pass,
    an_out_of_memory_with_idle_buffers_falls_back_and_says_that_a_retry_makes_sense,
    closing_is_final_and_drains, observing_runs_the_gate_and_keeps_nothing,
    without_the_gate_every_shape_is_kept_from_the_first_request_on,
    a_set_wider_than_the_cap_is_kept_within_it_by_evictions_at_frees_alone,
    a_set_that_fits_is_served_whole_though_its_largest_would_not_fit_once_more,
    headroom_for_a_small_buffer_is_not_a_whole_page,
    when_the_peaks_window_shrinks_the_next_free_gives_back_what_is_above,
    live_memory_above_the_limit_leaves_no_room_to_cache,
    a_steps_row_comes_before_the_phase_row_it_brings,
    every_so_many_requests_are_a_step_whatever_else_arrives,
    step_ends_are_inferred_until_the_program_names_one,
    a_walk_names_each_shape_or_those_changed_since_the_last,
    what_is_on_its_way_back_still_counts_as_held,
    known_shapes_are_bounded_and_the_forgotten_counted,
    two_places_that_ask_for_the_same_size_share_nothing_when_the_site_is_part_of_the_key,
    a_new_shape_at_one_site_stops_that_one_alone,
    what_fell_back_is_not_served_though_it_has_not_gone_back_yet,
    each_site_comes_back_when_its_own_shapes_are_quiet, a_new_site_warms_up_alone_and_trips_nothing,
    a_site_that_is_silent_learns_nothing_from_others_steps,
    the_device_is_in_the_best_phase_of_its_sites, an_out_of_memory_stops_every_site_in_one_word,
    closing_closes_every_site_and_those_to_come, what_comes_from_an_unknown_place_shares_one_gate,
    too_wide_a_set_at_one_site_stops_that_one_alone,
    what_was_idle_for_too_long_goes_back_and_nothing_else_does,
    what_has_expired_is_not_served_even_before_it_has_gone_back,
    a_clock_that_comes_late_and_out_of_order_expires_nothing_young,
    idle_memory_goes_back_until_the_driver_has_its_reserve, the_reserve_never_asks_for_live_memory,
    without_the_gate_neither_time_nor_reserve_takes_anything)
