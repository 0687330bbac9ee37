/* SPDX-License-Identifier: MIT
 * test_ledger.c - records of the program's allocations, told by hand as libcudart tells them: what
 * only certain orders of calls bring about. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

static struct gate gate;

static const void *pointer(CUdeviceptr address)
{
    return (const void *)(uintptr_t)address;
}

static CUdeviceptr allocate(size_t bytes)
{
    CUdeviceptr memory;

    OK(cuMemAlloc(&memory, bytes));
    simcuda_allocated(pointer(memory), bytes);
    return memory;
}

/* A free of the program that a cache keeps the block of. */
static void park(CUdeviceptr memory)
{
    simcuda_freed(simcuda_freeing(pointer(memory)), 1);
}

static CUstream held_stream(void)
{
    CUstream stream;

    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    gate_hold(&gate, stream);
    gate_reached(&gate);
    return stream;
}

static void finish(void)
{
    gate_open(&gate);
    OK(cuCtxSynchronize());
}

/* The report of `body` has these violations and no other. */
static void finds(void (*body)(void), const char *kind, int count)
{
    char *report = report_of(body);
    const char *violations = strstr(report, "\"violations\"");
    char expected[128];

    if (count > 0)
        snprintf(expected, sizeof expected, "\"violations\": {\n    \"%s\": %d\n  }", kind, count);
    else
        snprintf(expected, sizeof expected, "\"violations\": {}");
    ck_assert_ptr_nonnull(violations);
    ck_assert_msg(strncmp(violations, expected, strlen(expected)) == 0, "not %s: %s", expected,
                  violations);
    free(report);
}

static void give_while_freeing(void)
{
    CUdeviceptr memory;
    simcuda_allocation *freeing;
    CUstream stream;

    start();
    memory = allocate(MIB);
    stream = held_stream();
    OK(cuMemsetD8Async(memory, 1, MIB, stream));
    freeing = simcuda_freeing(pointer(memory));
    simcuda_allocated(pointer(memory), MIB); /* another thread has got it meanwhile */
    finish();
    simcuda_freed(freeing, 1);
    OK(cuMemsetD8(memory, 2, MIB)); /* the new owner's */
    finish();
}

START_TEST(memory_given_out_before_its_free_has_returned_is_the_new_owners)
{
    finds(give_while_freeing, "use-after-reuse", 1);
}
END_TEST

static void free_while_work_is_queued(void)
{
    CUdeviceptr memory;
    simcuda_allocation *freeing;
    CUstream stream;

    start();
    memory = allocate(MIB);
    stream = held_stream();
    OK(cuMemsetD8Async(memory, 1, MIB, stream));
    freeing = simcuda_freeing(pointer(memory));
    finish(); /* the free waits for it */
    simcuda_freed(freeing, 1);
}

START_TEST(work_enqueued_before_a_free_may_run_until_the_free_returns)
{
    finds(free_while_work_is_queued, "", 0);
}
END_TEST

static void fail_to_free(void)
{
    CUdeviceptr memory;

    start();
    memory = allocate(MIB);
    simcuda_freed(simcuda_freeing(pointer(memory)), 0);
    OK(cuMemsetD8(memory, 1, MIB));
    OK(cuCtxSynchronize());
    simcuda_freed(simcuda_freeing(pointer(memory)), 1);
}

START_TEST(after_a_free_that_failed_the_memory_is_the_programs_as_before)
{
    finds(fail_to_free, "", 0);
}
END_TEST

/* A cache that cuts blocks in pieces: both of the new ones have memory of the old one. */
static void cut_in_two(void)
{
    CUdeviceptr memory;
    CUstream stream;

    with("JUDGE", "deferred");
    start();
    memory = allocate(2 * MIB);
    stream = held_stream();
    OK(cuMemsetD8Async(memory + MIB, 1, MIB, stream));
    park(memory);
    simcuda_allocated(pointer(memory), MIB);
    simcuda_allocated(pointer(memory + MIB), MIB);
    OK(cuMemsetD8(memory, 2, MIB));
    OK(cuMemsetD8(memory + MIB, 2, MIB));
    OK(cuStreamSynchronize(NULL));
    finish();
    OK(cuMemsetD8(memory, 3, MIB)); /* now that the old one's work is done */
    OK(cuMemsetD8(memory + MIB, 3, MIB));
    OK(cuCtxSynchronize());
}

START_TEST(each_piece_of_a_block_waits_for_the_blocks_former_owner)
{
    finds(cut_in_two, "early-reuse", 2);
}
END_TEST

