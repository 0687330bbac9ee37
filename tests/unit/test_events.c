/* SPDX-License-Identifier: MIT
 * Level event: from its rows the life of every block can be told, request by request. */
#include "support/room.h"
#include "support/suite.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static const uint64_t sizes[] = {3 * MIB, 3 * MIB, 4 * MIB, 100 * KIB};
enum { SIZES = 4, BURST = 1000, THREADS = 4, BATCHES = 800 };

static void open_event(void)
{
    ck_assert_int_eq(setenv("SHAPECACHE_LOG_LEVEL", "event", 1), 0);
    room_enter();
}

static void open_small(void)
{
    ck_assert_int_eq(setenv("SHAPECACHE_LOG_MAX", "2MiB", 1), 0);
    open_event();
}

static bool is_event(const char *line)
{
    return strstr(line, "\"ev\":\"alloc\"") || strstr(line, "\"ev\":\"free\"");
}

/* How many rows of requests there are; each has the number that follows. (Check's assertions write
 * a line each: not one a row.) */
static uint64_t assert_numbered(const lines *log)
{
    uint64_t next = 0;
    char number[32];

    for (size_t i = 0; i < log->count; i++) {
        if (!is_event(log->line[i]))
            continue;
        snprintf(number, sizeof number, "\"n\":%llu,", (unsigned long long)next++);
        if (!strstr(log->line[i], number))
            ck_abort_msg("no %s in %s", number, log->line[i]);
    }
    return next;
}

static const char *last_free(const lines *log)
{
    return lines_of(log, "free", lines_count(log, "free") - 1);
}

START_TEST(the_outcome_of_a_request_is_that_of_its_steps_counters)
{
    static const char *const outcomes[] = {"hits", "misses", "bypassed"};
    static const char *const words[] = {"\"hit\"", "\"miss\"", "\"bypassed\""};
    char word[32];

    room_fix(sizes, SIZES);
    sc_engine_finish();
    lines log = room_log();
    uint64_t counts[5][3] = {{0}};

    ck_assert_uint_eq(assert_numbered(&log), (uint64_t)2 * 5 * SIZES);
    for (size_t i = 0; i < lines_count(&log, "alloc"); i++) {
        const char *row = lines_of(&log, "alloc", i);

        ck_assert(lines_field(row, "outcome", word, sizeof word));
        for (size_t kind = 0; kind < 3; kind++)
            counts[lines_u64(row, "step")][kind] += strcmp(word, words[kind]) == 0;
    }
    ck_assert_uint_gt(counts[2][1], 0); /* the first batch that parks has nothing to serve */
    ck_assert_uint_eq(counts[4][0], SIZES);
    for (size_t step = 0; step < 5; step++)
        for (size_t kind = 0; kind < 3; kind++)
            ck_assert_uint_eq(counts[step][kind],
                              lines_u64(lines_of(&log, "step", step), outcomes[kind]));
    lines_release(&log);
}
END_TEST

START_TEST(what_was_measured_is_in_the_row)
{
    room_fix(sizes, SIZES);
    sc_engine_finish();
    lines log = room_log();
    uint64_t hit_ns = 0;

    for (size_t i = 0; i < lines_count(&log, "alloc"); i++) {
        const char *row = lines_of(&log, "alloc", i);

        ck_assert_uint_gt(lines_u64(row, "ns"), 0);
        hit_ns += lines_u64(row, "hit") ? lines_u64(row, "ns") : 0;
    }
    ck_assert_uint_eq(hit_ns, lines_sum(&log, "step", "hit_ns"));
    ck_assert_uint_eq(lines_sum(&log, "step", "sampled"), lines_sum(&log, "step", "hits"));
    lines_expect(last_free(&log), "outcome", "\"parked\"");
    ck_assert_uint_gt(lines_u64(last_free(&log), "ns"), 0);
    lines_release(&log);
}
END_TEST

