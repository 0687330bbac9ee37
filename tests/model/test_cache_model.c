/* SPDX-License-Identifier: MIT
 * Random operations on the cache and on the reference side by side, scene by scene: answers,
 * addresses, phases, counters and bytes must agree after each. SC_SEED repeats a run. */
#include "model/world.h"
#include "support/suite.h"

enum { OPERATIONS = 25000, PERIOD = 2500 };

static void on_phase(void *self, const sc_phase_change *change)
{
    world *w = self;

    w->changes++;
    w->last_reason = change->reason;
}

static void on_step(void *self, const sc_step_row *row)
{
    world *w = self;

    MUST_EQUAL(row->step, w->rows);
    MUST_EQUAL(row->tally.requests, row->tally.hits + row->tally.misses + row->tally.bypassed);
    MUST(row->live <= row->tally.live_peak);
    MUST(row->live + row->idle <= row->tally.held_peak);
    w->rows++;
}

static void make_palette(world *w)
{
    for (int i = 0; i < PALETTE; i++) {
        uint64_t bytes = 1 + below(w, 12 * MIB);

        if (one_in(w, 3))
            bytes = 1 + below(w, one_in(w, 2) ? 4096 : MIB - 1);
        w->palette[i] = (sc_request){.context = 1 + below(w, 2), .bytes = bytes};
    }
}

/* Mostly none, so that sets become fixed; now and then one; once a scene a burst of them. */
static uint64_t novelty_of_next_period(world *w)
{
    if (operation == 3 * PERIOD)
        return 4;
    return one_in(w, 3) ? 1500 : 0;
}

/* Stretches that were foreseen to miss something. */
static uint64_t play(const sc_cache_rules *rules, sc_random random, sc_cache_totals *totals)
{
    uint64_t foresights;
    static world w;
    const sc_cache_observer observer = {.self = &w, .phase = on_phase, .step = on_step};

    w = (world){.random = random};
    w.cache = sc_cache_new(rules, &observer);
    w.ref = ref_new(rules);
    MUST(w.cache && w.ref);
    make_palette(&w);
    for (operation = 0; operation < OPERATIONS; operation++) {
        if (operation % PERIOD == 0)
            w.novelty = novelty_of_next_period(&w);
        if (operation == OPERATIONS - 1000 && one_in(&w, 2)) {
            sc_cache_close(w.cache, SC_REASON_USER);
            ref_close(w.ref, SC_REASON_USER);
        }
        world_operate(&w);
        sc_cache_check(w.cache);
        world_compare(&w);
        if (operation % 64 == 0)
            world_compare_shapes(&w);
    }
    sc_cache_read_totals(w.cache, totals);
    sc_cache_delete(w.cache);
    foresights = w.ref->foresights;
    free(w.ref);
    return foresights;
}

/* All but one size in 32; and something of site 2. */
static const sc_hint *declared(uint64_t bytes, uint32_t site)
{
    static const sc_hint none;

    return bytes % 32 || (!bytes && site == 2) ? &none : NULL;
}

