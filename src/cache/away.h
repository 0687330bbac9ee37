/* SPDX-License-Identifier: MIT
 * away.h - tensors that arenas have taken out of blocks of this cache, and what the device was
 * spared by it; see spare.h.
 *
 * Only a block's exact address is known here; whoever has one inside asks the driver first. The
 * device's lock guards all. */
#ifndef SC_CACHE_AWAY_H
#define SC_CACHE_AWAY_H

#include "cache/cache.h"
#include "cache/spare.h"

/* A ticket is out of the block, which is live. NULL: none starts there, or out of memory. Else it
 * ends with one of the two below. */
sc_spare_block *sc_cache_leave(sc_cache *cache, sc_address address);
/* It is on its way back to the live block at `address`; `is_in_place`: to where it was. False: none
 * starts there, nothing has changed. */
bool sc_cache_return(sc_cache *cache, sc_spare_block *block, sc_address address, bool is_in_place);
void sc_cache_drop(sc_cache *cache, sc_spare_block *block);
void sc_cache_doubt(sc_cache *cache, sc_spare_doubt doubt);

/* Mapped bytes, of the run so far. */
typedef struct sc_spared {
    sc_spare_doubt doubt; /* anything but SC_SPARE_SURE: the others are not known */
    uint64_t without;     /* high-water mark of live, had no arena taken anything */
    uint64_t bytes;       /* that is so much above the true one */
} sc_spared;

void sc_cache_read_spared(const sc_cache *cache, sc_spared *out);

#endif