START_TEST(a_free_tells_what_became_of_the_block)
{
    sc_context other = fake_new_context(0);
    sc_address elsewhere, theirs, unseen = 0;

    ck_assert_int_eq(fake_driver.mem_alloc(&unseen, 64 * KIB), SC_CUDA_SUCCESS);
    room_free(room_alloc(MIB));
    room_free(unseen);
    elsewhere = room_alloc(2 * MIB);
    sc_engine_frees_elsewhere(elsewhere);
    fake_set_current(other);
    theirs = room_alloc(5 * MIB);
    fake_set_current(fake_primary(0));
    room_free(theirs); /* from another context than its own */
    fake_set_current(other);
    theirs = room_alloc(6 * MIB);
    fake_set_current(fake_primary(0));
    sc_engine_context_ends(other);
    fake_end_context(other);
    sc_engine_finish();
    lines log = room_log();
    static const char *const outcomes[] = {"\"driver\"", "\"unknown\"", "\"elsewhere\"",
                                           "\"driver\"", "\"context\""};
    char address[32];

    ck_assert_uint_eq(assert_numbered(&log), 9);
    ck_assert_uint_eq(lines_count(&log, "free"), 5);
    for (size_t i = 0; i < 5; i++)
        lines_expect(lines_of(&log, "free", i), "outcome", outcomes[i]);
    snprintf(address, sizeof address, "\"0x%llx\"", (unsigned long long)theirs);
    lines_expect(lines_of(&log, "free", 4), "address", address);
    snprintf(address, sizeof address, "\"0x%llx\"", (unsigned long long)unseen);
    lines_expect(lines_of(&log, "free", 1), "address", address);
    lines_release(&log);
}
END_TEST

START_TEST(a_second_free_and_a_failed_request_are_no_rows)
{
    sc_address block;

    room_fix(sizes, SIZES);
    block = room_alloc(sizes[0]);
    room_free(block);
    ck_assert_int_eq(sc_engine_free(block), SC_CUDA_INVALID_VALUE);
    fake_fail_kind(FAKE_MEM_ALLOC, 2, SC_CUDA_OUT_OF_MEMORY);
    ck_assert_int_eq(sc_engine_alloc(&block, 512 * MIB, NULL), SC_CUDA_OUT_OF_MEMORY);
    sc_engine_finish();
    lines log = room_log();

    ck_assert_uint_eq(assert_numbered(&log), (uint64_t)2 * 5 * SIZES + 2);
    lines_release(&log);
}
END_TEST

START_TEST(an_address_that_the_driver_hands_out_again_was_freed_before)
{
    sc_address first = room_alloc(MIB);

    ck_assert_int_eq(fake_driver.mem_free(first), SC_CUDA_SUCCESS); /* behind our back */
    ck_assert_uint_eq(room_alloc(MIB), first);
    sc_engine_finish();
    lines log = room_log();

    ck_assert_uint_eq(assert_numbered(&log), 3);
    lines_expect(lines_of(&log, "free", 0), "outcome", "\"elsewhere\"");
    lines_expect(lines_of(&log, "free", 0), "n", "1");
    lines_release(&log);
}
END_TEST

/* More rows than wait at most, and not one free that writes them. */
static void *allocate_many(void *unused)
{
    fake_set_current(fake_primary(0));
    for (int i = 0; i < BURST; i++)
        (void)room_alloc(512);
    return unused;
}

START_TEST(no_row_is_lost_when_nothing_is_freed_for_long)
{
    (void)room_alloc(512);
    ck_assert_int_eq(sc_engine_step(0), 0);
    for (int i = 0; i < THREADS; i++)
        (void)allocate_many(NULL);
    lines log = room_log();

    ck_assert_uint_gt(assert_numbered(&log), 3000); /* before the end */
    lines_release(&log);
    sc_engine_finish();
    log = room_log();
    ck_assert_uint_eq(assert_numbered(&log), THREADS * BURST + 1);
    ck_assert_uint_eq(lines_count(&log, "warn"), 0);
    lines_release(&log);
}
END_TEST

START_TEST(no_row_is_lost_when_threads_write_at_once)
{
    pthread_t threads[THREADS];

    room_free(room_alloc(MIB)); /* while the first one starts the cache, others pass */
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, allocate_many, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    sc_engine_finish();
    lines log = room_log();

    ck_assert_uint_eq(assert_numbered(&log), 2 + THREADS * BURST);
    lines_release(&log);
}
END_TEST

