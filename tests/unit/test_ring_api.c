/* SPDX-License-Identifier: MIT
 * Rings as a program sees them: words and records, files of several ranks. */
#include "support/ring_calls.h"
#include "support/suite.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

START_TEST(a_ring_says_what_it_owns_and_what_it_may_come_to)
{
    shapecache_ring_config wanted = config();

    wanted.blocks = 6;
    wanted.block_offset = 6;
    wanted.shard = 1;
    wanted.shards = 3;
    create(&wanted);
    ck_assert_str_eq(last_line(),
                     "ring latent: shard 1 of 3, owns 3 of 8 buckets, blocks [6, 12), at "
                     "most 54 entries of 16 B = 864 B, pageable");
    shapecache_ring_destroy(ring);
}
END_TEST

START_TEST(a_shard_that_owns_nothing_warns_and_answers_empty)
{
    shapecache_ring_config wanted = config();
    float out[ELEMENTS];

    wanted.shard = 11;
    wanted.shards = 12;
    create(&wanted);
    ck_assert_str_eq(last_line(),
                     "warn: ring latent: shard 11 of 12 owns none of 8 buckets: it keeps "
                     "nothing, and there is nothing to draw from it");
    ck_assert_int_eq(add(3, 1), SHAPECACHE_OK);
    ck_assert_int_eq(shapecache_ring_sample(ring, 3, 0, out, sizeof out, NULL), SHAPECACHE_EEMPTY);
    ck_assert_int_eq(shapecache_ring_sample_any(ring, out, sizeof out, NULL), SHAPECACHE_EEMPTY);
    ck_assert_uint_eq(info().not_owned, 1);
    ck_assert_uint_eq(shapecache_ring_entries(ring, SHAPECACHE_NO_BLOCK), 0);
    shapecache_ring_destroy(ring);
}
END_TEST

START_TEST(a_configuration_that_cannot_be_is_named)
{
    shapecache_ring_config wanted = config();
    char why[100];

    wanted.capacity = 0;
    ck_assert_int_eq(shapecache_ring_create(&ring, &wanted), SHAPECACHE_EVALUE);
    ck_assert_str_eq(last_line(), "ring latent: capacity must be 1 to 16777216 entries");
    ck_assert_ptr_null(ring);
    shapecache_ring_error(NULL, why, sizeof why);
    ck_assert_str_eq(why, "ring latent: capacity must be 1 to 16777216 entries");
    memset(&wanted, 0, sizeof wanted);
    ck_assert_int_eq(shapecache_ring_create(&ring, &wanted), SHAPECACHE_EVALUE);
    ck_assert_int_eq(shapecache_ring_create(&ring, NULL), SHAPECACHE_EVALUE);
    shapecache_ring_destroy(NULL);
}
END_TEST

START_TEST(a_quiet_ring_says_nothing_but_what_went_wrong)
{
    shapecache_ring_config wanted = config();
    char *before = room_stderr(), *after;

    wanted.flags = SHAPECACHE_RING_QUIET;
    create(&wanted);
    shapecache_ring_report(ring);
    ck_assert_int_eq(shapecache_ring_save(ring, "file"), SHAPECACHE_OK);
    ck_assert_int_eq(shapecache_ring_load(ring, "file", 0, NULL), SHAPECACHE_OK);
    after = room_stderr();
    ck_assert_str_eq(before, after);
    ck_assert_int_eq(shapecache_ring_load(ring, "none", 0, NULL), SHAPECACHE_EFILE);
    ck_assert_str_eq(last_line(), "cannot read none: No such file or directory");
    shapecache_ring_destroy(ring);
    free(before);
    free(after);
}
END_TEST

START_TEST(items_and_buffers_are_checked_and_counted)
{
    shapecache_ring_config wanted = config();
    const size_t dims[1] = {ELEMENTS};
    _Alignas(8) char data[(ELEMENTS + 1) * sizeof(float)] = {0};
    shapecache_ring_item item = {data + 1, SHAPECACHE_F32, dims, 1, 0, 0};
    float out[ELEMENTS + 1];
    unsigned added = 7;

    create(&wanted);
    ck_assert_int_eq(shapecache_ring_add(ring, &item, &added), SHAPECACHE_EVALUE);
    ck_assert_uint_eq(added, 0);
    item.data = data;
    item.dtype = SHAPECACHE_BF16;
    ck_assert_int_eq(shapecache_ring_add(ring, &item, NULL), SHAPECACHE_EMISMATCH);
    item.dtype = SHAPECACHE_F32;
    ck_assert_int_eq(shapecache_ring_add(ring, &item, &added), SHAPECACHE_OK);
    ck_assert_uint_eq(added, 1);
    ck_assert_uint_eq(info().refused, 2);
    ck_assert_int_eq(shapecache_ring_sample_any(ring, out, sizeof out, NULL), SHAPECACHE_EMISMATCH);
    ck_assert_int_eq(shapecache_ring_sample_any(ring, (char *)out + 1, 16, NULL),
                     SHAPECACHE_EVALUE);
    ck_assert_int_eq(shapecache_ring_sample_any(ring, NULL, 16, NULL), SHAPECACHE_EVALUE);
    ck_assert_int_eq(shapecache_ring_load(ring, "file", 8, NULL), SHAPECACHE_EVALUE);
    ck_assert_int_eq(shapecache_ring_save(ring, ""), SHAPECACHE_EVALUE);
    shapecache_ring_destroy(ring);
}
END_TEST

