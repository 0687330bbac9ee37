/* SPDX-License-Identifier: MIT */
#include "ring/header.h"
#include "support/rings.h"
#include "support/suite.h"
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCKS = 3, OFFSET = 6 };

static sc_ring saved, loaded;
static shapecache_ring_loaded took;
static char why[1000];

static shapecache_ring_config filed(void)
{
    shapecache_ring_config config = rings_config();

    config.buckets = 8;
    config.timesteps = 8;
    config.capacity = 4;
    config.blocks = BLOCKS;
    config.block_offset = OFFSET;
    config.seed = 99;
    return config;
}

/* The value says where it is: block x 100 + bucket, and a fraction by age. */
static void fill(sc_ring *ring, int each)
{
    for (int block = 0; block < (int)(ring->plan.blocks ? ring->plan.blocks : 1); block++)
        for (int t = 0; t < (int)ring->plan.buckets; t++)
            for (int i = 0; i < each; i++)
                (void)rings_add(ring, t + 0.5, block, (float)(block * 100 + t) + (float)i / 64);
}

static const char *save_filled(const shapecache_ring_config *config, int each)
{
    static char path[4096];

    strcpy(path, rings_path("ring"));
    rings_open(&saved, config);
    fill(&saved, each);
    ck_assert_int_eq(rings_save(&saved, path), SHAPECACHE_OK);
    return path;
}

START_TEST(a_checksum_is_what_xz_would_say)
{
    static sc_crc64 crc;

    sc_crc64_begin(&crc);
    sc_crc64_add(&crc, "123456789", 9);
    ck_assert_uint_eq(crc.value, UINT64_C(0x995dc9bbdf1939fa));
    sc_crc64_begin(&crc);
    for (const char *at = "123456789"; *at; at++)
        sc_crc64_add(&crc, at, 1);
    ck_assert_uint_eq(crc.value, UINT64_C(0x995dc9bbdf1939fa));
}
END_TEST

START_TEST(what_is_loaded_is_what_was_saved_and_goes_on_as_it_would_have)
{
    for (int dtype = 0; dtype < 3; dtype++)
        for (int replacement = 0; replacement < 3; replacement++) {
            shapecache_ring_config config = filed();

            config.dtype = (shapecache_dtype)dtype;
            config.replacement = (shapecache_replacement)replacement;
            const char *path = save_filled(&config, 6); /* and evicts */

            ck_assert_int_eq(rings_load(&loaded, &config, path, 0, &took, NULL), SHAPECACHE_OK);
            ck_assert_uint_eq(took.taken, 8 * 3 * 4);
            ck_assert(rings_are_same(&saved, &loaded));
            for (int i = 0; i < 200; i++) { /* the same chance, and the same ages */
                rings_put(&saved, i % 8, i % 3, (float)i);
                rings_put(&loaded, i % 8, i % 3, (float)i);
                ck_assert_float_eq(rings_draw(&saved, SC_REACH_ALL, 0, 0, NULL),
                                   rings_draw(&loaded, SC_REACH_ALL, 0, 0, NULL));
            }
            ck_assert(rings_are_same(&saved, &loaded));
            rings_close(&saved);
            rings_close(&loaded);
        }
}
END_TEST

START_TEST(an_empty_ring_is_a_file_too)
{
    shapecache_ring_config config = filed();
    const char *path = save_filled(&config, 0);
    struct stat info;

    ck_assert_int_eq(stat(path, &info), 0);
    ck_assert_int_eq(info.st_size, 256 + 8);
    ck_assert_int_eq(rings_load(&loaded, &config, path, 0, &took, NULL), SHAPECACHE_OK);
    ck_assert_uint_eq(took.taken, 0);
    ck_assert_uint_eq(sc_ring_entries(&loaded, SHAPECACHE_NO_BLOCK), 0);
    rings_close(&saved);
    rings_close(&loaded);
}
END_TEST

/* One difference between the file and the ring, and what must be said of it. */
static void check_refused(const shapecache_ring_config *file, const shapecache_ring_config *here,
                          const char *words, bool can_overlap)
{
    const char *path = save_filled(file, 2);

    ck_assert_int_eq(rings_load(&loaded, here, path, 0, &took, why), SHAPECACHE_EREFUSED);
    ck_assert_msg(strstr(why, words), "\"%s\" lacks \"%s\"", why, words);
    shapecache_status status = rings_load(&loaded, here, path, SHAPECACHE_RING_OVERLAP, &took, why);

    ck_assert_int_eq(status, can_overlap ? SHAPECACHE_OK : SHAPECACHE_EREFUSED);
    if (can_overlap) {
        ck_assert_uint_eq(took.taken + took.left_block + took.left_bucket + took.left_shard +
                              took.left_capacity,
                          saved.store.used);
        ck_assert_uint_eq(took.taken, loaded.store.used);
        ck_assert_uint_eq(loaded.counters.added, took.taken);
        rings_close(&loaded);
    }
    rings_close(&saved);
    ck_assert_uint_eq(rings_slabs(), 0);
}

