/* SPDX-License-Identifier: MIT
 * Random operations on the cache and on the reference side by side: answers, addresses, phases,
 * counters and bytes must agree after each, and a driver that hands freed addresses out again at
 * once watches that no memory ever has two owners. SC_SEED repeats a run. */
#include "model/reference.h"
#include "support/seed.h"
#include "support/suite.h"
#include <string.h>

#define MIB ((uint64_t)1 << 20)

/* check's own assertions write a line each, too slow for millions of them */
#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            ck_abort_msg("operation %llu: %s does not hold", (unsigned long long)operation,        \
                         #condition);                                                              \
        }                                                                                          \
    } while (0)
#define MUST_EQUAL(got, expected)                                                                  \
    do {                                                                                           \
        uint64_t got_ = (uint64_t)(got), expected_ = (uint64_t)(expected);                         \
                                                                                                   \
        if (got_ != expected_) {                                                                   \
            ck_abort_msg("operation %llu: %s is %llu, not %s, %llu",                               \
                         (unsigned long long)operation, #got, (unsigned long long)got_, #expected, \
                         (unsigned long long)expected_);                                           \
        }                                                                                          \
    } while (0)

enum { ADDRESSES = 1500, OPERATIONS = 25000, PENDING = 4, PERIOD = 2500, PALETTE = 8 };

static uint64_t operation; /* of the scene, for the messages above */

/* What the driver knows of an address. */
typedef struct cell {
    bool is_allocated;
    bool is_programs; /* the program has it */
    sc_context context;
} cell;

typedef struct pending_allocation {
    sc_buffer *buffer;
    ref_block *block;
    sc_request request;
} pending_allocation;

typedef struct pending_park {
    sc_buffer *buffer;
    ref_block *block;
    sc_address address;
} pending_park;

typedef struct world {
    sc_random random;
    sc_cache *cache;
    reference *ref;
    cell cells[ADDRESSES];
    sc_request palette[PALETTE];
    pending_allocation allocations[PENDING];
    pending_park parks[PENDING];
    unsigned allocation_count, park_count;
    sc_victims going;
    bool is_passing;
    uint64_t novelty;  /* one request in `novelty` is of a new shape; 0: none */
    unsigned programs; /* blocks the program has */
    uint64_t rows, changes;
    uint64_t now;
    sc_reason last_reason;
} world;

static uint64_t below(world *w, uint64_t count)
{
    return sc_random_below(&w->random, count);
}

static bool one_in(world *w, uint64_t count)
{
    return below(w, count) == 0;
}

/* --- the driver --- */

static sc_address address_of(unsigned cell_number)
{
    return 0x7f0000000000 + (sc_address)cell_number * 512;
}

static cell *cell_of(world *w, sc_address address)
{
    return &w->cells[(address - 0x7f0000000000) / 512];
}

static sc_address driver_alloc(world *w, sc_context context)
{
    unsigned i = (unsigned)below(w, ADDRESSES);

    while (w->cells[i].is_allocated)
        i = (i + 1) % ADDRESSES;
    MUST(!ref_find(w->ref, address_of(i)));
    w->cells[i] = (cell){.is_allocated = true, .context = context};
    return address_of(i);
}

/* The engine frees it: by then nobody may know it. */
static void driver_free(world *w, sc_address address)
{
    MUST(cell_of(w, address)->is_allocated);
    MUST(!cell_of(w, address)->is_programs);
    MUST(!ref_find(w->ref, address));
    *cell_of(w, address) = (cell){0};
}

static void program_gets(world *w, sc_address address)
{
    MUST(cell_of(w, address)->is_allocated);
    MUST(!cell_of(w, address)->is_programs);
    cell_of(w, address)->is_programs = true;
    w->programs++;
}

static void program_loses(world *w, sc_address address)
{
    w->programs -= cell_of(w, address)->is_programs;
    cell_of(w, address)->is_programs = false;
}

/* One of the program's blocks; it has some. */
static sc_address any_of_program(world *w)
{
    unsigned i = (unsigned)below(w, ADDRESSES);

    while (!w->cells[i].is_programs)
        i = (i + 1) % ADDRESSES;
    return address_of(i);
}

/* An address that the cache holds in any state, or 0. */
static sc_address any_held(world *w)
{
    unsigned first = (unsigned)below(w, 1 + w->ref->block_top);

    for (unsigned i = 0; i < w->ref->block_top; i++) {
        const ref_block *block = &w->ref->blocks[(first + i) % w->ref->block_top];

        if (ref_is_held(block))
            return block->address;
    }
    return 0;
}

/* --- giving back --- */

static void finish_going(world *w)
{
    sc_cache_gone(w->cache, &w->going);
    for (unsigned i = 0; i < w->going.count; i++) {
        driver_free(w, w->going.address[i]);
        ref_gone(w->ref, w->going.size[i]);
    }
    w->going.count = 0;
}

