/* SPDX-License-Identifier: MIT
 * The cache without memory for its own records: each of its allocations fails once. The linker puts
 * the functions below in the place of malloc, calloc and realloc. */
#include "cache/away.h"
#include <check.h>
#include <stdlib.h>

#define MIB ((uint64_t)1 << 20)

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);

static bool is_armed;
static unsigned calls, fail_at; /* the fail_at-th call while armed fails; 0: none */

static bool fails(void)
{
    return is_armed && ++calls == fail_at;
}

void *__wrap_malloc(size_t bytes)
{
    return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
    return fails() ? NULL : __real_realloc(old, bytes);
}

enum { SHAPES = 70, SLOTS = 70, STEPS = 9 };

static sc_address next;
static unsigned passed;
static bool is_broken; /* check's assertions allocate, so they come afterwards */

/* What the engine does for one request; 0: nobody but the driver knows of it. */
static sc_address get(sc_cache *cache, uint64_t bytes)
{
    sc_request request = {.context = 1, .bytes = bytes, .site = (uint32_t)(bytes % 3)};
    sc_buffer *buffer = NULL;

    switch (sc_cache_request(cache, request, &buffer)) {
    case SC_HIT:
        return sc_buffer_address(buffer);
    case SC_ALLOCATE:
        next += 2 * MIB;
        is_broken |= !sc_cache_allocated(cache, buffer, next, 0);
        return next;
    default:
        is_broken |= buffer != NULL;
        passed++;
        return 0;
    }
}

static void put(sc_cache *cache, sc_address address)
{
    sc_buffer *buffer;

    if (sc_cache_free(cache, address, false, &buffer) == SC_FREE_PARK)
        is_broken |= !sc_cache_park(cache, buffer, 0);
}

/* Many shapes, many slots of one, and steps until they are served. */
static void run(sc_cache *cache)
{
    for (int step = 0; step < STEPS; step++) {
        sc_address addresses[SHAPES + SLOTS];

        for (unsigned i = 0; i < SHAPES + SLOTS; i++)
            addresses[i] = get(cache, i < SHAPES ? MIB + i : 512);
        for (unsigned i = 0; i < SHAPES + SLOTS; i++)
            put(cache, addresses[i]);
        sc_cache_check(cache);
        sc_cache_step_end(cache);
    }
}

/* One gate, and one for each of three sites. */
static const sc_cache_rules rules[] = {
#define USUAL                                                                                      \
    .gate = {.warmup = 3, .rearm = 6, .max_shapes = 100, .is_gated = true},                        \
    .overhead_percent = 25, .limit = UINT64_MAX, .max_age = 8, .small = 65536
    {USUAL},
    {USUAL, .is_keyed_by_site = true, .is_scoped_by_site = true},
#undef USUAL
};
enum { RULES = 2 };

START_TEST(a_served_request_and_a_parked_free_allocate_nothing)
{
    sc_cache *cache = sc_cache_new(&rules[_i], &(sc_cache_observer){0});
    sc_cache_totals before, after;

    ck_assert_ptr_nonnull(cache);
    run(cache);
    sc_cache_read_totals(cache, &before);
    calls = 0;
    fail_at = 0;
    is_armed = true;
    run(cache);
    is_armed = false;
    sc_cache_read_totals(cache, &after);
    ck_assert_uint_eq(calls, 0);
    ck_assert_uint_eq(after.all.hits - before.all.hits, STEPS * (SHAPES + SLOTS));
    sc_cache_delete(cache);
}
END_TEST

START_TEST(every_failure_of_its_own_memory_ends_in_plain_driver_calls)
{
    unsigned failures = 0;

    do { /* fail call 1, then 2, ... until a run makes fewer calls than that */
        sc_cache_totals totals;
        sc_cache *cache;

        calls = 0;
        passed = 0;
        fail_at = failures + 1;
        is_armed = true;
        cache = sc_cache_new(&rules[_i], &(sc_cache_observer){0});
        if (!cache) {
            is_armed = false;
            continue;
        }
        run(cache);
        is_armed = false;
        ck_assert(!is_broken);
        sc_cache_read_totals(cache, &totals);
        ck_assert_uint_eq(totals.all.requests, STEPS * (SHAPES + SLOTS));
        ck_assert_uint_gt(totals.all.hits, 0);
        ck_assert_uint_eq(totals.live_bytes, 0);
        ck_assert_uint_le(passed, 1);
        sc_cache_delete(cache);
    } while (++failures, calls >= fail_at);
    ck_assert_uint_gt(failures, 20);
}
END_TEST

enum { AWAY = 100 };

/* Tensors that leave blocks which are freed then, and come back, as the engine follows them. */
static void leave_and_return(sc_cache *cache)
{
    sc_spare_block *blocks[AWAY];

    for (unsigned i = 0; i < AWAY; i++) {
        sc_address source = get(cache, MIB);

        blocks[i] = sc_cache_leave(cache, source);
        if (!blocks[i])
            sc_cache_doubt(cache, SC_SPARE_UNSEEN);
        put(cache, source);
        sc_cache_check(cache);
    }
    for (unsigned i = AWAY; i-- > 0;) {
        if (!blocks[i] || sc_cache_return(cache, blocks[i], get(cache, MIB), false))
            continue;
        sc_cache_drop(cache, blocks[i]);
        sc_cache_doubt(cache, SC_SPARE_UNSEEN);
    }
    sc_cache_check(cache);
}

START_TEST(without_memory_to_follow_a_block_it_is_not_known_what_was_spared)
{
    unsigned failures = 0;

    do {
        sc_cache *cache = sc_cache_new(&rules[_i], &(sc_cache_observer){0});
        sc_spared spared;

        ck_assert_ptr_nonnull(cache);
        for (unsigned i = 0; i < 2 * AWAY; i++) /* records of the cache's own */
            put(cache, get(cache, MIB));
        calls = 0;
        fail_at = failures + 1;
        is_armed = true;
        leave_and_return(cache);
        is_armed = false;
        ck_assert(!is_broken);
        sc_cache_read_spared(cache, &spared);
        ck_assert_int_eq(spared.doubt, calls >= fail_at ? SC_SPARE_UNSEEN : SC_SPARE_SURE);
        sc_cache_delete(cache);
    } while (++failures, calls >= fail_at);
    ck_assert_uint_gt(failures, 4);
}
END_TEST

START_TEST(a_served_request_allocates_nothing_where_tensors_are_away_either)
{
    sc_cache *cache = sc_cache_new(&rules[_i], &(sc_cache_observer){0});

    ck_assert_ptr_nonnull(cache);
    run(cache);
    leave_and_return(cache);
    run(cache);
    run(cache); /* twice: what came for the tensors has changed the set */
    calls = 0;
    fail_at = 0;
    is_armed = true;
    run(cache);
    is_armed = false;
    ck_assert_uint_eq(calls, 0);
    sc_cache_delete(cache);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shortage");
    TCase *tcase = tcase_create("shortage");
    SRunner *runner = srunner_create(suite);

    tcase_set_timeout(tcase, 0); /* the runner of tests has one */
    tcase_add_loop_test(tcase, a_served_request_and_a_parked_free_allocate_nothing, 0, RULES);
    tcase_add_loop_test(tcase, every_failure_of_its_own_memory_ends_in_plain_driver_calls, 0,
                        RULES);
    tcase_add_loop_test(tcase, without_memory_to_follow_a_block_it_is_not_known_what_was_spared, 0,
                        RULES);
    tcase_add_loop_test(tcase, a_served_request_allocates_nothing_where_tensors_are_away_either, 0,
                        RULES);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