START_TEST(a_file_of_another_kind_is_refused_with_both_values)
{
    shapecache_ring_config file = filed(), here = filed();

    here.block_offset = 0;
    check_refused(&file, &here, "block offset 6 in the file, 0 here", true);
    here = file;
    here.blocks = 4;
    check_refused(&file, &here, "block count 3 in the file, 4 here", true);
    here = file;
    here.shards = 2;
    check_refused(&file, &here, "shard layout 0 of 1 in the file, 0 of 2 here", true);
    here = file;
    here.buckets = 10;
    check_refused(&file, &here, "bucket count 8 in the file, 10 here", true);
    here = file;
    here.timesteps = 1000;
    check_refused(&file, &here, "timestep count 8 in the file, 1000 here", true);
    here = file;
    here.dtype = SHAPECACHE_BF16;
    check_refused(&file, &here, "dtype f32 in the file, bf16 here", false);
    here = file;
    here.dims[0] = 4;
    check_refused(&file, &here, "shape 3 in the file, 4 here", false);
    here = file;
    here.dim_count = 2;
    here.dims[1] = 1;
    check_refused(&file, &here, "shape 3 in the file, 3x1 here", false);
    here = file;
    here.blocks = 0;
    check_refused(&file, &here, "keys (block, bucket) in the file, (bucket) here", false);
}
END_TEST

START_TEST(all_differences_are_named_at_once)
{
    shapecache_ring_config file = filed(), here = filed();

    here.buckets = 40;
    here.shards = 4;
    here.shard = 3;
    check_refused(
        &file, &here,
        "shard layout 0 of 1 in the file, 3 of 4 here; bucket count 8 in the file, 40 here", true);
}
END_TEST

START_TEST(what_says_nothing_of_where_entries_belong_may_differ)
{
    shapecache_ring_config file = filed(), here = filed();
    const char *path = save_filled(&file, 4);

    here.name = "another";
    here.modulation = 0.5F;
    here.replacement = SHAPECACHE_REPLACE_FIFO;
    here.capacity = 100;
    here.seed = 5;
    ck_assert_int_eq(rings_load(&loaded, &here, path, 0, &took, NULL), SHAPECACHE_OK);
    ck_assert(rings_are_same(&saved, &loaded));
    rings_close(&loaded);
    rings_close(&saved);
}
END_TEST

START_TEST(a_smaller_capacity_keeps_the_last_and_says_what_was_left)
{
    shapecache_ring_config file = filed(), here = filed();

    file.replacement = SHAPECACHE_REPLACE_FIFO;
    const char *path = save_filled(&file, 4);

    here.capacity = 3;
    ck_assert_int_eq(rings_load(&loaded, &here, path, 0, &took, NULL), SHAPECACHE_OK);
    ck_assert_uint_eq(took.taken, 8 * 3 * 3);
    ck_assert_uint_eq(took.left_capacity, 8 * 3);
    for (uint32_t place = 0; place < loaded.plan.places; place++)
        for (uint32_t i = 0; i < 3; i++)
            ck_assert_float_eq(rings_value(&loaded, place, i), rings_value(&saved, place, i + 1));
    rings_close(&loaded);
    here.capacity = 4;
    here.bytes_most = 12 * 24; /* one for each bucket */
    ck_assert_int_eq(rings_load(&loaded, &here, path, 0, &took, NULL), SHAPECACHE_OK);
    ck_assert_uint_eq(took.taken, 24);
    ck_assert_uint_eq(took.left_capacity, 72);
    for (uint32_t place = 0; place < loaded.plan.places; place++)
        ck_assert_uint_eq(loaded.store.places[place].count, 1);
    rings_close(&loaded);
    rings_close(&saved);
}
END_TEST

/* Every entry of the loaded ring is in the place that its value names, by what bucket and block
 * meant in the file. */