static void give_back(world *w, sc_take why)
{
    for (;;) {
        sc_victims victims;

        sc_cache_take(w->cache, why, &victims);
        for (unsigned i = 0; i < victims.count; i++) {
            const char *wrong = ref_take(w->ref, why, victims.address[i]);

            ck_assert_msg(!wrong, "operation %llu: victim %u: %s", (unsigned long long)operation, i,
                          wrong);
        }
        MUST(victims.count == 64 || !ref_wants(w->ref, why));
        ref_took(w->ref);
        if (victims.count == 0)
            return;
        finish_going(w);
        w->going = victims;
        if (!one_in(w, 8))
            finish_going(w);
        else if (why == SC_TAKE_ROOM)
            return; /* another thread's frees take long */
    }
}

/* --- operations --- */

static sc_request next_request(world *w)
{
    sc_request request = w->palette[below(w, one_in(w, 3) ? PALETTE : PALETTE / 2)];

    if (w->novelty && one_in(w, w->novelty))
        request.bytes += 1 + below(w, 40);
    request.site = (uint32_t)below(w, 3);
    request.is_passing = w->is_passing;
    return request;
}

static void finish_allocation(world *w, pending_allocation pending)
{
    sc_address address;
    bool has_failed = one_in(w, 25);

    if (!pending.request.is_passing)
        give_back(w, SC_TAKE_ROOM);
    if (has_failed && one_in(w, 100)) {
        bool retry = sc_cache_out_of_memory(w->cache);

        MUST_EQUAL(retry, ref_out_of_memory(w->ref));
        if (retry) {
            give_back(w, SC_TAKE_ALL);
            has_failed = one_in(w, 2);
        }
    }
    if (has_failed) {
        sc_cache_failed(w->cache, pending.buffer);
        ref_failed(w->ref, pending.block);
        return;
    }
    address = one_in(w, 400) ? any_held(w) : 0;
    if (address) { /* somebody freed it behind our back, and the driver hands it out again */
        program_loses(w, address);
        *cell_of(w, address) = (cell){.is_allocated = true, .context = pending.request.context};
    } else {
        address = driver_alloc(w, pending.request.context);
    }
    MUST_EQUAL(sc_cache_allocated(w->cache, pending.buffer, address, 1),
               ref_allocated(w->ref, pending.block, address));
    if (pending.block->state == REF_NONE)
        *cell_of(w, address) = (cell){0}; /* its context has ended meanwhile */
    else
        program_gets(w, address);
}

static void request(world *w)
{
    sc_request wanted = next_request(w);
    sc_buffer *buffer;
    ref_block *block;
    sc_answer answer = sc_cache_request(w->cache, wanted, &buffer);

    MUST_EQUAL(answer, ref_request(w->ref, wanted, &block));
    MUST_EQUAL(sc_buffer_bytes(buffer), wanted.bytes);
    MUST_EQUAL(sc_buffer_context(buffer), wanted.context);
    if (answer == SC_HIT) {
        MUST_EQUAL(sc_buffer_address(buffer), block->address);
        program_gets(w, block->address);
    } else if (w->allocation_count < PENDING && one_in(w, 5)) {
        w->allocations[w->allocation_count++] = (pending_allocation){buffer, block, wanted};
    } else {
        finish_allocation(w, (pending_allocation){buffer, block, wanted});
    }
}

static void finish_an_allocation(world *w)
{
    if (w->allocation_count > 0) {
        unsigned i = (unsigned)below(w, w->allocation_count);
        pending_allocation pending = w->allocations[i];

        w->allocations[i] = w->allocations[--w->allocation_count];
        finish_allocation(w, pending);
    }
}

static void finish_park(world *w, pending_park pending)
{
    bool has_failed = one_in(w, 25);
    bool is_kept, is_kept_by_ref, is_gone = pending.block->state == REF_GONE;

    if (has_failed) {
        is_kept = !sc_cache_unpark(w->cache, pending.buffer);
        is_kept_by_ref = !ref_unpark(w->ref, pending.block);
    } else {
        is_kept = sc_cache_park(w->cache, pending.buffer, w->now);
        is_kept_by_ref = ref_park(w->ref, pending.block, w->now);
    }
    MUST_EQUAL(is_kept, is_kept_by_ref);
    if (!is_kept) {
        MUST(!is_gone);
        driver_free(w, pending.address);
    }
}

static void finish_a_park(world *w)
{
    if (w->park_count > 0) {
        unsigned i = (unsigned)below(w, w->park_count);
        pending_park pending = w->parks[i];

        w->parks[i] = w->parks[--w->park_count];
        finish_park(w, pending);
    }
}

