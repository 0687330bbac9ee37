/* SPDX-License-Identifier: MIT */
#include "ring/fit.h"

static void say_both(sc_text *why, const char *what, uint64_t file, uint64_t here)
{
    if (file == here)
        return;
    sc_text_string(why, what);
    sc_text_char(why, ' ');
    sc_text_u64(why, file);
    sc_text_string(why, " in the file, ");
    sc_text_u64(why, here);
    sc_text_string(why, " here; ");
}

static void say_dims(sc_text *why, const uint64_t *dims, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        sc_text_string(why, i ? "x" : "");
        sc_text_u64(why, dims[i]);
    }
}

static bool has_dims(const sc_ring_header *header, const uint64_t *dims, size_t count)
{
    bool is_same = header->dim_count == count;

    for (size_t i = 0; is_same && i < count; i++)
        is_same = header->dims[i] == dims[i];
    return is_same;
}

/* What no part of a file can be taken with. */
static bool entries_differ(const sc_ring_header *header, const sc_ring_plan *plan, sc_text *why)
{
    uint64_t dims[SHAPECACHE_DIMS_MOST];
    size_t before = why->used;

    for (size_t i = 0; i < plan->dim_count; i++)
        dims[i] = plan->dims[i];
    if (header->dtype != plan->dtype) {
        sc_text_string(why, "dtype ");
        sc_text_string(why, sc_ring_dtype_name(header->dtype));
        sc_text_string(why, " in the file, ");
        sc_text_string(why, sc_ring_dtype_name(plan->dtype));
        sc_text_string(why, " here; ");
    }
    if (!has_dims(header, dims, plan->dim_count)) {
        sc_text_string(why, "shape ");
        say_dims(why, header->dims, header->dim_count);
        sc_text_string(why, " in the file, ");
        say_dims(why, dims, plan->dim_count);
        sc_text_string(why, " here; ");
    }
    if (!header->blocks != !plan->blocks) {
        const char *const with = "(block, bucket)", *const without = "(bucket)";

        sc_text_string(why, "keys ");
        sc_text_string(why, header->blocks ? with : without);
        sc_text_string(why, " in the file, ");
        sc_text_string(why, plan->blocks ? with : without);
        sc_text_string(why, " here; ");
    }
    return why->used != before;
}

static void say_shards(sc_text *why, uint32_t shard, uint32_t shards)
{
    sc_text_u64(why, shard);
    sc_text_string(why, " of ");
    sc_text_u64(why, shards);
}

bool sc_ring_differs(const sc_ring_header *header, const sc_ring_plan *plan, sc_text *why,
                     bool *can_overlap)
{
    size_t before = why->used;

    *can_overlap = !entries_differ(header, plan, why);
    if (header->blocks && plan->blocks) {
        say_both(why, "block offset", header->block_offset, plan->block_offset);
        say_both(why, "block count", header->blocks, plan->blocks);
    }
    if (header->shard != plan->shard || header->shards != plan->shards) {
        sc_text_string(why, "shard layout ");
        say_shards(why, header->shard, header->shards);
        sc_text_string(why, " in the file, ");
        say_shards(why, plan->shard, plan->shards);
        sc_text_string(why, " here; ");
    }
    say_both(why, "bucket count", header->buckets, plan->buckets);
    say_both(why, "timestep count", header->timesteps, plan->timesteps);
    if (why->used == before)
        return false;
    why->used -= 2; /* the last "; " */
    return true;
}

/* Bucket b of n is [b/n, (b+1)/n) of the schedule. It has a place here where it lies in one of our
 * buckets whole: then an entry in it was ours to label, whatever its timestep. */
sc_ring_fit sc_ring_fit_key(const sc_ring_header *header, const sc_ring_plan *plan,
                            sc_ring_key in_file, sc_ring_key *here)
{
    uint64_t block = plan->blocks ? (uint64_t)header->block_offset + in_file.block : 0;
    uint64_t bucket = (uint64_t)in_file.bucket * plan->buckets / header->buckets;

    if (plan->blocks && (block < plan->block_offset || block - plan->block_offset >= plan->blocks))
        return SC_FIT_BLOCK;
    if ((in_file.bucket + UINT64_C(1)) * plan->buckets > (bucket + 1) * header->buckets)
        return SC_FIT_BUCKET;
    if (!sc_ring_owns(plan, (uint32_t)bucket))
        return SC_FIT_SHARD;
    *here =
        (sc_ring_key){(uint32_t)(plan->blocks ? block - plan->block_offset : 0), (uint32_t)bucket};
    return SC_FIT_OK;
}
