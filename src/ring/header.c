/* SPDX-License-Identifier: MIT */
#include "ring/header.h"
#include <string.h>

static const char MAGIC[8] = {'S', 'C', 'R', 'I', 'N', 'G', '\r', '\n'};
enum { VERSION = 1 };

/* Where each field begins; docs/rings.md has the same table. */
enum {
    AT_MAGIC = 0,
    AT_VERSION = 8,
    AT_HEADER_BYTES = 12,
    AT_FILE_BYTES = 16,
    AT_DTYPE = 24,
    AT_REPLACEMENT = 28,
    AT_BUCKETS = 32,
    AT_CAPACITY = 36,
    AT_TIMESTEPS = 40,
    AT_BLOCKS = 44,
    AT_BLOCK_OFFSET = 48,
    AT_SHARD = 52,
    AT_SHARDS = 56,
    AT_DIM_COUNT = 60,
    AT_DIMS = 64,
    AT_ENTRIES = 128,
    AT_ENTRY_BYTES = 136,
    AT_COUNTERS = 144, /* added, evicted, refused, not owned, sampled, remapped */
    AT_RANDOM_STATE = 192,
    AT_PLACES = 200,
    AT_ZERO = 204,
    AT_CHECK = 248
};

enum { COUNTERS = 6 };
_Static_assert(sizeof(sc_ring_counters) == COUNTERS * sizeof(uint64_t), "as the file has them");

void sc_ring_put_u32(unsigned char *at, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++)
        at[i] = (unsigned char)(value >> 8 * i);
}

void sc_ring_put_u64(unsigned char *at, uint64_t value)
{
    for (unsigned i = 0; i < 8; i++)
        at[i] = (unsigned char)(value >> 8 * i);
}

