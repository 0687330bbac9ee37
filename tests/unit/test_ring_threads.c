/* SPDX-License-Identifier: MIT
 * One ring, several threads: nothing is lost or torn, whatever runs at the same time. Of most use
 * under -fsanitize=thread. */
#include "shapecache/shapecache.h"
#include "support/room.h"
#include "support/seed.h"
#include "support/suite.h"
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 3000, ELEMENTS = 64, BUCKETS = 8 };

static shapecache_ring *ring;
static const size_t dims[1] = {ELEMENTS};
static atomic_uint torn, failed;
static uint64_t seed;

/* An entry is all one number: a torn one is not. */
static void *add_and_sample(void *self)
{
    sc_random random = {seed + (uint64_t)(uintptr_t)self};
    float data[ELEMENTS], out[ELEMENTS];
    shapecache_ring_item item = {data, SHAPECACHE_F32, dims, 1, 0, 0};

    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < ELEMENTS; i++)
            data[i] = (float)round;
        item.timestep = (double)sc_random_below(&random, BUCKETS);
        atomic_fetch_add(&failed, shapecache_ring_add(ring, &item, NULL) != SHAPECACHE_OK);
        if (shapecache_ring_sample_any(ring, out, sizeof out, NULL) != SHAPECACHE_OK)
            continue; /* a load has emptied it */
        for (int i = 1; i < ELEMENTS; i++)
            atomic_fetch_add(&torn, out[i] != out[0]);
    }
    return NULL;
}

static void *save_and_load(void *self)
{
    char error[100];
    shapecache_ring_info info;

    (void)self;
    for (int round = 0; round < 20; round++) {
        atomic_fetch_add(&failed, shapecache_ring_save(ring, "file") != SHAPECACHE_OK);
        shapecache_ring_stats(ring, &info);
        atomic_fetch_add(&failed,
                         shapecache_ring_load(ring, "file", round % 2 ? SHAPECACHE_RING_MERGE : 0,
                                              NULL) != SHAPECACHE_OK);
        (void)shapecache_ring_load(ring, "none", 0, NULL);
        shapecache_ring_error(ring, error, sizeof error);
        shapecache_ring_report(ring);
    }
    return NULL;
}

START_TEST(a_ring_serves_several_threads)
{
    shapecache_ring_config config;
    shapecache_ring_info info;
    pthread_t threads[THREADS + 1];

    seed = sc_random_new("ring threads").state;
    shapecache_ring_defaults(&config);
    config.buckets = config.timesteps = BUCKETS;
    config.dims[0] = ELEMENTS;
    config.dim_count = 1;
    config.modulation = 0;
    config.flags = SHAPECACHE_RING_PINNED | SHAPECACHE_RING_QUIET;
    ck_assert_int_eq(shapecache_ring_create(&ring, &config), SHAPECACHE_OK);
    for (uintptr_t i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, add_and_sample, (void *)i), 0);
    ck_assert_int_eq(pthread_create(&threads[THREADS], NULL, save_and_load, NULL), 0);
    for (int i = 0; i <= THREADS; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    shapecache_ring_stats(ring, &info);
    ck_assert_uint_eq(atomic_load(&torn), 0);
    ck_assert_uint_eq(atomic_load(&failed), 0);
    ck_assert_uint_eq(info.added - info.evicted, info.entries);
    shapecache_ring_destroy(ring);
    ck_assert(!fake_was_called_under_lock());
}
END_TEST

static void leave(void)
{
    (void)unlink("file");
    room_close();
}

SC_SUITE_WITH("ring threads", room_enter, leave, a_ring_serves_several_threads)
