/* SPDX-License-Identifier: MIT
 * What is left of an out-of-memory: a record that adds up, and a text on stderr when the program
 * did not recover. Calls of malloc are counted. */
#include "engine/device.h"
#include "engine/logbook.h"
#include "shapecache/shapecache.h"
#include "support/heap.h"
#include "support/room.h"
#include "support/suite.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZES = 4, MEMORY = 64, FAULT = 1, FINISHED = 2 };

/* 22 MiB in the driver's pages; none is larger than the overhead of 25% leaves room for */
static const uint64_t sizes[SIZES] = {4 * MIB, 4 * MIB, 6 * MIB, 8 * MIB};
static const void *const here = (const void *)0x1a2b;

static void open_room(void)
{
    room_open(MEMORY * MIB);
}

static void refuse_from(uint64_t bytes, const void *site)
{
    sc_address block = 77;

    ck_assert_int_eq(sc_engine_alloc(&block, bytes, site), SC_CUDA_OUT_OF_MEMORY);
    ck_assert_uint_eq(block, 77);
}

static void refuse(uint64_t mib)
{
    refuse_from(mib * MIB, here);
}

static unsigned count_told(void)
{
    char *said = room_stderr();
    unsigned count = 0;

    for (const char *at = said; (at = strstr(at, "OUT OF MEMORY")); at++)
        count++;
    free(said);
    return count;
}

static bool is_told(void)
{
    return count_told() > 0;
}

static void expect_said(const char *part)
{
    char *said = room_stderr();

    ck_assert_msg(strstr(said, part) != NULL, "%s", said);
    free(said);
}

static bool adds_up(const char *oom)
{
    uint64_t sum = lines_u64(oom, "live") + lines_u64(oom, "idle") + lines_u64(oom, "passed");

    return sum + lines_u64(oom, "other") + lines_u64(oom, "driver_free") == lines_u64(oom, "total");
}

START_TEST(the_record_says_where_every_byte_is)
{
    fake_take_memory(10 * MIB);
    room_fix(sizes, SIZES);
    sc_address kept = room_alloc(4 * MIB);

    fake_fail_kind(FAKE_MEM_ALLOC, 2, SC_CUDA_OUT_OF_MEMORY);
    refuse(3);
    lines log = room_log();
    const char *oom = lines_of(&log, "oom", 0);

    lines_expect(oom, "verdict", "\"fragmented\"");
    ck_assert_uint_eq(lines_u64(oom, "total"), MEMORY * MIB);
    ck_assert_uint_eq(lines_u64(oom, "live"), 4 * MIB);
    ck_assert_uint_eq(lines_u64(oom, "idle"), 0);
    ck_assert_uint_eq(lines_u64(oom, "idle_released"), 18 * MIB);
    ck_assert_uint_eq(lines_u64(oom, "other"), 10 * MIB);
    ck_assert_uint_eq(lines_u64(oom, "driver_free"), 50 * MIB);
    ck_assert_uint_eq(lines_u64(oom, "step_peak"), 22 * MIB);
    lines_release(&log);
    room_free(kept);
}
END_TEST

/* Of every record that has figures. */
static unsigned count_wrong_sums(void)
{
    lines log = room_log();
    unsigned wrong = 0;
    char field[32];

    for (size_t i = 0; i < lines_count(&log, "oom"); i++) {
        const char *oom = lines_of(&log, "oom", i);

        wrong += lines_field(oom, "total", field, sizeof field) && !adds_up(oom);
    }
    lines_release(&log);
    return wrong;
}

/* Small and odd sizes, two devices, memory of others, and failures at the end. */
static int run_failing(unsigned n)
{
    static const uint64_t odd[] = {3 * MIB + 1, 100 * KIB, 513, MIB - 1, 5 * MIB};
    sc_address block, kept[5];

    open_room();
    fake_take_memory(3 * MIB + 77);
    fake_forget_counts();
    fake_fail_at(n, SC_CUDA_OUT_OF_MEMORY);
    for (int step = 0; step < 4; step++) {
        for (int i = 0; i < 5; i++)
            if (sc_engine_alloc(&kept[i], odd[i], here) != SC_CUDA_SUCCESS)
                kept[i] = 0;
        for (int i = step < 3 ? 0 : 2; i < 5; i++)
            (void)sc_engine_free(kept[i]);
        (void)sc_engine_step(-1);
    }
    for (int i = 0; i < 3; i++)
        (void)sc_engine_alloc(&block, 62 * MIB, here);
    (void)sc_engine_make_room();
    bool is_beyond = fake_calls() < n;

    sc_engine_finish();
    int wrong = (room_has_file("log") && count_wrong_sums()) || fake_was_called_under_lock();

    room_close();
    return wrong ? FAULT : is_beyond ? FINISHED : 0;
}