static void free_at(world *w, sc_address address, sc_free_answer expected)
{
    sc_buffer *buffer;
    ref_block *block;
    sc_free_answer answer = sc_cache_free(w->cache, address, w->is_passing, &buffer);

    MUST_EQUAL(answer, ref_free(w->ref, address, w->is_passing, &block));
    MUST_EQUAL(buffer != NULL, answer == SC_FREE_PARK);
    if (expected != SC_FREE_PARK) {
        MUST_EQUAL(answer, expected);
        return;
    }
    program_loses(w, address);
    if (answer == SC_FREE_RELEASE)
        driver_free(w, address);
    else if (w->park_count < PENDING && one_in(w, 5))
        w->parks[w->park_count++] = (pending_park){buffer, block, address};
    else
        finish_park(w, (pending_park){buffer, block, address});
    if (!w->is_passing && !one_in(w, 10))
        give_back(w, SC_TAKE_DUE);
}

static void free_one(world *w)
{
    if (w->programs > 0)
        free_at(w, any_of_program(w), SC_FREE_PARK);
}

static void free_wrongly(world *w)
{
    sc_address held = any_held(w);
    const ref_block *block = held ? ref_find(w->ref, held) : NULL;

    free_at(w, address_of(ADDRESSES) + below(w, 1000), SC_FREE_UNKNOWN);
    if (block && block->state != REF_LIVE)
        free_at(w, held, SC_FREE_TWICE);
    if (held)
        free_at(w, held + 1, SC_FREE_UNKNOWN);
}

static void lose_one(world *w) /* freed by another door */
{
    sc_address address = any_held(w);

    if (address) {
        sc_cache_forget(w->cache, address);
        ref_forget(w->ref, address);
        program_loses(w, address);
        *cell_of(w, address) = (cell){0};
    }
}

static void export_one(world *w)
{
    sc_address address = any_held(w);

    if (address) {
        sc_cache_export(w->cache, address);
        ref_export(w->ref, address);
    }
}

static void end_a_context(world *w)
{
    sc_context context = 1 + below(w, 2);

    finish_going(w);
    sc_cache_forget_context(w->cache, context);
    ref_forget_context(w->ref, context);
    for (unsigned i = 0; i < ADDRESSES; i++) {
        if (w->cells[i].is_allocated && w->cells[i].context == context) {
            program_loses(w, address_of(i));
            w->cells[i] = (cell){0};
        }
    }
}

static void end_a_step(world *w)
{
    if (w->ref->source != SC_STEPS_INFERRED || one_in(w, 400)) {
        sc_cache_step_end(w->cache);
        ref_step_end(w->ref);
        if (one_in(w, 2))
            give_back(w, SC_TAKE_DUE);
    }
}

static void ask_the_driver(world *w)
{
    uint64_t bytes = below(w, one_in(w, 3) ? 2000 * MIB : 200 * MIB);

    sc_cache_driver_free(w->cache, bytes);
    ref_driver_free(w->ref, bytes);
}

static void let_time_pass(world *w)
{
    uint64_t now = w->now += below(w, one_in(w, 10) ? 2000 : 100);

    now -= one_in(w, 4) ? below(w, now < 50 ? now + 1 : 50) : 0; /* another thread comes late */
    sc_cache_tick(w->cache, now);
    ref_tick(w->ref, now);
}

static void run_out_of_memory(world *w) /* of another allocator */
{
    MUST_EQUAL(sc_cache_out_of_memory(w->cache), ref_out_of_memory(w->ref));
    give_back(w, SC_TAKE_ALL);
}

static void operate(world *w)
{
    uint64_t kind = below(w, 10000);

    if (kind < 4300) {
        if (w->programs < 30 + below(w, 30))
            request(w);
    } else if (kind < 8500) {
        free_one(w);
    } else if (kind < 8900) {
        finish_an_allocation(w);
    } else if (kind < 9200) {
        finish_a_park(w);
    } else if (kind < 9850) {
        end_a_step(w);
    } else if (kind < 9900) {
        free_wrongly(w);
    } else if (kind < 9930) {
        w->is_passing = !w->is_passing && one_in(w, 3);
    } else if (kind < 9950) {
        finish_going(w);
    } else if (kind < 9970) {
        lose_one(w);
    } else if (kind < 9990) {
        export_one(w);
    } else if (kind < 9991) {
        run_out_of_memory(w);
    } else if (kind < 9993) {
        end_a_context(w);
    } else if (kind < 9998) {
        ask_the_driver(w);
    }
    if (one_in(w, 8))
        let_time_pass(w);
}

/* --- comparing --- */

#define SAME(field) MUST_EQUAL(cache.field, ref.field)

