/* SPDX-License-Identifier: MIT */
#include "ring/crc64.h"
#include <string.h>

#define POLYNOMIAL UINT64_C(0xc96c5795d7870f42) /* ECMA-182, lowest bit first */

/* tables[k][b]: what byte b does to a checksum that k more bytes pass through. */
void sc_crc64_begin(sc_crc64 *crc)
{
    uint64_t(*tables)[256] = crc->tables;

    crc->value = 0;
    for (unsigned b = 0; b < 256; b++) {
        uint64_t value = b;

        for (unsigned bit = 0; bit < 8; bit++)
            value = value >> 1 ^ (value & 1 ? POLYNOMIAL : 0);
        tables[0][b] = value;
    }
    for (unsigned k = 1; k < 8; k++)
        for (unsigned b = 0; b < 256; b++)
            tables[k][b] = tables[k - 1][b] >> 8 ^ tables[0][tables[k - 1][b] & 0xff];
}

void sc_crc64_add(sc_crc64 *crc, const void *bytes, size_t count)
{
    uint64_t(*const tables)[256] = crc->tables;
    const unsigned char *at = bytes;
    uint64_t value = ~crc->value;

    for (; count >= 8; at += 8, count -= 8) {
        uint64_t word;

        memcpy(&word, at, sizeof word);
        word ^= value;
        value = tables[7][word & 0xff] ^ tables[6][word >> 8 & 0xff] ^
                tables[5][word >> 16 & 0xff] ^ tables[4][word >> 24 & 0xff] ^
                tables[3][word >> 32 & 0xff] ^ tables[2][word >> 40 & 0xff] ^
                tables[1][word >> 48 & 0xff] ^ tables[0][word >> 56];
    }
    for (; count; at++, count--)
        value = value >> 8 ^ tables[0][(value ^ *at) & 0xff];
    crc->value = ~value;
}
