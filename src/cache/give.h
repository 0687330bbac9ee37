/* SPDX-License-Identifier: MIT
 * give.h - frees that are announced before they take place.
 *
 * A block that is copied away is the program's no more, but may not be handed out before the copy
 * is done. From sc_cache_give() on it is being parked, as between sc_cache_free() and
 * sc_cache_park(), in whatever phase; how the wait ends is told by sc_cache_park() or
 * sc_cache_unpark(). It counts as live until then, and a free of it is a double free. The device's
 * lock guards all. */
#ifndef SC_CACHE_GIVE_H
#define SC_CACHE_GIVE_H

#include "cache/cache.h"

typedef enum sc_held {
    SC_HELD_NOT,   /* no cache knows a block that starts there */
    SC_HELD_LIVE,  /* the program's */
    SC_HELD_OTHER, /* freed, or given before */
} sc_held;

sc_held sc_cache_holds(const sc_cache *cache, sc_address address);
/* Of a live block; NULL: it is none any more. */
sc_buffer *sc_cache_give(sc_cache *cache, sc_address address);
/* Whether sc_cache_park() would keep it: no driver call follows. */
bool sc_cache_would_keep(const sc_cache *cache, const sc_buffer *buffer);

#endif