/* 12 items, one of each timestep and four more. */
enum { ITEMS = 12 };

static void gather(shapecache_ring_item items[ITEMS], float data[ITEMS][ELEMENTS],
                   const size_t *dims)
{
    for (int i = 0; i < ITEMS; i++) {
        for (int k = 0; k < ELEMENTS; k++)
            data[i][k] = (float)(100 + i);
        items[i] = (shapecache_ring_item){data[i], SHAPECACHE_F32, dims, 1, i % 8, 0};
    }
}

START_TEST(ranks_with_one_seed_choose_the_same_of_what_was_gathered)
{
    const size_t dims[1] = {ELEMENTS};
    float data[ITEMS][ELEMENTS], out[ELEMENTS];
    shapecache_ring_item items[ITEMS];
    unsigned all = 0;

    gather(items, data, dims);
    for (uint64_t seed = 0; seed < 50; seed++) {
        bool is_seen[ITEMS] = {false};
        unsigned seen = 0;

        for (uint32_t shard = 0; shard < 4; shard++) {
            shapecache_ring_config wanted = config();
            unsigned added;

            wanted.flags = SHAPECACHE_RING_QUIET;
            wanted.shard = shard;
            wanted.shards = 4;
            create(&wanted);
            ck_assert_int_eq(shapecache_ring_add_gathered(ring, items, ITEMS, 5, seed, &added),
                             SHAPECACHE_OK);
            ck_assert_uint_eq(info().added, added);
            ck_assert_uint_eq(info().not_owned, 5 - added);
            all += added;
            for (int i = 0; i < 200 && added; i++) { /* no more than 3 entries: all come up */
                ck_assert_int_eq(shapecache_ring_sample_any(ring, out, sizeof out, NULL), 0);
                seen += !is_seen[(int)out[0] - 100];
                is_seen[(int)out[0] - 100] = true;
            }
            shapecache_ring_destroy(ring);
        }
        ck_assert_uint_eq(seen, 5);
    }
    ck_assert_uint_eq(all, 50 * 5);
}
END_TEST

START_TEST(one_wrong_item_refuses_all_that_were_gathered)
{
    shapecache_ring_config wanted = config();
    const size_t dims[1] = {ELEMENTS}, others[1] = {ELEMENTS + 1};
    float data[ITEMS][ELEMENTS];
    shapecache_ring_item items[ITEMS];
    unsigned added = 7;

    gather(items, data, dims);
    items[ITEMS - 1].dims = others;
    create(&wanted);
    ck_assert_int_eq(shapecache_ring_add_gathered(ring, items, ITEMS, 2, 1, &added),
                     SHAPECACHE_EMISMATCH);
    ck_assert_uint_eq(added, 0);
    ck_assert_uint_eq(info().entries, 0);
    ck_assert_uint_eq(info().refused, ITEMS);
    ck_assert_int_eq(shapecache_ring_add_gathered(ring, NULL, 0, 2, 1, &added), SHAPECACHE_OK);
    shapecache_ring_destroy(ring);
}
END_TEST

START_TEST(a_refusal_is_said_kept_and_recorded_and_changes_nothing)
{
    static const char words[] = "Refusing to load file: bucket count 8 in the file, 10 here (an "
                                "overlapping load would take what fits)";
    shapecache_ring_config wanted = config();
    char kept[200], cut[12], quoted[220];
    shapecache_ring_loaded loaded = {.taken = 77};

    room_free(room_alloc(3 * MIB)); /* now there is a log */
    create(&wanted);
    ck_assert_int_eq(add(2, 5), SHAPECACHE_OK);
    ck_assert_int_eq(shapecache_ring_save(ring, "file"), SHAPECACHE_OK);
    shapecache_ring_destroy(ring);
    wanted.buckets = 10;
    create(&wanted);
    shapecache_ring_error(ring, kept, sizeof kept);
    ck_assert_str_eq(kept, "");
    ck_assert_int_eq(add(3, 6), SHAPECACHE_OK);
    ck_assert_int_eq(shapecache_ring_load(ring, "file", 0, &loaded), SHAPECACHE_EREFUSED);
    ck_assert_str_eq(last_line(), words);
    shapecache_ring_error(ring, kept, sizeof kept);
    ck_assert_str_eq(kept, words);
    shapecache_ring_error(ring, cut, sizeof cut);
    ck_assert_str_eq(cut, "Refusing to");
    ck_assert_uint_eq(loaded.taken, 77);
    ck_assert_uint_eq(info().entries, 1);
    ck_assert_uint_eq(info().added, 1);
    shapecache_ring_destroy(ring);
    sc_engine_finish();
    lines log = room_log();
    const char *failed = lines_of(&log, "ring", 4); /* start, save, end, start, failed, end */

    snprintf(quoted, sizeof quoted, "\"%s\"", words);
    lines_expect(failed, "text", quoted);
    lines_expect(failed, "what", "\"failed\"");
    ck_assert_uint_eq(lines_count(&log, "ring"), 6);
    lines_release(&log);
}
END_TEST

