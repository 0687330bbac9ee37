/* SPDX-License-Identifier: MIT
 * ring_calls.h - one small ring, by the functions that a program calls. */
#ifndef SC_TESTS_RING_CALLS_H
#define SC_TESTS_RING_CALLS_H

#include "shapecache/shapecache.h"
#include "support/room.h"
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ELEMENTS = 4, CAPTURED = 1 << 12 };

static shapecache_ring *ring;

static inline void leave(void)
{
    static const char *const files[] = {"file", "rank0", "rank1", "rank2", "rank3"};

    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        (void)unlink(files[i]);
    room_close(); /* which fails where there is another */
}

static inline shapecache_ring_config config(void)
{
    shapecache_ring_config made;

    shapecache_ring_defaults(&made);
    made.name = "latent";
    made.buckets = 8;
    made.timesteps = 8;
    made.capacity = 3;
    made.dims[0] = ELEMENTS;
    made.dim_count = 1;
    made.modulation = 0;
    return made;
}

static inline void create(const shapecache_ring_config *wanted)
{
    ck_assert_int_eq(shapecache_ring_create(&ring, wanted), SHAPECACHE_OK);
}

static inline shapecache_status add(double timestep, float value)
{
    const size_t dims[1] = {ELEMENTS};
    float data[ELEMENTS] = {value, value, value, value};
    shapecache_ring_item item = {data, SHAPECACHE_F32, dims, 1, timestep, 0};

    return shapecache_ring_add(ring, &item, NULL);
}

static inline shapecache_ring_info info(void)
{
    shapecache_ring_info now;

    shapecache_ring_stats(ring, &now);
    return now;
}

/* The last line on stderr, without what names the process. */
static inline const char *last_line(void)
{
    static char line[4096];
    char *all = room_stderr();
    size_t length = strlen(all);

    ck_assert_uint_gt(length, 0);
    all[length - 1] = '\0';
    const char *start = strrchr(all, '\n');

    start = strstr(start ? start : all, "] ");
    ck_assert_ptr_nonnull(start);
    snprintf(line, sizeof line, "%s", start + 2);
    free(all);
    return line;
}

#endif
