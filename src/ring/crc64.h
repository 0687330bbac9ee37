/* SPDX-License-Identifier: MIT
 * crc64.h - the checksum of ring files: CRC-64/XZ, as xz(1) and others compute it.
 *
 * Any change within 64 neighbouring bits is found, and any other with all but a chance of 2^-64.
 * Eight bytes a round. The tables are made anew for each file, which costs microseconds: static
 * ones would need pthread_once(), whose symbol version an old C library lacks. */
#ifndef SC_RING_CRC64_H
#define SC_RING_CRC64_H

#include <stddef.h>
#include <stdint.h>

typedef struct sc_crc64 {
    uint64_t value; /* of all bytes so far */
    uint64_t tables[8][256];
} sc_crc64;

void sc_crc64_begin(sc_crc64 *crc);
void sc_crc64_add(sc_crc64 *crc, const void *bytes, size_t count);

#endif
