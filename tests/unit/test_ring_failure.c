/* SPDX-License-Identifier: MIT
 * Every call of the C library that a ring makes fails once: the first, then the second, until a run
 * makes fewer. Each time the ring is as it was or as it should be, the file is the old one or the
 * new one, and nothing is left behind. */
#include "support/rings.h"
#include "support/suite.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS_MOST = 2000 };

static unsigned calls, fail_at;
static long live; /* allocations; looked at around what is tested alone, for check allocates too */

/* The call that must fail is made, and counted. */
static bool fails(void)
{
    return fail_at && ++calls == fail_at;
}

#define WRAP(result, name, parameters, arguments, failure)                                         \
    result __real_##name parameters;                                                               \
    result __wrap_##name parameters;                                                               \
    result __wrap_##name parameters                                                                \
    {                                                                                              \
        if (fails()) {                                                                             \
            errno = EIO;                                                                           \
            return failure;                                                                        \
        }                                                                                          \
        return __real_##name arguments;                                                            \
    }

WRAP(ssize_t, write, (int fd, const void *bytes, size_t count), (fd, bytes, count), -1)
WRAP(ssize_t, read, (int fd, void *bytes, size_t count), (fd, bytes, count), -1)
WRAP(off_t, lseek, (int fd, off_t at, int from), (fd, at, from), -1)
WRAP(int, fsync, (int fd), (fd), -1)
WRAP(int, rename, (const char *from, const char *to), (from, to), -1)

int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
    int result = __real_close(fd); /* it is closed all the same */

    if (!fails())
        return result;
    errno = EIO;
    return -1;
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    va_list more;
    int mode = 0;

    if (fails()) {
        errno = EACCES;
        return -1;
    }
    if (flags & O_CREAT) {
        va_start(more, flags);
        mode = va_arg(more, int);
        va_end(more);
    }
    return __real_open(path, flags, mode);
}

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void __real_free(void *memory);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void __wrap_free(void *memory);

static void *count_live(void *memory)
{
    live += memory != NULL;
    return memory;
}

void *__wrap_malloc(size_t bytes)
{
    return fails() ? NULL : count_live(__real_malloc(bytes));
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : count_live(__real_calloc(count, bytes));
}

void *__wrap_realloc(void *memory, size_t bytes)
{
    if (fails())
        return NULL;
    live -= memory != NULL;
    return count_live(__real_realloc(memory, bytes));
}

void __wrap_free(void *memory)
{
    live -= memory != NULL;
    __real_free(memory);
}

static shapecache_ring_config config;
static char path[4096];
static sc_ring old, larger;

static void fill(sc_ring *ring, int entries)
{
    for (int i = 0; i < entries; i++)
        rings_put(ring, i % 4, 0, (float)i);
}

static void prepare(void)
{
    config = rings_config();
    config.buckets = config.timesteps = 4;
    config.dims[0] = 20000; /* an entry is more than a buffer */
    strcpy(path, rings_path("ring"));
    rings_open(&old, &config);
    fill(&old, 3);
    ck_assert_int_eq(rings_save(&old, path), SHAPECACHE_OK);
    rings_open(&larger, &config);
    fill(&larger, 40);
}

static unsigned files(void)
{
    char folder[4096];
    unsigned count = 0;

    strcpy(folder, path);
    *strrchr(folder, '/') = '\0';
    DIR *names = opendir(folder);

    ck_assert_ptr_nonnull(names);
    for (struct dirent *name = readdir(names); name; name = readdir(names))
        count += name->d_name[0] != '.';
    (void)closedir(names);
    return count;
}

/* What is in the file, whichever of the two it may be. */
static void check_file(const sc_ring *expected)
{
    sc_ring ring;

    ck_assert_int_eq(rings_load(&ring, &config, path, 0, NULL, NULL), SHAPECACHE_OK);
    ck_assert(rings_are_same(&ring, expected));
    rings_close(&ring);
    ck_assert_uint_eq(files(), 1);
}

