/* SPDX-License-Identifier: MIT
 * Files that were cut, damaged or made up: refused, each in a sentence, and nothing of them is left
 * in memory. A changed file with its checksums made right again is what somebody else's program
 * may write: it may be loaded, but only into a sound ring. */
#include "ring/header.h"
#include "support/rings.h"
#include "support/seed.h"
#include "support/suite.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST = 4096, ROUNDS = 8000 };

static shapecache_ring_config config;
static char path[4096];
static unsigned char good[MOST];
static size_t good_bytes;
static sc_ring ring;
static int file;

/* In memory: tens of thousands of files would keep a disk busy. */
static void write_file(const unsigned char *bytes, size_t count)
{
    if (ftruncate(file, 0) || ftruncate(file, (off_t)count) || pwrite(file, bytes, count, 0) < 0)
        ck_abort_msg("cannot write %s", path);
}

static void prepare(void)
{
    config = rings_config();
    config.buckets = 4;
    config.timesteps = 4;
    config.capacity = 2;
    config.blocks = 2;
    config.dtype = SHAPECACHE_BF16;
    const char *made = rings_path("ring");

    rings_open(&ring, &config);
    for (int i = 0; i < 12; i++)
        rings_put(&ring, i % 3, i % 2, (float)i);
    ck_assert_int_eq(rings_save(&ring, made), SHAPECACHE_OK);
    rings_close(&ring);
    int fd = open(made, O_RDONLY);

    good_bytes = (size_t)read(fd, good, sizeof good);
    (void)close(fd);
    ck_assert_uint_gt(good_bytes, 256);
    file = memfd_create("ring", 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    write_file(good, good_bytes);
}

static shapecache_status load(unsigned flags)
{
    char why[1000];
    shapecache_status status = rings_load(&ring, &config, path, flags, NULL, why);

    if (status == SHAPECACHE_OK)
        rings_close(&ring);
    else if (!*why)
        ck_abort_msg("refused without a word");
    if (rings_slabs())
        ck_abort_msg("%u slabs are left", rings_slabs());
    return status;
}

START_TEST(the_file_itself_is_good)
{
    ck_assert_int_eq(load(0), SHAPECACHE_OK);
}
END_TEST

START_TEST(every_truncation_is_refused)
{
    for (size_t count = 0; count < good_bytes; count++) {
        write_file(good, count);
        if (load(0) != SHAPECACHE_EFORMAT || load(SHAPECACHE_RING_OVERLAP) != SHAPECACHE_EFORMAT)
            ck_abort_msg("%zu of %zu bytes were loaded", count, good_bytes);
    }
}
END_TEST

START_TEST(every_extension_is_refused)
{
    for (size_t more = 1; more < 300; more += 7) {
        write_file(good, good_bytes + more); /* good is longer, and zero there */
        ck_assert_int_eq(load(0), SHAPECACHE_EFORMAT);
    }
}
END_TEST

START_TEST(every_changed_bit_is_refused)
{
    unsigned char bytes[MOST];

    memcpy(bytes, good, good_bytes);
    for (size_t bit = 0; bit < 8 * good_bytes; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1U << bit % 8);
        write_file(bytes, good_bytes);
        if (load(0) != SHAPECACHE_EFORMAT || load(SHAPECACHE_RING_OVERLAP) != SHAPECACHE_EFORMAT)
            ck_abort_msg("bit %zu may be wrong", bit);
        bytes[bit / 8] ^= (unsigned char)(1U << bit % 8);
    }
}
END_TEST

START_TEST(random_bytes_are_refused)
{
    sc_random random = sc_random_new("bytes");
    unsigned char bytes[MOST];

    for (int round = 0; round < ROUNDS; round++) {
        size_t count = sc_random_below(&random, MOST);

        for (size_t i = 0; i < count; i++)
            bytes[i] = (unsigned char)sc_random_next(&random);
        if (round % 2) /* get past the first look */
            memcpy(bytes, good, count < 16 ? count : 16);
        write_file(bytes, count);
        if (load(SHAPECACHE_RING_OVERLAP) != SHAPECACHE_EFORMAT)
            ck_abort_msg("round %d was loaded", round);
    }
}
END_TEST

/* The file's own checksums, over whatever is in it. */
static void seal(unsigned char *bytes, size_t count)
{
    static sc_crc64 crc;

    sc_crc64_begin(&crc);
    sc_crc64_add(&crc, bytes, 248);
    sc_ring_put_u64(bytes + 248, crc.value);
    sc_crc64_begin(&crc);
    sc_crc64_add(&crc, bytes, count - 8);
    sc_ring_put_u64(bytes + count - 8, crc.value);
}

START_TEST(a_lie_with_right_checksums_loads_into_a_sound_ring_or_not_at_all)
{
    static const uint32_t odd[] = {0, 1, 2, 3, 4, 7, 8, 65535, 65536, 65537, 1U << 24, UINT32_MAX};
    sc_random random = sc_random_new("lies");
    unsigned outcomes[SHAPECACHE_STATUS_MAX] = {0};
    unsigned char bytes[MOST];

    for (int round = 0; round < ROUNDS; round++) {
        memcpy(bytes, good, good_bytes);
        for (uint64_t lies = 1 + sc_random_below(&random, 3); lies; lies--) {
            size_t at = 8 + 4 * sc_random_below(&random, (good_bytes - 16) / 4);

            sc_ring_put_u32(bytes + at, odd[sc_random_below(&random, sizeof odd / sizeof *odd)]);
        }
        seal(bytes, good_bytes);
        write_file(bytes, good_bytes);
        outcomes[load(round % 2 ? SHAPECACHE_RING_OVERLAP : 0)]++; /* which checks the ring */
    }
    ck_assert_uint_gt(outcomes[SHAPECACHE_OK], 0); /* a lie about a counter or an entry */
    ck_assert_uint_gt(outcomes[SHAPECACHE_EFORMAT], 0);
    ck_assert_uint_gt(outcomes[SHAPECACHE_EREFUSED], 0);
    ck_assert_uint_eq(outcomes[SHAPECACHE_EMEMORY], 0); /* nothing is had before it is believed */
}
END_TEST

START_TEST(a_load_without_memory_leaves_nothing)
{
    config.dims[0] = 30000; /* 58.6 KiB: several slabs */
    config.capacity = 200;
    rings_open(&ring, &config);
    for (int i = 0; i < 600; i++)
        rings_put(&ring, i % 4, i % 2, (float)i);
    strcpy(path, rings_path("large"));
    ck_assert_int_eq(rings_save(&ring, path), SHAPECACHE_OK);
    rings_close(&ring);
    for (unsigned nth = 1; nth <= 3; nth++) {
        rings_fail_slab(nth);
        ck_assert_int_eq(rings_load(&ring, &config, path, 0, NULL, NULL), SHAPECACHE_EMEMORY);
        ck_assert_uint_eq(rings_slabs(), 0);
    }
    rings_fail_slab(4);
    ck_assert_int_eq(rings_load(&ring, &config, path, 0, NULL, NULL), SHAPECACHE_OK);
    rings_close(&ring);
}
END_TEST

SC_SUITE_WITH("ring fuzz", prepare, NULL, the_file_itself_is_good, every_truncation_is_refused,
              every_extension_is_refused, every_changed_bit_is_refused, random_bytes_are_refused,
              a_lie_with_right_checksums_loads_into_a_sound_ring_or_not_at_all,
              a_load_without_memory_leaves_nothing)