START_TEST(records_have_what_stats_have)
{
    shapecache_ring_config wanted = config();

    wanted.shard = 1;
    wanted.shards = 2;
    room_free(room_alloc(3 * MIB));
    create(&wanted);
    for (int i = 0; i < 20; i++)
        ck_assert_int_eq(add(i % 8, 1), SHAPECACHE_OK);
    shapecache_ring_report(ring);
    ck_assert_str_eq(last_line(),
                     "ring latent: 10 entries, 160 B, in 4/4 buckets; 10 added, 0 evicted, "
                     "0 refused, 10 not owned; 0 sampled, 0 of them from the nearest owned "
                     "bucket");
    shapecache_ring_destroy(ring);
    sc_engine_finish();
    lines log = room_log();
    const char *report = lines_of(&log, "ring", 1);

    lines_expect(report, "name", "\"latent\"");
    lines_expect(report, "what", "\"report\"");
    lines_expect(report, "shard", "1");
    lines_expect(report, "shards", "2");
    lines_expect(report, "entries", "10");
    lines_expect(report, "stored", "160");
    lines_expect(report, "worst", "192");
    lines_expect(report, "filled", "4");
    lines_expect(report, "not_owned", "10");
    lines_expect(report, "pinned", "0");
    lines_expect_absent(report, "blocks");
    lines_release(&log);
}
END_TEST

/* Every entry of four ranks' files, in two ranks' rings: what a changed world size needs. */
START_TEST(files_of_an_old_world_merge_into_a_new_one)
{
    shapecache_ring_loaded loaded;
    uint64_t taken = 0;
    char path[16];

    for (uint32_t shard = 0; shard < 4; shard++) {
        shapecache_ring_config wanted = config();

        wanted.shard = shard;
        wanted.shards = 4;
        create(&wanted);
        for (int t = 0; t < 8; t++)
            for (int i = 0; i < 3; i++)
                ck_assert_int_eq(add(t, (float)(10 * t + i)), SHAPECACHE_OK);
        snprintf(path, sizeof path, "rank%u", shard);
        ck_assert_int_eq(shapecache_ring_save(ring, path), SHAPECACHE_OK);
        shapecache_ring_destroy(ring);
    }
    for (uint32_t shard = 0; shard < 2; shard++) {
        shapecache_ring_config wanted = config();

        wanted.shard = shard;
        wanted.shards = 2;
        create(&wanted);
        ck_assert_int_eq(shapecache_ring_load(ring, "rank0", 0, NULL), SHAPECACHE_EREFUSED);
        for (unsigned old = 0; old < 4; old++) {
            snprintf(path, sizeof path, "rank%u", old);
            ck_assert_int_eq(shapecache_ring_load(ring, path,
                                                  SHAPECACHE_RING_OVERLAP | SHAPECACHE_RING_MERGE,
                                                  &loaded),
                             SHAPECACHE_OK);
            taken += loaded.taken;
            ck_assert_uint_eq(loaded.taken + loaded.left_shard, 6);
        }
        ck_assert_uint_eq(info().entries, 12);
        ck_assert_uint_eq(info().filled, 4);
        ck_assert_uint_eq(info().evicted, 0);
        shapecache_ring_destroy(ring);
    }
    ck_assert_uint_eq(taken, 24);
}
END_TEST

START_TEST(a_load_says_what_it_left)
{
    shapecache_ring_config wanted = config();

    wanted.blocks = 2;
    create(&wanted);
    ck_assert_int_eq(add(2, 5), SHAPECACHE_OK);
    ck_assert_int_eq(shapecache_ring_save(ring, "file"), SHAPECACHE_OK);
    shapecache_ring_destroy(ring);
    wanted.block_offset = 1;
    create(&wanted);
    ck_assert_int_eq(shapecache_ring_load(ring, "file", SHAPECACHE_RING_OVERLAP, NULL),
                     SHAPECACHE_OK);
    ck_assert_str_eq(last_line(),
                     "ring latent: took 0 entries of file; left 1 of blocks not covered here");
    shapecache_ring_destroy(ring);
}
END_TEST

SC_SUITE_WITH("ring api", room_enter, leave, a_ring_says_what_it_owns_and_what_it_may_come_to,
              a_shard_that_owns_nothing_warns_and_answers_empty,
              a_configuration_that_cannot_be_is_named,
              a_quiet_ring_says_nothing_but_what_went_wrong,
              items_and_buffers_are_checked_and_counted,
              ranks_with_one_seed_choose_the_same_of_what_was_gathered,
              one_wrong_item_refuses_all_that_were_gathered,
              a_refusal_is_said_kept_and_recorded_and_changes_nothing, records_have_what_stats_have,
              files_of_an_old_world_merge_into_a_new_one, a_load_says_what_it_left)