/* A chain of owners, each of whom leaves work behind. */
static void pass_on(void)
{
    CUdeviceptr memory;
    CUstream stream;

    with("JUDGE", "deferred");
    start();
    memory = allocate(MIB);
    stream = held_stream();
    for (int i = 0; i < 5; i++) {
        OK(cuMemsetD8Async(memory, 1, MIB, stream));
        park(memory);
        simcuda_allocated(pointer(memory), MIB);
    }
    park(memory);
    simcuda_allocated(pointer(memory), MIB); /* by one who did nothing */
    OK(cuMemsetD8(memory, 2, MIB));
    OK(cuStreamSynchronize(NULL));
    finish();
}

START_TEST(work_of_an_owner_before_the_last_counts_too)
{
    finds(pass_on, "early-reuse", 1);
}
END_TEST

static void end_the_context(void)
{
    CUdevice device;
    CUdeviceptr memory;

    start();
    OK(cuCtxGetDevice(&device));
    memory = allocate(MIB);
    OK(cuMemsetD8(memory, 1, MIB));
    OK(cuDevicePrimaryCtxReset(device));
}

START_TEST(memory_that_ends_with_its_context_is_no_leak)
{
    char *report = report_of(end_the_context);

    ck_assert_int_eq(number_in(report, "leaks"), 0);
    free(report);
}
END_TEST

/* The driver's own door, of which nobody told us, gets memory that a record once had. */
static void come_by_another_door(void)
{
    CUdeviceptr memory = 0, first;
    simcuda_allocation *freeing;

    with("MEMORY", "64MiB");
    start();
    first = allocate(32 * MIB);
    freeing = simcuda_freeing(pointer(first));
    OK(cuMemFree(first));
    simcuda_freed(freeing, 1);
    for (int i = 0; i < 1000000 && memory != first; i++) { /* until addresses come round */
        OK(cuMemAlloc(&memory, 32 * MIB));
        if (memory != first)
            OK(cuMemFree(memory));
    }
    ck_assert_uint_eq(memory, first);
    OK(cuMemsetD8(memory, 1, MIB));
    OK(cuCtxSynchronize());
    freeing = simcuda_freeing(pointer(memory));
    OK(cuMemFree(memory));
    simcuda_freed(freeing, 1);
}

START_TEST(memory_of_an_unseen_door_is_not_taken_for_a_former_owners)
{
    finds(come_by_another_door, "", 0);
}
END_TEST

/* Random owners, and now and then a free of what is none. Not `real`: only counts what there is to
 * be found. */
static uint64_t random_seed;

struct found {
    int wrong, live;
};

static struct found play(bool real)
{
    enum { SLOTS = 64, STEPS = 20000 };
    struct {
        bool used;
        CUdeviceptr memory;
    } slots[SLOTS] = {0};
    struct found found = {0, 0};
    uint64_t state = random_seed;

    for (int step = 0; step < STEPS; step++) {
        size_t slot = next_random(&state) % SLOTS;
        size_t bytes = 1 + next_random(&state) % (64 * KIB);
        bool is_wrong = slots[slot].used && next_random(&state) % 64 == 0;

        if (is_wrong)
            found.wrong++;
        else
            found.live += slots[slot].used ? -1 : 1;
        if (real && is_wrong) {
            park(slots[slot].memory + 1);
        } else if (real && slots[slot].used) {
            simcuda_allocation *freeing = simcuda_freeing(pointer(slots[slot].memory));

            OK(cuMemFree(slots[slot].memory));
            simcuda_freed(freeing, 1);
        } else if (real) {
            slots[slot].memory = allocate(bytes);
            OK(cuMemsetD8Async(slots[slot].memory, 1, bytes, NULL));
        }
        slots[slot].used = slots[slot].used == is_wrong;
    }
    return found;
}

static void play_really(void)
{
    start();
    (void)play(true);
}

START_TEST(of_many_owners_each_is_told_from_all_others)
{
    struct found expected;
    char *report;

    random_seed = seed();
    expected = play(false);
    ck_assert_int_gt(expected.wrong, 0);
    report = report_of(play_really);
    ck_assert_int_eq(number_in(report, "invalid-free"), expected.wrong);
    ck_assert_int_eq(number_in(report, "leaks"), expected.live);
    ck_assert_ptr_null(strstr(report, "use-after"));
    ck_assert_ptr_null(strstr(report, "double-free"));
    free(report);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        memory_given_out_before_its_free_has_returned_is_the_new_owners,
        work_enqueued_before_a_free_may_run_until_the_free_returns,
        after_a_free_that_failed_the_memory_is_the_programs_as_before,
        each_piece_of_a_block_waits_for_the_blocks_former_owner,
        work_of_an_owner_before_the_last_counts_too,
        memory_that_ends_with_its_context_is_no_leak,
        memory_of_an_unseen_door_is_not_taken_for_a_former_owners,
        of_many_owners_each_is_told_from_all_others,
        NULL,
    };

    return run_tests("ledger", tests);
}
