/* SPDX-License-Identifier: MIT */
#include "ring/plan.h"
#include "base/text.h"
#include <string.h>

enum { BUCKETS_MOST = 65536, CAPACITY_MOST = 1 << 24 };
static const uint64_t TIMESTEPS_MOST = UINT64_C(1) << 31, ENTRY_BYTES_MOST = UINT64_C(1) << 40;

size_t sc_ring_dtype_bytes(uint32_t dtype)
{
    switch (dtype) {
    case SHAPECACHE_F32:
        return 4;
    case SHAPECACHE_F16:
    case SHAPECACHE_BF16:
        return 2;
    default:
        return 0;
    }
}

const char *sc_ring_dtype_name(uint32_t dtype)
{
    static const char *const names[] = {
        [SHAPECACHE_F32] = "f32", [SHAPECACHE_F16] = "f16", [SHAPECACHE_BF16] = "bf16"};

    return dtype < sizeof names / sizeof *names ? names[dtype] : "unknown";
}

uint32_t sc_ring_owned(uint32_t buckets, uint32_t shard, uint32_t shards)
{
    return shard < buckets ? (buckets - shard - 1) / shards + 1 : 0;
}

void sc_ring_plan_defaults(shapecache_ring_config *config)
{
    *config = (shapecache_ring_config){
        .size = sizeof *config,
        .name = "ring",
        .buckets = 40,
        .capacity = 50,
        .timesteps = 1000,
        .shards = 1,
        .modulation = 0.3F,
        .replacement = SHAPECACHE_REPLACE_RANDOM,
        .dtype = SHAPECACHE_F32,
    };
}

static const char *wrong_in_keys(const shapecache_ring_config *config)
{
    if (config->size != sizeof *config)
        return "the configuration is of another version: begin with shapecache_ring_defaults()";
    if (config->buckets < 1 || config->buckets > BUCKETS_MOST)
        return "buckets must be 1 to 65536";
    if (config->capacity < 1 || config->capacity > CAPACITY_MOST)
        return "capacity must be 1 to 16777216 entries";
    if (config->timesteps < 1 || config->timesteps > TIMESTEPS_MOST)
        return "timesteps must be 1 to 2147483648";
    if (config->blocks > BUCKETS_MOST)
        return "blocks must be at most 65536";
    if (config->block_offset > UINT32_MAX - config->blocks)
        return "block_offset is too large";
    if (config->shard >= config->shards)
        return "shard must be less than shards";
    return NULL;
}

static const char *wrong_in_values(const shapecache_ring_config *config)
{
    if (!(config->modulation >= 0 && config->modulation <= 1))
        return "modulation must be 0 to 1";
    if ((unsigned)config->replacement > SHAPECACHE_REPLACE_NEAREST)
        return "there is no such replacement";
    if (!sc_ring_dtype_bytes((uint32_t)config->dtype))
        return "there is no such dtype";
    if (config->dim_count < 1 || config->dim_count > SHAPECACHE_DIMS_MOST)
        return "an entry must have 1 to 8 dimensions";
    if (config->flags & ~(uint32_t)(SHAPECACHE_RING_PINNED | SHAPECACHE_RING_QUIET))
        return "there is no such flag";
    return NULL;
}

/* Elements and bytes of an entry; false: none, or too many. */
static bool measure(sc_ring_plan *plan)
{
    uint64_t elements = 1, bytes;

    for (size_t i = 0; i < plan->dim_count; i++) {
        if (!plan->dims[i] || plan->dims[i] > ENTRY_BYTES_MOST / elements)
            return false;
        elements *= plan->dims[i];
    }
    bytes = elements * sc_ring_dtype_bytes(plan->dtype);
    plan->elements = (size_t)elements;
    plan->entry_bytes = (size_t)bytes;
    return bytes > 0 && bytes <= ENTRY_BYTES_MOST;
}

static const char *follow(sc_ring_plan *plan, uint64_t bytes_most)
{
    uint64_t blocks = plan->blocks ? plan->blocks : 1, most;

    if (!measure(plan))
        return "an entry must have at least 1 element and at most 1 TiB";
    plan->width = (double)plan->timesteps / plan->buckets;
    plan->owned = sc_ring_owned(plan->buckets, plan->shard, plan->shards);
    most = plan->owned * blocks * plan->capacity; /* at most 2^56 */
    if (bytes_most && bytes_most < plan->entry_bytes)
        return "bytes_most must have room for one entry at least";
    if (bytes_most && most > bytes_most / plan->entry_bytes)
        most = bytes_most / plan->entry_bytes;
    if (plan->owned * blocks > UINT32_MAX || most >= UINT32_MAX ||
        most > UINT64_MAX / 2 / plan->entry_bytes)
        return "that is more entries than a ring can count";
    plan->places = (uint32_t)(plan->owned * blocks);
    plan->entries_most = (uint32_t)most;
    return NULL;
}

static void take_name(sc_ring_plan *plan, const char *name)
{
    if (!name || !*name)
        name = "ring";
    memcpy(plan->name, name, sc_text_fitting(name, strlen(name), sizeof plan->name - 1));
}

bool sc_ring_plan_make(sc_ring_plan *plan, const shapecache_ring_config *config, const char **wrong)
{
    if ((*wrong = wrong_in_keys(config)) || (*wrong = wrong_in_values(config)))
        return false;
    *plan = (sc_ring_plan){
        .buckets = config->buckets,
        .capacity = config->capacity,
        .timesteps = config->timesteps,
        .blocks = config->blocks,
        .block_offset = config->block_offset,
        .shard = config->shard,
        .shards = config->shards,
        .dtype = (uint32_t)config->dtype,
        .replacement = (uint32_t)config->replacement,
        .dim_count = config->dim_count,
        .modulation = (double)config->modulation,
        .seed = config->seed,
        .flags = config->flags,
    };
    memcpy(plan->dims, config->dims, config->dim_count * sizeof *plan->dims);
    take_name(plan, config->name);
    *wrong = follow(plan, config->bytes_most);
    return *wrong == NULL;
}

uint32_t sc_ring_bucket_of(const sc_ring_plan *plan, double timestep)
{
    double bucket = timestep / plan->width;

    if (bucket <= 0)
        return 0;
    return bucket < plan->buckets ? (uint32_t)bucket : plan->buckets - 1;
}

bool sc_ring_owns(const sc_ring_plan *plan, uint32_t bucket)
{
    return bucket % plan->shards == plan->shard;
}

bool sc_ring_nearest_owned(const sc_ring_plan *plan, uint32_t bucket, uint32_t *nearest)
{
    uint64_t shards = plan->shards;
    uint64_t up = (plan->shard + shards - bucket % shards) % shards; /* so far to the next above */
    uint64_t down = shards - up;
    bool is_above = bucket + up < plan->buckets, is_below = down <= bucket;

    if (!is_above && !is_below)
        return false;
    *nearest = (uint32_t)(is_above && (!is_below || up <= down) ? bucket + up : bucket - down);
    return true;
}

uint32_t sc_ring_place_of(const sc_ring_plan *plan, sc_ring_key key)
{
    return key.block * plan->owned + key.bucket / plan->shards;
}

sc_ring_key sc_ring_key_of(const sc_ring_plan *plan, uint32_t place)
{
    return (sc_ring_key){place / plan->owned, place % plan->owned * plan->shards + plan->shard};
}
