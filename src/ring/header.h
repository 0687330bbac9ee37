/* SPDX-License-Identifier: MIT
 * header.h - the first 256 bytes of a ring file.
 *
 *     header      256 bytes, the last 8 of them the checksum of those before
 *     places      for each (block, bucket) with entries, ascending:
 *                     block, bucket, count, 0      4 bytes each
 *                     count entries, the oldest first
 *     checksum    8 bytes, of everything before
 *
 * All numbers little-endian, checksums CRC-64/XZ; docs/rings.md has the header's fields. A file
 * says how long it is, in each of two ways, so a part of one is known for one. Pure. */
#ifndef SC_RING_HEADER_H
#define SC_RING_HEADER_H

#include "base/text.h"
#include "ring/crc64.h"
#include "ring/ring.h"
#include <stdbool.h>
#include <stdint.h>

enum { SC_RING_HEADER_BYTES = 256, SC_RING_PLACE_BYTES = 16, SC_RING_CHECK_BYTES = 8 };

typedef struct sc_ring_header {
    uint32_t dtype, replacement;
    uint32_t buckets, capacity, timesteps;
    uint32_t blocks, block_offset, shard, shards;
    uint32_t dim_count;
    uint64_t dims[SHAPECACHE_DIMS_MOST];
    uint32_t places; /* that have entries */
    uint64_t entries, entry_bytes;
    sc_ring_counters counters;
    uint64_t random_state;
} sc_ring_header;

void sc_ring_put_u32(unsigned char *at, uint32_t value);
void sc_ring_put_u64(unsigned char *at, uint64_t value);
uint32_t sc_ring_get_u32(const unsigned char *at);
uint64_t sc_ring_get_u64(const unsigned char *at);

sc_ring_header sc_ring_header_of(const sc_ring *ring);
uint64_t sc_ring_header_file_bytes(const sc_ring_header *header);

/* `crc` has begun, and nothing was added to it. */
void sc_ring_header_encode(const sc_ring_header *header, sc_crc64 *crc,
                           unsigned char bytes[SC_RING_HEADER_BYTES]);

/* Of a file of `file_bytes`. False: `why` is appended, what is wrong with the file. What is right
 * is possible: its entries can be counted, and lie in the file. */
bool sc_ring_header_decode(sc_ring_header *header, sc_crc64 *crc,
                           const unsigned char bytes[SC_RING_HEADER_BYTES], uint64_t file_bytes,
                           sc_text *why);

#endif