START_TEST(served_requests_are_written_too)
{
    sc_address blocks[1000];

    (void)setenv("SHAPECACHE_OVERHEAD", "1000%", 1);
    for (int step = 0; step < 4; step++) {
        for (int i = 0; i < 1000; i++)
            blocks[i] = room_alloc(128 * KIB);
        for (int i = 1000; i-- > 0;)
            room_free(blocks[i]);
        ck_assert_int_eq(sc_engine_step(-1), 0);
    }
    unsigned before = fake_count(FAKE_MEM_ALLOC);

    for (int i = 0; i < 1000; i++)
        (void)room_alloc(128 * KIB);
    ck_assert_uint_eq(fake_count(FAKE_MEM_ALLOC), before);
    lines log = room_log();

    ck_assert_uint_gt(assert_numbered(&log), 4 * 2000); /* some of the last 1000, without a free */
    lines_release(&log);
    sc_engine_finish();
}
END_TEST

START_TEST(log_every_thins_steps_out_and_no_requests)
{
    (void)setenv("SHAPECACHE_LOG_EVERY", "3", 1);
    room_fix(sizes, SIZES);
    sc_engine_finish();
    lines log = room_log();

    ck_assert_uint_eq(lines_count(&log, "step"), 2);
    ck_assert_uint_eq(assert_numbered(&log), (uint64_t)2 * 5 * SIZES);
    lines_release(&log);
}
END_TEST

START_TEST(at_three_quarters_level_event_is_step_and_a_warning_says_so)
{
    for (int i = 0; i < BATCHES; i++)
        room_batch(sizes, SIZES);
    sc_engine_finish();
    lines log = room_log();
    uint64_t events = assert_numbered(&log);
    uint64_t last = 0, step = 0;

    ck_assert_uint_gt(events, 1000);
    ck_assert_uint_lt(events, (uint64_t)BATCHES * 2 * SIZES);
    ck_assert_uint_eq(lines_count(&log, "warn"), 1);
    lines_expect(lines_of(&log, "warn", 0), "level", "\"step\"");
    for (size_t i = 0; i < log.count; i++) {
        if (is_event(log.line[i]))
            last = lines_u64(log.line[i], "step");
        if (strstr(log.line[i], "\"ev\":\"step\"") && step < last + 3)
            ck_assert_uint_eq(lines_u64(log.line[i], "step"), step++); /* one by one at first */
    }
    ck_assert_uint_eq(step, last + 3);
    char *said = room_stderr();

    ck_assert_ptr_nonnull(strstr(said, "warn: the log is three quarters full"));
    free(said);
    lines_release(&log);
}
END_TEST

START_TEST(at_level_step_a_request_is_no_row)
{
    room_fix(sizes, SIZES);
    sc_engine_frees_elsewhere(room_alloc(sizes[0]));
    sc_engine_finish();
    lines log = room_log();

    ck_assert_uint_eq(assert_numbered(&log), 0);
    ck_assert_uint_eq(lines_count(&log, "step"), 5);
    lines_release(&log);
}
END_TEST

int main(void)
{
    const TTest *const plain[] = {at_level_step_a_request_is_no_row};
    const TTest *const small[] = {at_three_quarters_level_event_is_step_and_a_warning_says_so};
    const TTest *const event[] = {
        the_outcome_of_a_request_is_that_of_its_steps_counters,
        what_was_measured_is_in_the_row,
        a_free_tells_what_became_of_the_block,
        a_second_free_and_a_failed_request_are_no_rows,
        an_address_that_the_driver_hands_out_again_was_freed_before,
        no_row_is_lost_when_nothing_is_freed_for_long,
        no_row_is_lost_when_threads_write_at_once,
        served_requests_are_written_too,
        log_every_thins_steps_out_and_no_requests,
    };
    Suite *suite = suite_create("events");

    sc_suite_add(suite, "plain", room_enter, room_close, plain, 1);
    sc_suite_add(suite, "small", open_small, room_close, small, 1);
    sc_suite_add(suite, "event", open_event, room_close, event, sizeof event / sizeof *event);
    return sc_suite_run(suite);
}
