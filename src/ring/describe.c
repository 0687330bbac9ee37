/* SPDX-License-Identifier: MIT */
#include "ring/describe.h"
#include <string.h>

static void say(sc_text *text, uint64_t count, const char *what)
{
    sc_text_u64(text, count);
    sc_text_string(text, what);
}

void sc_ring_say_name(sc_text *text, const char *name)
{
    sc_text_string(text, "ring");
    if (strcmp(name, "ring") != 0) {
        sc_text_char(text, ' ');
        sc_text_string(text, name);
    }
    sc_text_string(text, ": ");
}

static uint64_t worst(const sc_ring_plan *plan)
{
    return (uint64_t)plan->entries_most * plan->entry_bytes;
}

void sc_ring_say_start(sc_text *text, const sc_ring_plan *plan, const char *storage)
{
    sc_ring_say_name(text, plan->name);
    sc_text_string(text, "shard ");
    say(text, plan->shard, " of ");
    say(text, plan->shards, ", owns ");
    say(text, plan->owned, " of ");
    say(text, plan->buckets, " buckets");
    if (plan->blocks) {
        sc_text_string(text, ", blocks [");
        say(text, plan->block_offset, ", ");
        say(text, (uint64_t)plan->block_offset + plan->blocks, ")");
    }
    sc_text_string(text, ", at most ");
    say(text, plan->entries_most, " entries of ");
    sc_text_size(text, plan->entry_bytes);
    sc_text_string(text, " = ");
    sc_text_size(text, worst(plan));
    sc_text_string(text, ", ");
    sc_text_string(text, storage);
}

void sc_ring_say_nothing_owned(sc_text *text, const sc_ring_plan *plan)
{
    sc_ring_say_name(text, plan->name);
    sc_text_string(text, "shard ");
    say(text, plan->shard, " of ");
    say(text, plan->shards, " owns none of ");
    say(text, plan->buckets, " buckets: it keeps nothing, and there is nothing to draw from it");
}

void sc_ring_say_limit(sc_text *text, const char *name, uint64_t bytes, uint64_t limit)
{
    sc_ring_say_name(text, name);
    sc_text_string(text, "with it the rings of this process may come to ");
    sc_text_size(text, bytes);
    sc_text_string(text, ", above its control group's limit of ");
    sc_text_size(text, limit);
    sc_text_string(text, ": lower capacity, or set bytes_most");
}

void sc_ring_say_stats(sc_text *text, const char *name, const shapecache_ring_info *info)
{
    sc_ring_say_name(text, name);
    say(text, info->entries, " entries, ");
    sc_text_size(text, info->bytes);
    sc_text_string(text, ", in ");
    say(text, info->filled, "/");
    say(text, info->owned, " buckets; ");
    say(text, info->added, " added, ");
    say(text, info->evicted, " evicted, ");
    say(text, info->refused, " refused, ");
    say(text, info->not_owned, " not owned; ");
    say(text, info->sampled, " sampled, ");
    say(text, info->remapped, " of them from the nearest owned bucket");
}

void sc_ring_say_loaded(sc_text *text, const char *name, const char *path,
                        const shapecache_ring_loaded *loaded)
{
    const struct {
        uint64_t count;
        const char *what;
    } left[] = {
        {loaded->left_block, " of blocks not covered here"},
        {loaded->left_bucket, " of buckets that lie across two here"},
        {loaded->left_shard, " of buckets that other shards own"},
        {loaded->left_capacity, " beyond what a bucket or bytes_most holds"},
    };
    const char *before = "; left ";

    sc_ring_say_name(text, name);
    sc_text_string(text, "took ");
    say(text, loaded->taken, " entries of ");
    sc_text_string(text, path);
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        if (!left[i].count)
            continue;
        sc_text_string(text, before);
        say(text, left[i].count, left[i].what);
        before = ", ";
    }
}