START_TEST(it_adds_up_whichever_call_of_the_driver_fails)
{
    int status = 0;

    for (unsigned n = 1; status != FINISHED; n++) {
        pid_t child = fork();

        if (child == 0)
            _exit(run_failing(n));
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_msg(WIFEXITED(status), "call %u: signal %d", n, WTERMSIG(status));
        status = WEXITSTATUS(status);
        ck_assert_msg(status != FAULT, "call %u", n);
        ck_assert_uint_lt(n, 1000);
    }
}
END_TEST

START_TEST(what_the_program_survives_is_in_the_log_alone)
{
    room_batch(sizes, SIZES);
    refuse(100);
    room_free(room_alloc(4 * MIB));
    refuse(100);
    room_free(room_alloc(4 * MIB));
    sc_engine_finish();
    lines log = room_log();

    ck_assert(!is_told());
    ck_assert_uint_eq(lines_count(&log, "oom"), 2);
    lines_expect_absent(lines_of(&log, "end", 0), "unrecovered");
    lines_release(&log);
}
END_TEST

START_TEST(what_our_retry_recovered_is_in_the_log_alone)
{
    room_fix(sizes, SIZES);
    fake_fail_kind(FAKE_MEM_ALLOC, 1, SC_CUDA_OUT_OF_MEMORY);
    (void)room_alloc(2 * MIB);
    sc_engine_finish();
    lines log = room_log();

    ck_assert(!is_told());
    lines_expect(lines_of(&log, "oom", 0), "verdict", "\"trimmed\"");
    lines_release(&log);
}
END_TEST

START_TEST(the_end_tells_the_last_failure_once)
{
    room_batch(sizes, SIZES);
    (void)room_alloc_from(8 * MIB, here);
    refuse(62);
    ck_assert(!is_told());
    sc_engine_finish();
    expect_said("OUT OF MEMORY: 62.0 MiB refused on device 0 in step 1 (phase warmup), asked for "
                "at train+0x1a2b\n");
    expect_said("  device   64 MiB = 8 live + 0 idle + 0 other + 56 free; 6 MiB short\n");
    expect_said("  why      too-big: ");
    expect_said("  live     8 MiB in 1 x 8.00 MiB train+0x");
    expect_said("  all      shapecache oom log\n");
    lines log = room_log();

    ck_assert_uint_eq(lines_u64(lines_of(&log, "end", 0), "unrecovered"), 1);
    lines_release(&log);
}
END_TEST

START_TEST(a_second_failure_with_nothing_granted_between_is_told_at_once)
{
    room_batch(sizes, SIZES);
    refuse(70);
    ck_assert(!is_told());
    refuse(80);
    expect_said("OUT OF MEMORY, twice in a row: 80.0 MiB refused");
    refuse(90); /* the same story goes on */
    sc_engine_finish();
    ck_assert_uint_eq(count_told(), 1);
}
END_TEST

START_TEST(a_program_that_gives_memory_back_is_still_trying)
{
    sc_address one = room_alloc(8 * MIB), other = room_alloc(8 * MIB);

    refuse(70);
    room_free(one);
    refuse(70);
    room_free(other);
    refuse(70);
    ck_assert(!is_told());
    (void)room_alloc(8 * MIB);
    sc_engine_finish();
    ck_assert(!is_told());
}
END_TEST

/* What it is refused itself is none of what it has. */
START_TEST(giving_back_a_little_and_asking_for_more_is_still_trying)
{
    sc_address one = room_alloc(4 * MIB), other = room_alloc(512);

    (void)room_alloc(8 * MIB);
    refuse(54);
    room_free(one);
    refuse(58);
    room_free(other);
    refuse(58);
    ck_assert(!is_told());
    refuse(60);
    ck_assert(is_told());
}
END_TEST