static void check_labels(const shapecache_ring_config *file)
{
    for (uint32_t place = 0; place < loaded.plan.places; place++)
        for (uint32_t i = 0; i < loaded.store.places[place].count; i++) {
            sc_ring_key key = sc_ring_key_of(&loaded.plan, place);
            int value = (int)rings_value(&loaded, place, i);
            double part = (value % 100 + 0.5) / file->buckets; /* of the schedule */

            ck_assert_uint_eq((uint32_t)(part * loaded.plan.buckets), key.bucket);
            ck_assert_uint_eq(key.block + loaded.plan.block_offset,
                              (uint32_t)value / 100 + file->block_offset);
        }
}

START_TEST(an_overlap_takes_what_is_still_ours_under_its_own_label)
{
    static const struct {
        uint32_t offset, blocks, shard, shards, buckets;
        uint64_t taken, block, bucket, shard_left;
    } cases[] = {
        {7, 3, 0, 1, 8, 2 * 16, 16, 0, 0},   /* blocks 7 and 8 of 6, 7, 8 */
        {20, 3, 0, 1, 8, 0, 3 * 16, 0, 0},   /* none */
        {6, 3, 1, 2, 8, 3 * 8, 0, 0, 3 * 8}, /* odd buckets */
        {6, 3, 0, 1, 4, 3 * 16, 0, 0, 0},    /* two in one */
        {6, 3, 0, 1, 16, 0, 0, 3 * 16, 0},   /* each across two */
        {6, 3, 0, 1, 6, 3 * 8, 0, 3 * 8, 0}, /* 4 of 8 lie in one of 6 */
        {8, 1, 1, 2, 4, 8, 2 * 16, 0, 8},    /* everything at once */
        {6, 3, 9, 10, 8, 0, 0, 0, 3 * 16},   /* a shard that owns nothing */
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        shapecache_ring_config file = filed(), here = filed();
        const char *path = save_filled(&file, 2);

        here.block_offset = cases[i].offset;
        here.blocks = cases[i].blocks;
        here.shard = cases[i].shard;
        here.shards = cases[i].shards;
        here.buckets = cases[i].buckets;
        ck_assert_int_eq(rings_load(&loaded, &here, path, SHAPECACHE_RING_OVERLAP, &took, NULL),
                         SHAPECACHE_OK);
        ck_assert_uint_eq(took.taken, cases[i].taken);
        ck_assert_uint_eq(took.left_block, cases[i].block);
        ck_assert_uint_eq(took.left_bucket, cases[i].bucket);
        ck_assert_uint_eq(took.left_shard, cases[i].shard_left);
        check_labels(&file);
        rings_close(&loaded);
        rings_close(&saved);
    }
}
END_TEST

START_TEST(after_a_load_without_overlap_the_ring_is_empty_and_says_so)
{
    shapecache_ring_config file = filed(), here = filed();
    shapecache_ring_info info;

    file.shards = 2;
    const char *path = save_filled(&file, 2);

    here.shard = 1;
    here.shards = 2;
    ck_assert_int_eq(rings_load(&loaded, &here, path, SHAPECACHE_RING_OVERLAP, &took, NULL),
                     SHAPECACHE_OK);
    sc_ring_inform(&loaded, &info);
    ck_assert_uint_eq(took.taken, 0);
    ck_assert_uint_eq(took.left_shard, saved.store.used);
    ck_assert_uint_eq(info.entries, 0);
    ck_assert_uint_eq(info.added, 0);
    ck_assert_uint_eq(sc_ring_entries(&loaded, SHAPECACHE_NO_BLOCK), 0);
    rings_close(&loaded);
    rings_close(&saved);
}
END_TEST

/* Names in the test's folder. */
static unsigned files(void)
{
    char folder[4096];
    unsigned count = 0;

    strcpy(folder, rings_path(""));
    DIR *names = opendir(folder);

    ck_assert_ptr_nonnull(names);
    for (struct dirent *name = readdir(names); name; name = readdir(names))
        count += name->d_name[0] != '.';
    (void)closedir(names);
    return count;
}