uint32_t sc_ring_get_u32(const unsigned char *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

uint64_t sc_ring_get_u64(const unsigned char *at)
{
    return sc_ring_get_u32(at) | (uint64_t)sc_ring_get_u32(at + 4) << 32;
}

sc_ring_header sc_ring_header_of(const sc_ring *ring)
{
    const sc_ring_plan *plan = &ring->plan;
    sc_ring_header header = {
        .dtype = plan->dtype,
        .replacement = plan->replacement,
        .buckets = plan->buckets,
        .capacity = plan->capacity,
        .timesteps = plan->timesteps,
        .blocks = plan->blocks,
        .block_offset = plan->block_offset,
        .shard = plan->shard,
        .shards = plan->shards,
        .dim_count = (uint32_t)plan->dim_count,
        .entries = ring->store.used,
        .entry_bytes = plan->entry_bytes,
        .counters = ring->counters,
        .random_state = ring->random.state,
    };

    for (size_t i = 0; i < plan->dim_count; i++)
        header.dims[i] = plan->dims[i];
    for (uint32_t i = 0; i < plan->places; i++)
        header.places += ring->store.places[i].count > 0;
    return header;
}

uint64_t sc_ring_header_file_bytes(const sc_ring_header *header)
{
    return SC_RING_HEADER_BYTES + (uint64_t)header->places * SC_RING_PLACE_BYTES +
           header->entries * header->entry_bytes + SC_RING_CHECK_BYTES;
}

/* One list for both directions. */
typedef struct field {
    size_t at;
    uint32_t *value;
} field;

enum { FIELDS = 11 };

static void list_fields(sc_ring_header *header, field fields[FIELDS])
{
    const field list[FIELDS] = {
        {AT_DTYPE, &header->dtype},
        {AT_REPLACEMENT, &header->replacement},
        {AT_BUCKETS, &header->buckets},
        {AT_CAPACITY, &header->capacity},
        {AT_TIMESTEPS, &header->timesteps},
        {AT_BLOCKS, &header->blocks},
        {AT_BLOCK_OFFSET, &header->block_offset},
        {AT_SHARD, &header->shard},
        {AT_SHARDS, &header->shards},
        {AT_DIM_COUNT, &header->dim_count},
        {AT_PLACES, &header->places},
    };

    memcpy(fields, list, sizeof list);
}

void sc_ring_header_encode(const sc_ring_header *header, sc_crc64 *crc,
                           unsigned char bytes[SC_RING_HEADER_BYTES])
{
    sc_ring_header copy = *header;
    uint64_t counters[COUNTERS];
    field fields[FIELDS];

    memset(bytes, 0, SC_RING_HEADER_BYTES);
    memcpy(bytes + AT_MAGIC, MAGIC, sizeof MAGIC);
    sc_ring_put_u32(bytes + AT_VERSION, VERSION);
    sc_ring_put_u32(bytes + AT_HEADER_BYTES, SC_RING_HEADER_BYTES);
    sc_ring_put_u64(bytes + AT_FILE_BYTES, sc_ring_header_file_bytes(header));
    list_fields(&copy, fields);
    for (unsigned i = 0; i < FIELDS; i++)
        sc_ring_put_u32(bytes + fields[i].at, *fields[i].value);
    for (size_t i = 0; i < SHAPECACHE_DIMS_MOST; i++)
        sc_ring_put_u64(bytes + AT_DIMS + 8 * i, header->dims[i]);
    sc_ring_put_u64(bytes + AT_ENTRIES, header->entries);
    sc_ring_put_u64(bytes + AT_ENTRY_BYTES, header->entry_bytes);
    memcpy(counters, &header->counters, sizeof counters);
    for (size_t i = 0; i < COUNTERS; i++)
        sc_ring_put_u64(bytes + AT_COUNTERS + 8 * i, counters[i]);
    sc_ring_put_u64(bytes + AT_RANDOM_STATE, header->random_state);
    sc_crc64_add(crc, bytes, AT_CHECK);
    sc_ring_put_u64(bytes + AT_CHECK, crc->value);
    sc_crc64_add(crc, bytes + AT_CHECK, SC_RING_HEADER_BYTES - AT_CHECK);
}

static void read_fields(sc_ring_header *header, const unsigned char *bytes)
{
    uint64_t counters[COUNTERS];
    field fields[FIELDS];

    list_fields(header, fields);
    for (unsigned i = 0; i < FIELDS; i++)
        *fields[i].value = sc_ring_get_u32(bytes + fields[i].at);
    for (size_t i = 0; i < SHAPECACHE_DIMS_MOST; i++)
        header->dims[i] = sc_ring_get_u64(bytes + AT_DIMS + 8 * i);
    header->entries = sc_ring_get_u64(bytes + AT_ENTRIES);
    header->entry_bytes = sc_ring_get_u64(bytes + AT_ENTRY_BYTES);
    for (size_t i = 0; i < COUNTERS; i++)
        counters[i] = sc_ring_get_u64(bytes + AT_COUNTERS + 8 * i);
    memcpy(&header->counters, counters, sizeof counters);
    header->random_state = sc_ring_get_u64(bytes + AT_RANDOM_STATE);
}

/* Would a ring of such a kind have written such a file? */
static bool is_possible(const sc_ring_header *header)
{
    shapecache_ring_config config;
    sc_ring_plan plan;
    const char *wrong;

    sc_ring_plan_defaults(&config);
    config.buckets = header->buckets;
    config.capacity = header->capacity;
    config.timesteps = header->timesteps;
    config.blocks = header->blocks;
    config.block_offset = header->block_offset;
    config.shard = header->shard;
    config.shards = header->shards;
    config.dtype = (shapecache_dtype)header->dtype;
    config.replacement = (shapecache_replacement)header->replacement;
    config.dim_count = header->dim_count;
    for (size_t i = 0; i < SHAPECACHE_DIMS_MOST; i++)
        config.dims[i] = (size_t)header->dims[i];
    return sc_ring_plan_make(&plan, &config, &wrong) && header->entry_bytes == plan.entry_bytes &&
           header->entries <= plan.entries_most && header->places <= header->entries &&
           header->places <= plan.places;
}

bool sc_ring_header_decode(sc_ring_header *header, sc_crc64 *crc,
                           const unsigned char bytes[SC_RING_HEADER_BYTES], uint64_t file_bytes,
                           sc_text *why)
{
    uint64_t says = sc_ring_get_u64(bytes + AT_FILE_BYTES);

    if (memcmp(bytes, MAGIC, sizeof MAGIC) != 0) {
        sc_text_string(why, "it is no ring file");
        return false;
    }
    sc_crc64_add(crc, bytes, AT_CHECK);
    if (crc->value != sc_ring_get_u64(bytes + AT_CHECK)) {
        sc_text_string(why, "it is damaged: the checksum of its header is wrong");
        return false;
    }
    sc_crc64_add(crc, bytes + AT_CHECK, SC_RING_HEADER_BYTES - AT_CHECK);
    if (sc_ring_get_u32(bytes + AT_VERSION) != VERSION) {
        sc_text_string(why, "format version ");
        sc_text_u64(why, sc_ring_get_u32(bytes + AT_VERSION));
        sc_text_string(why, " in the file, 1 here");
        return false;
    }
    if (says != file_bytes) {
        sc_text_string(why, "it is torn: ");
        sc_text_u64(why, file_bytes);
        sc_text_string(why, " bytes of ");
        sc_text_u64(why, says);
        return false;
    }
    read_fields(header, bytes);
    if (!is_possible(header) || sc_ring_header_file_bytes(header) != file_bytes) {
        sc_text_string(why, "it is malformed: its header contradicts itself");
        return false;
    }
    return true;
}