START_TEST(asking_for_less_is_still_trying)
{
    (void)room_alloc(20 * MIB);
    refuse(64);
    refuse(56);
    refuse(48);
    ck_assert(!is_told());
    (void)room_alloc(40 * MIB);
    sc_engine_finish();
    ck_assert(!is_told());
}
END_TEST

START_TEST(a_step_that_ended_since_is_a_recovery)
{
    room_batch(sizes, SIZES);
    refuse(70);
    ck_assert_int_eq(sc_engine_step(-1), 0);
    refuse(70);
    ck_assert_int_eq(sc_engine_step(-1), 0);
    sc_engine_finish();
    ck_assert(!is_told());
}
END_TEST

START_TEST(a_framework_that_asks_again_has_failed_once)
{
    const void *hoarder = (const void *)(ROOM_HOARDER + 16);

    (void)room_alloc_from(40 * MIB, hoarder);
    for (int i = 0; i < 3; i++) /* as PyTorch does before it raises */
        refuse_from(30 * MIB, hoarder);
    ck_assert(!is_told());
    sc_engine_finish();
    expect_said("64 MiB = 0 live + 0 idle + 40 PyTorch's own + 0 other + 24 free; 6 MiB short");
    expect_said("elsewhere: PyTorch's own allocator has most of the device, in 1 segment\n");
    expect_said("  try      shapecache run --torch=segments asks PyTorch");
}
END_TEST

/* PyTorch has 40 MiB, is refused more, and says how much of them it uses. */
static void run_hollow(int at_end)
{
    const void *hoarder = (const void *)(ROOM_HOARDER + 16);
    shapecache_allocator_info info = {.size = sizeof info,
                                      .reserved = 40 * MIB,
                                      .allocated = 12 * MIB,
                                      .reserved_peak = 41 * MIB,
                                      .allocated_peak = 39 * MIB};

    (void)room_alloc_from(40 * MIB, hoarder);
    refuse_from(30 * MIB, hoarder);
    ck_assert_int_eq(shapecache_allocator(0, at_end, &info), SHAPECACHE_OK);
    sc_engine_finish();
}

START_TEST(what_a_framework_says_of_its_memory_is_told_with_both_figures)
{
    run_hollow(0);
    expect_said("it holds 40.0 MiB, of which tensors use 12.0 MiB\n");
    expect_said("try      PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True lets PyTorch use again "
                "the 28.0 MiB");
    lines log = room_log();
    const char *said = lines_of(&log, "allocator", 0);

    lines_expect(said, "what", "\"oom\"");
    ck_assert_uint_eq(lines_u64(said, "reserved"), 40 * MIB);
    ck_assert_uint_eq(lines_u64(said, "allocated"), 12 * MIB);
    ck_assert_uint_eq(lines_u64(said, "reserved_peak"), 41 * MIB);
    ck_assert_uint_eq(lines_u64(said, "allocated_peak"), 39 * MIB);
    ck_assert_uint_eq(lines_u64(said, "expandable"), 0);
    char advice[512];

    ck_assert(lines_field(said, "advice", advice, sizeof advice));
    ck_assert_ptr_nonnull(strstr(advice, "expandable_segments:True"));
    lines_release(&log);
}
END_TEST

START_TEST(what_the_user_has_set_is_not_advised)
{
    (void)setenv("PYTORCH_ALLOC_CONF", "expandable_segments:True", 1);
    run_hollow(0);
    char *said = room_stderr();

    ck_assert_ptr_nonnull(strstr(said, "tensors use 12.0 MiB"));
    ck_assert_ptr_null(strstr(said, "expandable_segments"));
    free(said);
}
END_TEST

START_TEST(what_a_framework_says_at_the_end_explains_nothing)
{
    run_hollow(1);
    char *said = room_stderr();

    ck_assert_ptr_null(strstr(said, "of which tensors use"));
    free(said);
}
END_TEST

START_TEST(an_allocator_that_says_nothing_sensible_is_refused)
{
    shapecache_allocator_info info = {.size = sizeof info - 1};

    ck_assert_int_eq(shapecache_allocator(0, 0, NULL), SHAPECACHE_EVALUE);
    ck_assert_int_eq(shapecache_allocator(0, 0, &info), SHAPECACHE_EVALUE);
    info.size = sizeof info;
    ck_assert_int_eq(shapecache_allocator(0, 0, &info), SHAPECACHE_EOFF);
    (void)room_alloc(MIB);
    ck_assert_int_eq(shapecache_allocator(99, 0, &info), SHAPECACHE_EDEVICE);
}
END_TEST