static void compare_totals(world *w)
{
    sc_cache_totals cache, ref;

    sc_cache_read_totals(w->cache, &cache);
    ref_totals(w->ref, &ref);
    SAME(phase);
    SAME(step);
    SAME(live);
    SAME(idle);
    SAME(live_bytes);
    SAME(shapes);
    SAME(shapes_forgotten);
    SAME(scopes.all);
    SAME(scopes.fixed);
    SAME(fallbacks);
    SAME(ooms);
    SAME(all.requests);
    SAME(all.hits);
    SAME(all.misses);
    SAME(all.bypassed);
    SAME(all.driver_allocs);
    SAME(all.driver_frees);
    SAME(all.evicted);
    SAME(all.expired);
    SAME(all.live_peak);
    SAME(all.held_peak);
    for (int i = 0; i < SC_PHASE_COUNT; i++)
        SAME(steps_in[i]);
    MUST_EQUAL(sc_cache_tally(w->cache)->live_peak, w->ref->tally.live_peak);
    MUST_EQUAL(sc_cache_tally(w->cache)->evicted, w->ref->tally.evicted);
    MUST_EQUAL(w->rows, ref.step);
    MUST_EQUAL(w->changes, w->ref->changes);
    if (w->changes > 1)
        MUST_EQUAL(w->last_reason, w->ref->reason);
}

static void compare_wants(world *w)
{
    for (sc_take why = SC_TAKE_ROOM; why <= SC_TAKE_ALL; why++)
        MUST_EQUAL(sc_cache_wants(w->cache, why), ref_wants(w->ref, why));
}

static void compare_shape(void *self, const sc_shape_row *row)
{
    const world *w = self;
    const ref_shape *shape = w->ref->shapes;
    uint64_t live = 0, idle = 0;

    while (!shape->is_known || shape->id != row->id)
        shape++;
    for (unsigned i = 0; i < w->ref->block_top; i++) {
        const ref_block *block = &w->ref->blocks[i];

        if (&w->ref->shapes[block->shape] == shape) {
            live += block->state == REF_LIVE || block->state == REF_PARKING;
            idle += ref_is_idle(block);
        }
    }
    MUST_EQUAL(row->bytes, shape->bytes);
    MUST_EQUAL(row->site, shape->site);
    MUST_EQUAL(row->requests, shape->requests);
    MUST_EQUAL(row->hits, shape->hits);
    MUST_EQUAL(row->misses, shape->misses);
    MUST_EQUAL(row->evicted, shape->evicted);
    MUST_EQUAL(row->high, shape->high);
    MUST_EQUAL(row->last_step, shape->last_step);
    MUST_EQUAL(row->live, live);
    MUST_EQUAL(row->idle, idle);
}

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

/* --- scenes --- */

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

static void play(const sc_cache_rules *rules, sc_random random, sc_cache_totals *totals)
{
    static world w;
    const sc_cache_observer observer = {&w, on_phase, on_step, NULL};

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
        operate(&w);
        sc_cache_check(w.cache);
        compare_totals(&w);
        compare_wants(&w);
        if (operation % 64 == 0)
            sc_cache_each_shape(w.cache, false, compare_shape, &w);
    }
    sc_cache_read_totals(w.cache, totals);
    sc_cache_delete(w.cache);
    free(w.ref);
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
    .small = 65536, .reserve = 100 * MIB
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
    uint64_t fallbacks = 0, forgotten = 0, fixed = 0;

    for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++) {
        sc_cache_totals totals;

        play(&scenes[i], (sc_random){sc_random_next(&random)}, &totals);
        sum.hits += totals.all.hits;
        sum.evicted += totals.all.evicted;
        sum.expired += totals.all.expired;
        fallbacks += totals.fallbacks;
        forgotten += totals.shapes_forgotten;
        fixed += totals.steps_in[SC_PHASE_FIXED];
        printf("scene %zu: steps %llu, fixed %llu, requests %llu, hits %llu, evicted %llu, "
               "expired %llu, "
               "fallbacks %llu, shapes forgotten %llu\n",
               i, (unsigned long long)totals.step,
               (unsigned long long)totals.steps_in[SC_PHASE_FIXED],
               (unsigned long long)totals.all.requests, (unsigned long long)totals.all.hits,
               (unsigned long long)totals.all.evicted, (unsigned long long)totals.all.expired,
               (unsigned long long)totals.fallbacks, (unsigned long long)totals.shapes_forgotten);
    }
    /* the walk has been where it hurts */
    ck_assert_uint_gt(sum.hits, 1000);
    ck_assert_uint_gt(sum.evicted, 100);
    ck_assert_uint_gt(sum.expired, 20);
    ck_assert_uint_gt(fixed, 100);
    ck_assert_uint_gt(fallbacks, 5);
    ck_assert_uint_gt(forgotten, 5);
}
END_TEST

SC_SUITE("model", the_cache_does_what_the_reference_does)
