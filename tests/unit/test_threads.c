/* SPDX-License-Identifier: MIT
 * Several threads at once: no block has two owners, and none is lost. Of most use under
 * -fsanitize=thread. */
#include "support/room.h"
#include "support/suite.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, ROUNDS = 1500, MINE = 6, SLOTS = 4096 };

/* One bit of ownership for each address: addresses are 512 bytes apart at least, and few enough. */
static _Atomic(sc_address) owners[SLOTS];
static atomic_uint doubles;
static atomic_uint stopping;

static void own(sc_address address)
{
    unsigned slot = (unsigned)(address / 512 * 2654435761u) % SLOTS;

    for (unsigned i = 0; i < SLOTS; i++) {
        _Atomic(sc_address) *at = &owners[(slot + i) % SLOTS];
        sc_address none = 0;

        if (atomic_load(at) == address)
            atomic_fetch_add(&doubles, 1);
        if (atomic_compare_exchange_strong(at, &none, address))
            return;
    }
}

static void disown(sc_address address)
{
    for (unsigned i = 0; i < SLOTS; i++) {
        sc_address mine = address;

        if (atomic_compare_exchange_strong(&owners[i], &mine, 0))
            return;
    }
    atomic_fetch_add(&doubles, 1);
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

static uint64_t first_seed(void)
{
    const char *text = getenv("SC_SEED");
    uint64_t seed = text ? strtoull(text, NULL, 10) : UINT64_C(20260101);

    (void)printf("SC_SEED=%llu\n", (unsigned long long)seed);
    return seed;
}

static uint64_t seed;

typedef struct worker {
    pthread_t thread;
    unsigned number;
    unsigned failures;
} worker;

/* Allocates and frees a few sizes; now and then one that was never seen, now and then a step. */
static void *work(void *self)
{
    worker *me = self;
    uint64_t state = seed + me->number;
    sc_address mine[MINE] = {0};

    fake_set_current(fake_primary((int)(me->number & 1)));
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned i = (unsigned)(next_random(&state) % MINE);

        if (mine[i]) {
            disown(mine[i]);
            me->failures += sc_engine_free(mine[i]) != SC_CUDA_SUCCESS;
            mine[i] = 0;
        } else {
            uint64_t bytes = (i + 1) * MIB;

            if (next_random(&state) % 200 == 0)
                bytes += 512 * (next_random(&state) % 64);
            if (sc_engine_alloc(&mine[i], bytes, (const void *)(uintptr_t)(i + 1)) ==
                SC_CUDA_SUCCESS)
                own(mine[i]);
            else
                mine[i] = 0;
        }
        if (next_random(&state) % 20 == 0)
            me->failures += sc_engine_step(-1) > 1;
    }
    for (unsigned i = 0; i < MINE; i++) {
        if (!mine[i])
            continue;
        disown(mine[i]);
        me->failures += sc_engine_free(mine[i]) != SC_CUDA_SUCCESS;
    }
    return NULL;
}

/* What other parts of a program do meanwhile. */
static void *disturb(void *unused)
{
    fake_set_current(fake_primary(0));
    while (!atomic_load(&stopping)) {
        sc_engine_capture_begin();
        sc_engine_door(SC_DOOR_DLSYM);
        sc_engine_capture_end();
        (void)sc_engine_make_room();
        sc_engine_result(1);
    }
    return unused;
}

static void run_workers(unsigned count)
{
    worker workers[THREADS] = {{.number = 0}};
    unsigned failures = 0;

    for (unsigned i = 0; i < count; i++) {
        workers[i].number = i;
        ck_assert_int_eq(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (unsigned i = 0; i < count; i++) {
        ck_assert_int_eq(pthread_join(workers[i].thread, NULL), 0);
        failures += workers[i].failures;
    }
    ck_assert_uint_eq(failures, 0);
    ck_assert_uint_eq(atomic_load(&doubles), 0);
}

static void open_room(void)
{
    seed = first_seed();
    (void)setenv("SHAPECACHE_LOG_LEVEL", "event", 1);
    room_open(64 * MIB);
}

START_TEST(no_block_ever_has_two_owners)
{
    run_workers(THREADS);
    sc_engine_finish();
    lines log = room_log();

    ck_assert_uint_ge(lines_count(&log, "end"), 1);
    ck_assert_uint_gt(lines_sum(&log, "end", "hits"), 0); /* else this has tried nothing */
    lines_release(&log);
}
END_TEST

START_TEST(nor_while_others_capture_and_run_out_of_memory)
{
    pthread_t other;

    room_free(room_alloc(MIB)); /* while a capture is open nothing starts */
    ck_assert_int_eq(pthread_create(&other, NULL, disturb, NULL), 0);
    run_workers(THREADS);
    atomic_store(&stopping, 1);
    ck_assert_int_eq(pthread_join(other, NULL), 0);
    sc_engine_finish();
    lines log = room_log();

    lines_release(&log);
}
END_TEST

START_TEST(the_end_may_come_while_others_work)
{
    worker one = {.number = 0};

    room_free(room_alloc(MIB));
    ck_assert_int_eq(pthread_create(&one.thread, NULL, work, &one), 0);
    sc_engine_finish();
    ck_assert_int_eq(pthread_join(one.thread, NULL), 0);
    lines log = room_log();

    ck_assert_uint_ge(lines_count(&log, "end"), 1);
    lines_release(&log);
}
END_TEST

SC_SUITE_WITH("threads", open_room, room_close, no_block_ever_has_two_owners,
              nor_while_others_capture_and_run_out_of_memory, the_end_may_come_while_others_work)