START_TEST(segments_given_back_are_not_counted)
{
    const void *hoarder = (const void *)(ROOM_HOARDER + 16);
    sc_address one = room_alloc_from(40 * MIB, hoarder), two = room_alloc_from(MIB, hoarder);

    room_free(one);
    sc_engine_frees_elsewhere(two);
    refuse_from(65 * MIB, hoarder);
    lines log = room_log();

    ck_assert_uint_eq(lines_u64(lines_of(&log, "oom", 0), "passed"), 0);
    lines_release(&log);
}
END_TEST

static void *give_back(void *block)
{
    fake_set_current(fake_primary(0));
    room_free(*(sc_address *)block);
    return NULL;
}

/* PyTorch's autograd threads, which never ask the driver for anything themselves. */
START_TEST(segments_that_another_thread_gives_back_are_not_counted)
{
    const void *hoarder = (const void *)(ROOM_HOARDER + 16);
    sc_address one = room_alloc_from(40 * MIB, hoarder);
    pthread_t thread;

    ck_assert_int_eq(pthread_create(&thread, NULL, give_back, &one), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    fake_take_memory(40 * MIB);
    refuse_from(65 * MIB, hoarder);
    sc_engine_finish();
    lines log = room_log();

    ck_assert_uint_eq(lines_u64(lines_of(&log, "oom", 0), "passed"), 0);
    ck_assert_uint_eq(lines_u64(lines_of(&log, "end", 0), "driver_frees"), 1);
    lines_release(&log);
}
END_TEST

static void expect_verdict_where_others_have_most(const char *verdict)
{
    fake_take_memory((MEMORY - 10) * MIB);
    (void)room_alloc_from(2 * MIB, here);
    refuse(20);
    sc_engine_finish();
    lines log = room_log();

    lines_expect(lines_of(&log, "oom", 0), "verdict", verdict);
    lines_release(&log);
}

START_TEST(what_was_taken_before_the_first_allocation_is_another_process)
{
    expect_verdict_where_others_have_most("\"other-process\"");
}
END_TEST

/* A program whose first memory comes from a pool, or is mapped: it may be its own. */
START_TEST(unless_this_one_had_memory_by_another_allocator)
{
    sc_engine_granted();
    expect_verdict_where_others_have_most("\"elsewhere\"");
}
END_TEST

START_TEST(a_context_takes_its_segments_with_it)
{
    const void *hoarder = (const void *)(ROOM_HOARDER + 16);

    (void)room_alloc_from(40 * MIB, hoarder);
    fake_end_context(fake_primary(0));
    sc_engine_context_ends(fake_primary(0));
    fake_revive_context(fake_primary(0), 0);
    fake_set_current(fake_primary(0));
    refuse_from(65 * MIB, hoarder);
    lines log = room_log();

    ck_assert_uint_eq(lines_u64(lines_of(&log, "oom", 0), "passed"), 0);
    lines_release(&log);
}
END_TEST

START_TEST(in_a_capture_the_driver_is_not_asked_and_nothing_is_said)
{
    room_fix(sizes, SIZES);
    sc_engine_capture_begin();
    fake_forget_counts();
    refuse(70);
    refuse(70);
    ck_assert_uint_eq(fake_count(FAKE_MEM_INFO), 0);
    ck_assert_uint_eq(fake_count(FAKE_MEM_FREE), 0);
    sc_engine_capture_end();
    ck_assert(!is_told());
    sc_engine_finish();
    lines log = room_log();

    lines_expect(lines_of(&log, "oom", 0), "verdict", "\"capture\"");
    lines_expect_absent(lines_of(&log, "oom", 0), "total");
    lines_release(&log);
}
END_TEST

START_TEST(what_the_gate_would_have_given_back_is_named)
{
    (void)setenv("SHAPECACHE_GATE", "0", 1);
    room_batch(sizes, SIZES);
    refuse(60);
    sc_engine_finish();
    expect_said("why      gate-off: 22 MiB lie idle in the cache");
    expect_said("try      run it without SHAPECACHE_GATE=0");
}
END_TEST

START_TEST(with_the_summary_off_nothing_is_said)
{
    (void)setenv("SHAPECACHE_SUMMARY", "off", 1);
    room_batch(sizes, SIZES);
    refuse(70);
    refuse(70);
    sc_engine_finish();
    char *said = room_stderr();

    ck_assert_str_eq(said, "");
    free(said);
}
END_TEST

/* The third number of each [..] of a list, summed; their count in *count. */
static uint64_t sum_of(const char *list, int place, unsigned *count)
{
    uint64_t sum = 0;

    *count = 0;
    for (const char *at = strchr(list + 1, '['); at; at = strchr(at + 1, '[')) {
        unsigned long long figure[4];

        ck_assert_int_eq(
            sscanf(at, "[%llu,%llu,%llu,%llu]", &figure[0], &figure[1], &figure[2], &figure[3]), 4);
        sum += figure[place];
        ++*count;
    }
    return sum;
}

START_TEST(holders_are_those_with_most_and_the_rest_is_summed)
{
    unsigned count;
    char list[512];

    for (int i = 0; i < 3; i++)
        (void)room_alloc(4 * MIB);
    (void)room_alloc(10 * MIB);
    (void)room_alloc(6 * MIB);
    (void)room_alloc(2 * MIB);
    (void)room_alloc(8 * MIB);
    refuse(40);
    sc_engine_finish();
    lines log = room_log();
    const char *oom = lines_of(&log, "oom", 0);

    ck_assert(lines_field(oom, "holders", list, sizeof list));
    ck_assert_uint_eq(sum_of(list, 3, &count), 30 * MIB);
    ck_assert_uint_eq(count, 3);
    ck_assert_ptr_nonnull(strstr(list, "[[0,4194304,3,12582912],[1,10485760,1,"));
    ck_assert_uint_eq(lines_u64(oom, "live"), 38 * MIB);
    lines_release(&log);
    expect_said("; 8 MiB in 2 other shapes\n");
}
END_TEST

START_TEST(what_grew_since_the_step_before_is_named)
{
    unsigned count;
    char list[512];

    room_batch(sizes, SIZES); /* two buffers of 4 MiB live at once */
    room_batch(sizes, SIZES);
    for (int i = 0; i < 5; i++)
        (void)room_alloc(4 * MIB);
    (void)room_alloc(6 * MIB); /* no more than before */
    (void)room_alloc(10 * MIB);
    refuse(40);
    lines log = room_log();

    ck_assert(lines_field(lines_of(&log, "oom", 0), "changed", list, sizeof list));
    (void)sum_of(list, 3, &count);
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(list, "[[0,4194304,2,5],[3,10485760,0,1]]");
    lines_release(&log);
    sc_engine_finish();
    expect_said("  changed  since step 1: +12 MiB, 2 -> 5 x 4.00 MiB train+0x401000; +10 MiB, 0 -> "
                "1 x 10.0 MiB train+0xa01000\n");
}
END_TEST

START_TEST(a_refused_call_allocates_nothing)
{
    sc_address block;

    room_batch(sizes, SIZES);
    refuse(70);
    fake_fail_kind(FAKE_MEM_ALLOC, 2, SC_CUDA_OUT_OF_MEMORY);
    unsigned before = atomic_load(&allocations); /* check's own calls are among them */
    int result = sc_engine_alloc(&block, sizes[0], here);
    unsigned after = atomic_load(&allocations);

    ck_assert_int_eq(result, SC_CUDA_OUT_OF_MEMORY);
    ck_assert_uint_eq(after, before);
}
END_TEST

START_TEST(another_allocators_end_is_told_too)
{
    room_batch(sizes, SIZES);
    (void)room_alloc(60 * MIB);
    ck_assert(!sc_engine_make_room());
    sc_engine_finish();
    expect_said("OUT OF MEMORY: an allocation of another kind was refused on device 0 in step 1");
}
END_TEST

/* Managed memory after a cudaMalloc that failed, or a pool that frees what it kept. */
START_TEST(what_another_allocator_is_granted_is_a_recovery)
{
    room_batch(sizes, SIZES);
    (void)room_alloc(60 * MIB);
    ck_assert(!sc_engine_make_room());
    sc_engine_granted();
    refuse(10);
    sc_engine_granted();
    refuse(10);
    ck_assert(!is_told());
    sc_engine_capture_begin();
    sc_engine_granted(); /* a node of a graph, no memory yet */
    sc_engine_capture_end();
    ck_assert(sc_oom_is_held());
    sc_engine_granted();
    sc_engine_finish();
    ck_assert(!is_told());
    lines log = room_log();

    ck_assert_uint_eq(lines_count(&log, "oom"), 3);
    lines_expect_absent(lines_of(&log, "end", 0), "unrecovered");
    lines_release(&log);
}
END_TEST

START_TEST(a_program_that_lives_on_does_not_flood_stderr)
{
    room_batch(sizes, SIZES);
    (void)room_alloc(8 * MIB);
    for (int i = 0; i < 100; i++) {
        refuse(70);
        refuse(70);
        room_free(room_alloc(4 * MIB));
    }
    ck_assert_uint_eq(count_told(), 8);
    refuse(60);
    refuse(60);
    sc_engine_finish(); /* that one it did not survive */
    ck_assert_uint_eq(count_told(), 9);
}
END_TEST

START_TEST(failures_without_end_leave_the_log_room_for_the_end)
{
    unsigned refused = 0;
    sc_address block;
    char end[4096];

    (void)setenv("SHAPECACHE_LOG_MAX", "2MiB", 1);
    (void)room_alloc(8 * MIB);
    for (int i = 0; i < 6500; i++) /* checks would take longer */
        refused += sc_engine_alloc(&block, 60 * MIB, here) == SC_CUDA_OUT_OF_MEMORY;
    ck_assert_uint_eq(refused, 6500);
    sc_engine_finish();
    FILE *log = fopen("log", "r"); /* 2 MiB of it: the end will do */

    ck_assert_ptr_nonnull(log);
    ck_assert_int_eq(fseek(log, -(long)sizeof end + 1, SEEK_END), 0);
    end[fread(end, 1, sizeof end - 1, log)] = '\0';
    (void)fclose(log);
    ck_assert_ptr_nonnull(strstr(end, "{\"ev\":\"oom\","));
    ck_assert_ptr_nonnull(strstr(end, "{\"ev\":\"end\","));
    ck_assert_ptr_nonnull(strstr(end, "\"unrecovered\":1,"));
}
END_TEST

int main(void)
{
    const TTest *const in_a_room[] = {
        the_record_says_where_every_byte_is,
        what_the_program_survives_is_in_the_log_alone,
        what_our_retry_recovered_is_in_the_log_alone,
        the_end_tells_the_last_failure_once,
        a_second_failure_with_nothing_granted_between_is_told_at_once,
        a_program_that_gives_memory_back_is_still_trying,
        giving_back_a_little_and_asking_for_more_is_still_trying,
        asking_for_less_is_still_trying,
        a_step_that_ended_since_is_a_recovery,
        a_framework_that_asks_again_has_failed_once,
        what_a_framework_says_of_its_memory_is_told_with_both_figures,
        what_the_user_has_set_is_not_advised,
        what_a_framework_says_at_the_end_explains_nothing,
        an_allocator_that_says_nothing_sensible_is_refused,
        segments_given_back_are_not_counted,
        segments_that_another_thread_gives_back_are_not_counted,
        what_was_taken_before_the_first_allocation_is_another_process,
        unless_this_one_had_memory_by_another_allocator,
        a_context_takes_its_segments_with_it,
        in_a_capture_the_driver_is_not_asked_and_nothing_is_said,
        what_the_gate_would_have_given_back_is_named,
        with_the_summary_off_nothing_is_said,
        holders_are_those_with_most_and_the_rest_is_summed,
        what_grew_since_the_step_before_is_named,
        a_refused_call_allocates_nothing,
        another_allocators_end_is_told_too,
        what_another_allocator_is_granted_is_a_recovery,
        a_program_that_lives_on_does_not_flood_stderr,
        failures_without_end_leave_the_log_room_for_the_end,
    };
    const TTest *const apart[] = {it_adds_up_whichever_call_of_the_driver_fails};
    Suite *suite = suite_create("oom");

    sc_suite_add(suite, "room", open_room, room_close, in_a_room,
                 sizeof in_a_room / sizeof *in_a_room);
    sc_suite_add(suite, "failures", NULL, NULL, apart, 1);
    return sc_suite_run(suite);
}
