/* SPDX-License-Identifier: MIT
 * Every driver call of a run fails once: the run goes on, errors are passed on, and the books still
 * balance. */
#include "support/room.h"
#include "support/suite.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIVE_MOST = 16, PASSED = 0, FAULT = 1, FINISHED = 2 };

static const uint64_t sizes[] = {3 * MIB, 3 * MIB, 3 * MIB, 2 * MIB, 4 * MIB, 100 * KIB};
enum { SIZES = 6 };

/* What the program believes it owns. */
static sc_address owned[LIVE_MOST];
static unsigned faults;

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            faults++;                                                                              \
            (void)fprintf(stderr, "line %d: not %s\n", __LINE__, #condition);                      \
        }                                                                                          \
    } while (0)

/* The slot of the allocation, or -1: failed, with the output untouched. */
static int allocate(uint64_t bytes)
{
    sc_address address = 77;
    int result = sc_engine_alloc(&address, bytes, (const void *)0x10);
    int empty = -1;

    if (result != SC_CUDA_SUCCESS) {
        EXPECT(address == 77);
        return -1;
    }
    EXPECT(fake_is_live(address));
    for (int i = 0; i < LIVE_MOST; i++) {
        EXPECT(owned[i] != address); /* never two owners */
        if (!owned[i])
            empty = i;
    }
    owned[empty] = address;
    return empty;
}

/* A free that answers with an error has not freed: the program still owns the block. */
static void give_back(int slot)
{
    if (slot >= 0 && sc_engine_free(owned[slot]) == SC_CUDA_SUCCESS)
        owned[slot] = 0;
}

static void run_batch(void)
{
    int slots[SIZES];

    for (int i = 0; i < SIZES; i++)
        slots[i] = allocate(sizes[i]);
    for (int i = 0; i < SIZES; i++)
        give_back(slots[i]);
    (void)sc_engine_step(-1);
}

/* Batches until served, another context, a new shape, out of memory, and what is left over goes. */
static void run_scenario(void)
{
    for (int i = 0; i < 4; i++)
        run_batch();
    int slot = allocate(sizes[0]);

    fake_set_current(fake_primary(1));
    give_back(slot);
    fake_set_current(fake_primary(0));
    give_back(allocate(2 * MIB + 512));
    for (int i = 0; i < 4; i++)
        run_batch();
    slot = allocate(sizes[0]);
    EXPECT(allocate(1024 * MIB) == -1 || slot == -1); /* all that the device has */
    give_back(slot);
    EXPECT(allocate(4096 * MIB) == -1);
    (void)sc_engine_make_room();
    run_batch();
    fake_fail_at(0, 0);
    for (int i = 0; i < LIVE_MOST; i++) {
        if (owned[i])
            give_back(i);
        EXPECT(!owned[i]);
    }
    (void)sc_engine_make_room();
    /* an idle block whose free is the call that failed is nobody's any more */
    EXPECT(fake_live_blocks() <= 1);
    sc_engine_finish();
}

/* In a process of its own: an engine cannot be started twice. */
static int run_failing(unsigned n, int result)
{
    room_open(1024 * MIB);
    fake_forget_counts();
    fake_fail_at(n, result);
    run_scenario();
    EXPECT(!fake_was_called_under_lock());
    bool is_beyond = fake_calls() < n;

    EXPECT(!is_beyond || fake_live_blocks() == 0);
    if (room_has_file("log")) {
        lines log = room_log();

        lines_release(&log);
    }
    room_close();
    return faults ? FAULT : is_beyond ? FINISHED : PASSED;
}

static void fail_each_call_with(int result)
{
    int status = 0;

    for (unsigned n = 1; status != FINISHED; n++) {
        pid_t child = fork();

        if (child == 0)
            _exit(run_failing(n, result));
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_msg(WIFEXITED(status), "call %u failing with %d: signal %d", n, result,
                      WTERMSIG(status));
        status = WEXITSTATUS(status);
        ck_assert_msg(status != FAULT, "call %u failing with %d", n, result);
        ck_assert_uint_lt(n, 2000);
    }
}

START_TEST(any_call_that_fails_leaves_the_books_balanced)
{
    fail_each_call_with(999);
}
END_TEST

START_TEST(any_call_that_runs_out_of_memory_leaves_the_books_balanced)
{
    fail_each_call_with(SC_CUDA_OUT_OF_MEMORY);
}
END_TEST

START_TEST(any_call_that_kills_the_context_leaves_the_books_balanced)
{
    fail_each_call_with(700);
}
END_TEST

SC_SUITE("failure", any_call_that_fails_leaves_the_books_balanced,
         any_call_that_runs_out_of_memory_leaves_the_books_balanced,
         any_call_that_kills_the_context_leaves_the_books_balanced)
