/* SPDX-License-Identifier: MIT
 * live.h - from an address to the buffer there: live, being parked, or idle.
 *
 * A buffer enters when the driver has answered and leaves before the driver may hand its address to
 * somebody else, so serving and parking change nothing here, and one address has one owner. */
#ifndef SC_CACHE_LIVE_H
#define SC_CACHE_LIVE_H

#include "base/driver.h"
#include "base/map.h"

typedef struct sc_buffer sc_buffer;

typedef struct sc_live {
    sc_map buffers;
} sc_live;

static inline sc_buffer *sc_live_find(const sc_live *live, sc_address address)
{
    return sc_map_find(&live->buffers, address);
}

/* False: out of memory. The address must be absent. */
static inline bool sc_live_put(sc_live *live, sc_address address, sc_buffer *buffer)
{
    return sc_map_put(&live->buffers, address, buffer);
}

static inline void sc_live_remove(sc_live *live, sc_address address)
{
    (void)sc_map_remove(&live->buffers, address);
}

static inline void sc_live_release(sc_live *live)
{
    sc_map_release(&live->buffers);
}

#endif
