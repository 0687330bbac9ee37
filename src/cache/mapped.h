/* SPDX-License-Identifier: MIT
 * mapped.h - bytes as the driver maps them.
 *
 * The driver hands out pages of 2 MiB. A request of 1 MiB and more gets pages of its own; smaller
 * ones are packed, in units of 512 bytes, into pages they share. So the size of one small buffer
 * says nothing, only the sum of all: figures are kept as two sums and rounded when they are read,
 * and a difference (idle = held - live) is taken between rounded figures, never rounded itself. */
#ifndef SC_CACHE_MAPPED_H
#define SC_CACHE_MAPPED_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SC_MAPPED_PAGE = 2 << 20,
    SC_MAPPED_OWN = 1 << 20, /* from here on a request has pages of its own */
    SC_MAPPED_UNIT = 512,
};
/* No device has as much. Sizes come from the program: a sum with one of SIZE_MAX in it must not
 * wrap. */
#define SC_MAPPED_MOST (UINT64_C(1) << 52)

typedef struct sc_mapped {
    uint64_t packed; /* requests that share pages, in whole units */
    uint64_t own;    /* the others, in whole pages */
} sc_mapped;

static inline uint64_t sc_mapped_round(uint64_t bytes, uint64_t power_of_two)
{
    return (bytes + power_of_two - 1) & ~(power_of_two - 1);
}

static inline bool sc_mapped_is_packed(uint64_t bytes)
{
    return bytes < SC_MAPPED_OWN;
}

/* What one request adds to the sum it belongs to. */
static inline uint64_t sc_mapped_size(uint64_t bytes)
{
    if (bytes >= SC_MAPPED_MOST)
        return SC_MAPPED_MOST;
    return sc_mapped_round(bytes, sc_mapped_is_packed(bytes) ? SC_MAPPED_UNIT : SC_MAPPED_PAGE);
}

static inline void sc_mapped_add(sc_mapped *sums, uint64_t bytes)
{
    *(sc_mapped_is_packed(bytes) ? &sums->packed : &sums->own) += sc_mapped_size(bytes);
}

static inline void sc_mapped_subtract(sc_mapped *sums, uint64_t bytes)
{
    *(sc_mapped_is_packed(bytes) ? &sums->packed : &sums->own) -= sc_mapped_size(bytes);
}

static inline sc_mapped sc_mapped_plus(sc_mapped a, sc_mapped b)
{
    return (sc_mapped){a.packed + b.packed, a.own + b.own};
}

/* What the driver has mapped for all of them. */
static inline uint64_t sc_mapped_total(sc_mapped sums)
{
    return sums.own + sc_mapped_round(sums.packed, SC_MAPPED_PAGE);
}

#endif
