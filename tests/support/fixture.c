/* SPDX-License-Identifier: MIT */
#include "support/fixture.h"
#include <check.h>

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

const sc_cache_rules fixture_usual = {
    .gate = {.warmup = WARMUP, .rearm = REARM, .max_shapes = 100, .is_gated = true},
    .overhead_percent = 25,
    .limit = UINT64_C(1) << 40,
    .max_age = 8,
    .small = 65536,
};

fixture fixture_with(sc_cache_rules rules)
{
    return (fixture){.rules = rules, .next = MIB};
}

void fixture_begin(fixture *f)
{
    const sc_cache_observer observer = {
        .self = f, .phase = on_phase, .step = on_step, .shape = on_shape};

    f->cache = sc_cache_new(&f->rules, &observer);
    ck_assert_ptr_nonnull(f->cache);
}

sc_cache_totals fixture_totals(const fixture *f)
{
    sc_cache_totals totals;

    sc_cache_read_totals(f->cache, &totals);
    return totals;
}

void fixture_give_back(fixture *f, sc_take why)
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

void fixture_check_cap(const fixture *f)
{
    sc_cache_totals now = fixture_totals(f);
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

sc_answer fixture_ask(fixture *f, sc_request request, sc_address *address)
{
    sc_buffer *buffer;
    sc_answer answer = sc_cache_request(f->cache, request, &buffer);

    if (answer == SC_ALLOCATE) {
        fixture_give_back(f, SC_TAKE_ROOM);
        f->driver_allocs++;
        ck_assert(sc_cache_allocated(f->cache, buffer, f->next += 64 * MIB, 100));
    }
    *address = sc_buffer_address(buffer);
    fixture_check_cap(f);
    return answer;
}

sc_address fixture_get(fixture *f, uint64_t bytes)
{
    sc_address address;

    (void)fixture_ask(f, (sc_request){.context = 1, .bytes = bytes}, &address);
    return address;
}

sc_free_answer fixture_put(fixture *f, sc_address address)
{
    sc_buffer *buffer;
    sc_free_answer answer = sc_cache_free(f->cache, address, false, &buffer);

    if (answer == SC_FREE_PARK && !sc_cache_park(f->cache, buffer, f->now))
        f->frees++;
    f->frees += answer == SC_FREE_RELEASE;
    fixture_give_back(f, SC_TAKE_DUE);
    fixture_check_cap(f);
    return answer;
}

void fixture_step(fixture *f, uint64_t bytes, unsigned count, sc_address *addresses)
{
    sc_address mine[MOST_LIVE];

    for (unsigned i = 0; i < count; i++) {
        mine[i] = fixture_get(f, bytes);
        if (addresses)
            addresses[i] = mine[i];
    }
    for (unsigned i = 0; i < count; i++)
        (void)fixture_put(f, mine[i]);
    sc_cache_step_end(f->cache);
    fixture_give_back(f, SC_TAKE_DUE);
    fixture_check_cap(f);
}

void fixture_fix(fixture *f)
{
    fixture_begin(f);
    for (int i = 0; i <= WARMUP; i++) {
        ck_assert_int_eq(fixture_totals(f).phase, SC_PHASE_WARMUP);
        fixture_step(f, 4 * MIB, 4, NULL);
    }
    ck_assert_int_eq(fixture_totals(f).phase, SC_PHASE_FIXED);
}

void fixture_end(fixture *f)
{
    sc_cache_check(f->cache);
    sc_cache_delete(f->cache);
}