START_TEST(a_save_that_fails_leaves_the_old_file_and_nothing_else)
{
    shapecache_ring_config config = filed();
    const char *path = save_filled(&config, 1);
    struct rlimit limit, before;
    sc_ring larger;

    ck_assert_uint_eq(files(), 1);
    rings_open(&larger, &config);
    fill(&larger, 4);
    (void)signal(SIGXFSZ, SIG_IGN);
    for (rlim_t most = 0; most < 1000; most += 333) { /* fails there: "File too large" */
        ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
        limit = (struct rlimit){most, before.rlim_max};
        ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
        shapecache_status status = rings_save(&larger, path);

        ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
        ck_assert_int_eq(status, SHAPECACHE_EFILE);
        ck_assert_uint_eq(files(), 1);
        ck_assert_int_eq(rings_load(&loaded, &config, path, 0, NULL, NULL), SHAPECACHE_OK);
        ck_assert(rings_are_same(&saved, &loaded));
        rings_close(&loaded);
    }
    ck_assert_int_eq(rings_save(&larger, path), SHAPECACHE_OK);
    ck_assert_uint_eq(files(), 1);
    rings_close(&larger);
    rings_close(&saved);
}
END_TEST

START_TEST(paths_that_cannot_be_are_errors_of_files)
{
    shapecache_ring_config config = filed();
    char path[8192];

    rings_open(&saved, &config);
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    ck_assert_int_eq(rings_save(&saved, path), SHAPECACHE_EFILE);
    ck_assert_int_eq(rings_save(&saved, "/no/such/folder/ring"), SHAPECACHE_EFILE);
    ck_assert_int_eq(rings_load(&loaded, &config, rings_path("none"), 0, NULL, why),
                     SHAPECACHE_EFILE);
    ck_assert_str_eq(why, "No such file or directory");
    ck_assert_int_eq(rings_load(&loaded, &config, rings_path(""), 0, NULL, why), SHAPECACHE_EFILE);
    ck_assert_int_eq(mkfifo(rings_path("fifo"), 0600), 0);
    ck_assert_int_eq(rings_load(&loaded, &config, rings_path("fifo"), 0, NULL, why),
                     SHAPECACHE_EFILE);
    rings_close(&saved);
}
END_TEST

START_TEST(a_file_is_as_the_documentation_says)
{
    shapecache_ring_config config = filed();
    unsigned char bytes[4096];
    float value;

    config.shards = 2;
    const char *path = save_filled(&config, 1);
    int fd = open(path, O_RDONLY);

    ck_assert_int_eq(read(fd, bytes, sizeof bytes), 256 + 12 * (16 + 12) + 8);
    (void)close(fd);
    ck_assert_mem_eq(bytes, "SCRING\r\n\1\0\0\0\0\1\0\0", 16);
    ck_assert_uint_eq(sc_ring_get_u64(bytes + 16), 600);
    ck_assert_uint_eq(sc_ring_get_u32(bytes + 32), 8);
    ck_assert_uint_eq(sc_ring_get_u32(bytes + 36), 4);
    ck_assert_uint_eq(sc_ring_get_u32(bytes + 44), BLOCKS);
    ck_assert_uint_eq(sc_ring_get_u32(bytes + 48), OFFSET);
    ck_assert_uint_eq(sc_ring_get_u32(bytes + 56), 2);
    ck_assert_uint_eq(sc_ring_get_u64(bytes + 64), RINGS_ELEMENTS);
    ck_assert_uint_eq(sc_ring_get_u64(bytes + 128), 12);
    ck_assert_uint_eq(sc_ring_get_u64(bytes + 144), 12);     /* added */
    ck_assert_uint_eq(sc_ring_get_u64(bytes + 168), 12);     /* not owned */
    ck_assert_uint_eq(sc_ring_get_u32(bytes + 256 + 28), 0); /* the second place: block 0 */
    ck_assert_uint_eq(sc_ring_get_u32(bytes + 256 + 32), 2); /* bucket 2 */
    ck_assert_uint_eq(sc_ring_get_u32(bytes + 256 + 36), 1); /* one entry */
    memcpy(&value, bytes + 256 + 44, sizeof value);
    ck_assert_float_eq(value, 2);
    rings_close(&saved);
}
END_TEST

SC_SUITE("ring file", a_checksum_is_what_xz_would_say,
         what_is_loaded_is_what_was_saved_and_goes_on_as_it_would_have, an_empty_ring_is_a_file_too,
         a_file_of_another_kind_is_refused_with_both_values, all_differences_are_named_at_once,
         what_says_nothing_of_where_entries_belong_may_differ,
         a_smaller_capacity_keeps_the_last_and_says_what_was_left,
         an_overlap_takes_what_is_still_ours_under_its_own_label,
         after_a_load_without_overlap_the_ring_is_empty_and_says_so,
         a_save_that_fails_leaves_the_old_file_and_nothing_else,
         paths_that_cannot_be_are_errors_of_files, a_file_is_as_the_documentation_says)