static const sc_cache_rules scenes[] = {
#define GATED                                                                                      \
    .gate = {.warmup = 3, .rearm = 6, .max_shapes = 20, .is_gated = true}, .max_age = 8,           \
    .small = 65536, .reserve = 100 * MIB, .total = 2000 * MIB
    {GATED, .overhead_percent = 25, .limit = UINT64_MAX},
    {GATED, .overhead_percent = 0, .limit = UINT64_MAX},
    {GATED, .overhead_percent = 100, .limit = UINT64_MAX, .step_source = SC_STEPS_INFERRED},
    {GATED, .overhead_percent = 25, .limit = 300 * MIB, .max_idle = 2000,
     .step_source = SC_STEPS_COUNTED, .step_requests = 9},
    {GATED, .overhead_percent = 25, .limit = UINT64_MAX, .is_observing = true},
#undef GATED
#define GATE(w, r, m) .gate = {.warmup = (w), .rearm = (r), .max_shapes = (m), .is_gated = true}
    {GATE(1, 1, 20), .overhead_percent = 10, .limit = UINT64_MAX, .max_age = 1, .max_idle = 900},
    {GATE(2, 2, 36), .is_keyed_by_site = true, .overhead_percent = 50, .limit = UINT64_MAX,
     .max_age = 64, .small = 2 * MIB},
    {GATE(2, 0, 20), .overhead_percent = 25, .limit = UINT64_MAX, .max_age = 64, .max_idle = 5000,
     .reserve = 1000 * MIB},
    {GATE(1, 2, 3), .overhead_percent = 5, .limit = UINT64_MAX, .max_age = 3, .small = MIB},
    {GATE(1, 1, 1), .overhead_percent = 25, .limit = UINT64_MAX, .max_age = 2, .small = 30 * MIB},
    {GATE(1, 1, 20), .overhead_percent = 100, .limit = 60 * MIB, .max_age = 64}, /* it binds */
    {GATE(2, 3, 20), .is_keyed_by_site = true, .is_scoped_by_site = true, .overhead_percent = 50,
     .limit = UINT64_MAX, .max_age = 16, .small = 65536, .max_idle = 5000},
    {GATE(2, 2, 30), .is_keyed_by_site = true, .is_scoped_by_site = true, .overhead_percent = 25,
     .limit = UINT64_MAX, .max_age = 16, .step_source = SC_STEPS_INFERRED,
     .declared = {.shapes = 5, .find = declared}},
    {GATE(3, 6, 40), .overhead_percent = 25, .limit = UINT64_MAX, .max_age = 8,
     .declared = {.shapes = 5, .find = declared}},
    {.gate = {.warmup = 3, .rearm = 6, .max_shapes = 4, .is_gated = false},
     .declared = {.shapes = 5, .find = declared},
     .max_age = 8,
     .max_idle = 100,
     .reserve = 1000 * MIB},
};
#undef GATE

START_TEST(the_cache_does_what_the_reference_does)
{
    sc_random random = sc_random_new("model");
    sc_tally sum = {0};
    uint64_t fallbacks = 0, forgotten = 0, fixed = 0, foresights = 0;

    for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++) {
        sc_cache_totals totals;

        foresights += play(&scenes[i], (sc_random){sc_random_next(&random)}, &totals);
        sum.hits += totals.all.hits;
        sum.evicted += totals.all.evicted;
        sum.expired += totals.all.expired;
        fallbacks += totals.fallbacks;
        forgotten += totals.shapes_forgotten;
        fixed += totals.steps_in[SC_PHASE_FIXED];
        printf("scene %zu: steps %llu, fixed %llu, requests %llu, hits %llu, evicted %llu, "
               "expired %llu, "
               "fallbacks %llu, shapes forgotten %llu, foreseen %llu\n",
               i, (unsigned long long)totals.step,
               (unsigned long long)totals.steps_in[SC_PHASE_FIXED],
               (unsigned long long)totals.all.requests, (unsigned long long)totals.all.hits,
               (unsigned long long)totals.all.evicted, (unsigned long long)totals.all.expired,
               (unsigned long long)totals.fallbacks, (unsigned long long)totals.shapes_forgotten,
               (unsigned long long)foresights);
    }
    /* the walk has been where it hurts */
    ck_assert_uint_gt(sum.hits, 1000);
    ck_assert_uint_gt(sum.evicted, 100);
    ck_assert_uint_gt(sum.expired, 20);
    ck_assert_uint_gt(fixed, 100);
    ck_assert_uint_gt(fallbacks, 5);
    ck_assert_uint_gt(forgotten, 5);
    ck_assert_uint_gt(foresights, 20);
}
END_TEST

SC_SUITE("model", the_cache_does_what_the_reference_does)