START_TEST(a_save_that_any_call_fails_leaves_the_old_file_or_the_new)
{
    unsigned round = 0, saved = 0;

    do {
        calls = 0;
        fail_at = ++round;
        long before = live;
        shapecache_status status = rings_save(&larger, path);
        long after = live;
        bool was_reached = calls >= fail_at;

        fail_at = 0;
        ck_assert_int_eq(after, before);
        ck_assert(status == SHAPECACHE_OK || was_reached);
        check_file(status == SHAPECACHE_OK ? &larger : &old);
        saved += status == SHAPECACHE_OK;
        ck_assert_int_eq(rings_save(&old, path), SHAPECACHE_OK);
        if (!was_reached)
            break;
    } while (round < ROUNDS_MOST);
    ck_assert_uint_gt(round, 40);          /* a write for each entry, at least */
    ck_assert_uint_lt(round, ROUNDS_MOST); /* the last one made fewer calls */
    ck_assert(saved >= 2 && saved <= 4);   /* only what syncs the folder may fail without harm */
}
END_TEST

START_TEST(a_load_that_any_call_fails_leaves_nothing)
{
    unsigned round = 0;
    sc_ring ring;

    ck_assert_int_eq(rings_save(&larger, path), SHAPECACHE_OK);
    for (;;) {
        char why[1000];
        unsigned slabs = rings_slabs();
        long before = live;

        calls = 0;
        fail_at = ++round;
        shapecache_status status = rings_load(&ring, &config, path, 0, NULL, why);
        bool was_reached = calls >= fail_at;

        bool is_same = status == SHAPECACHE_OK && rings_are_same(&ring, &larger);

        fail_at = 0;
        if (status == SHAPECACHE_OK)
            sc_ring_release(&ring, rings_memory.unmap);
        long after = live;

        ck_assert_int_eq(after, before);
        ck_assert(is_same || (status == SHAPECACHE_EFILE && *why) || status == SHAPECACHE_EMEMORY);
        ck_assert_uint_eq(rings_slabs(), slabs);
        if (!was_reached)
            break;
    }
    ck_assert_uint_gt(round, 40);
}
END_TEST

/* Eight items, of which each is there or not; false: it is neither. No assertion in here: check
 * allocates for each. */
static bool add_some(sc_ring *ring)
{
    bool is_right = true;

    for (int i = 0; i < 8; i++) {
        uint32_t used = ring->store.used;
        shapecache_status status = rings_add(ring, i % 4, 0, (float)i);

        is_right &= status == SHAPECACHE_OK || status == SHAPECACHE_EMEMORY;
        is_right &= ring->store.used == used + (status == SHAPECACHE_OK);
    }
    return is_right;
}

START_TEST(an_item_that_any_allocation_fails_is_not_there_and_the_next_is)
{
    unsigned round = 0;
    bool was_reached;

    do {
        const char *wrong;
        sc_ring_plan plan;
        sc_ring ring;
        bool is_right = true;

        ck_assert(sc_ring_plan_make(&plan, &config, &wrong));
        long before = live;

        calls = 0;
        fail_at = ++round;
        bool is_made = sc_ring_init(&ring, &plan);

        if (is_made)
            is_right = add_some(&ring);
        was_reached = calls >= fail_at;
        fail_at = 0;
        if (is_made) {
            rings_put(&ring, 0, 0, 1);
            is_right &= sc_store_check(&ring.store);
            sc_ring_release(&ring, rings_memory.unmap);
        }
        long after = live;

        ck_assert_int_eq(after, before);
        ck_assert(is_right && (is_made || was_reached));
    } while (was_reached);
    ck_assert_uint_gt(round, 5);
}
END_TEST

SC_SUITE_WITH("ring failure", prepare, NULL,
              a_save_that_any_call_fails_leaves_the_old_file_or_the_new,
              a_load_that_any_call_fails_leaves_nothing,
              an_item_that_any_allocation_fails_is_not_there_and_the_next_is)
