/* SPDX-License-Identifier: MIT
 * bits.h - a set of small numbers that gives its lowest at once.
 *
 * One bit a number, and above them one bit for each word that is not 0: finding the lowest of 4,096
 * numbers reads two words. The words belong to the owner, who sizes and clears them; the set only
 * points there. */
#ifndef SC_CACHE_BITS_H
#define SC_CACHE_BITS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct sc_bits {
    uint64_t *words;
    uint64_t *summary; /* bit i: words[i] is not 0 */
} sc_bits;

static inline uint32_t sc_bits_words(uint32_t size)
{
    return (size + 63) / 64;
}

static inline void sc_bits_add(sc_bits *bits, uint32_t number)
{
    bits->words[number / 64] |= UINT64_C(1) << number % 64;
    bits->summary[number / 4096] |= UINT64_C(1) << number / 64 % 64;
}

static inline void sc_bits_remove(sc_bits *bits, uint32_t number)
{
    bits->words[number / 64] &= ~(UINT64_C(1) << number % 64);
    if (bits->words[number / 64] == 0)
        bits->summary[number / 4096] &= ~(UINT64_C(1) << number / 64 % 64);
}

static inline bool sc_bits_has(const sc_bits *bits, uint32_t number)
{
    return bits->words[number / 64] >> number % 64 & 1;
}

/* The lowest number in a set that is not empty. */
static inline uint32_t sc_bits_lowest(const sc_bits *bits)
{
    uint32_t i = 0, word;

    while (bits->summary[i] == 0)
        i++;
    word = 64 * i + (uint32_t)__builtin_ctzll(bits->summary[i]);
    return 64 * word + (uint32_t)__builtin_ctzll(bits->words[word]);
}

#endif
