/* SPDX-License-Identifier: MIT
 * The memory of rings: page-locked where it can be, pageable where not, a parent's after a fork. */
#include "support/ring_calls.h"
#include "support/suite.h"
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the control group of this process may have; 0: as much as there is. */
static uint64_t group_limit;

uint64_t __wrap_sc_cgroup_memory(const char *proc, const char *mount);
uint64_t __wrap_sc_cgroup_memory(const char *proc, const char *mount)
{
    ck_assert_str_eq(proc, "/proc/self/cgroup");
    ck_assert_str_eq(mount, "/sys/fs/cgroup");
    return group_limit;
}

START_TEST(a_ring_that_may_outgrow_its_control_group_warns)
{
    shapecache_ring_config wanted = config(); /* 384 B at most */
    shapecache_ring *first;

    group_limit = 383;
    create(&wanted);
    ck_assert_str_eq(last_line(),
                     "warn: ring latent: with it the rings of this process may come to 384 B, "
                     "above its control group's limit of 383 B: lower capacity, or set "
                     "bytes_most");
    shapecache_ring_destroy(ring);
    group_limit = 384;
    create(&wanted);
    ck_assert_ptr_null(strstr(last_line(), "warn"));
    first = ring;
    create(&wanted); /* each would fit, both do not */
    ck_assert_ptr_nonnull(strstr(last_line(), "may come to 768 B, above"));
    shapecache_ring_destroy(ring);
    shapecache_ring_destroy(first);
    create(&wanted); /* what has ended does not count */
    ck_assert_ptr_null(strstr(last_line(), "warn"));
    shapecache_ring_destroy(ring);
    wanted.capacity = 1 << 20;
    group_limit = 0;
    create(&wanted);
    ck_assert_ptr_null(strstr(last_line(), "warn"));
    shapecache_ring_destroy(ring);
}
END_TEST

/* Storage as the start line says it. */
static const char *storage(void)
{
    const char *at = strstr(last_line(), "= 384 B, ");

    ck_assert_ptr_nonnull(at);
    return at + strlen("= 384 B, ");
}

START_TEST(memory_is_page_locked_where_it_can_be)
{
    shapecache_ring_config wanted = config();

    wanted.flags = SHAPECACHE_RING_PINNED;
    create(&wanted);
    ck_assert_str_eq(storage(), "pinned");
    ck_assert_uint_eq(fake_registered(), 1);
    ck_assert(info().is_pinned);
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(add(i % 8, (float)i), SHAPECACHE_OK);
    ck_assert_int_eq(shapecache_ring_save(ring, "file"), SHAPECACHE_OK);
    ck_assert_int_eq(shapecache_ring_load(ring, "file", 0, NULL), SHAPECACHE_OK);
    ck_assert_uint_eq(fake_registered(), 1);
    ck_assert(info().is_pinned);
    fake_set_current(0); /* it is undone in the context it was done in */
    shapecache_ring_destroy(ring);
    ck_assert_uint_eq(fake_registered(), 0);
    ck_assert_uint_eq(fake_get_current(), 0);
    ck_assert(!fake_was_called_under_lock());
}
END_TEST

/* A ring that asked for pinned memory and did not get it works, and says why. */
static void check_pageable(const char *words)
{
    shapecache_ring_config wanted = config();
    float out[ELEMENTS];

    wanted.flags = SHAPECACHE_RING_PINNED;
    create(&wanted);
    ck_assert_str_eq(storage(), words);
    ck_assert_int_eq(add(2, 5), SHAPECACHE_OK);
    ck_assert_int_eq(shapecache_ring_sample(ring, 2, 0, out, sizeof out, NULL), SHAPECACHE_OK);
    ck_assert_float_eq(out[0], 5);
    ck_assert(!info().is_pinned);
    shapecache_ring_destroy(ring);
    ck_assert_uint_eq(fake_registered(), 0);
}

START_TEST(memory_that_cannot_be_page_locked_is_pageable_and_says_why)
{
    fake_fail_kind(FAKE_HOST_REGISTER, 1, SC_CUDA_OUT_OF_MEMORY);
    check_pageable("pageable (not pinned: the driver refused: see ulimit -l)");
    sc_engine_capture_begin();
    check_pageable("pageable (not pinned: a stream capture is open)");
    sc_engine_capture_end();
    fake_set_current(0);
    check_pageable("pageable (not pinned: no CUDA context is current)");
}
END_TEST

START_TEST(page_locking_that_stops_later_is_told_once)
{
    shapecache_ring_config wanted = config();
    const size_t dims[1] = {1 << 20};
    float *data = calloc(dims[0], sizeof *data);
    shapecache_ring_item item = {data, SHAPECACHE_F32, dims, 1, 0, 0};

    wanted.dims[0] = dims[0]; /* 4 MiB: 4 to a slab */
    wanted.flags = SHAPECACHE_RING_PINNED | SHAPECACHE_RING_QUIET;
    create(&wanted);
    fake_fail_kind(FAKE_HOST_REGISTER, 1, SC_CUDA_OUT_OF_MEMORY);
    for (int i = 0; i < 16; i++) {
        item.timestep = i % 8;
        ck_assert_int_eq(shapecache_ring_add(ring, &item, NULL), SHAPECACHE_OK);
    }
    ck_assert_uint_eq(fake_registered(), 1);
    ck_assert(!info().is_pinned);
    char *said = room_stderr(), *first = strstr(said, "pageable from now on");

    ck_assert_ptr_nonnull(first);
    ck_assert_ptr_null(strstr(first + 1, "pageable from now on"));
    free(said);
    shapecache_ring_destroy(ring);
    ck_assert_uint_eq(fake_registered(), 0);
    free(data);
}
END_TEST

START_TEST(a_forked_child_leaves_the_driver_alone)
{
    shapecache_ring_config wanted = config();
    int status;

    wanted.flags = SHAPECACHE_RING_PINNED;
    create(&wanted);
    ck_assert_int_eq(add(2, 5), SHAPECACHE_OK);
    fflush(NULL);
    pid_t child = fork();

    if (child == 0) {
        unsigned calls = fake_calls();
        shapecache_ring *mine;
        float out[ELEMENTS];
        int bad = shapecache_ring_sample(ring, 2, 0, out, sizeof out, NULL) || out[0] != 5;

        shapecache_ring_destroy(ring);
        bad |= shapecache_ring_create(&mine, &wanted) != SHAPECACHE_OK;
        shapecache_ring_destroy(mine);
        _exit(bad || fake_calls() != calls);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_uint_eq(fake_registered(), 1);
    shapecache_ring_destroy(ring);
}
END_TEST

SC_SUITE_WITH("ring memory", room_enter, leave, a_ring_that_may_outgrow_its_control_group_warns,
              memory_is_page_locked_where_it_can_be,
              memory_that_cannot_be_page_locked_is_pageable_and_says_why,
              page_locking_that_stops_later_is_told_once, a_forked_child_leaves_the_driver_alone)
