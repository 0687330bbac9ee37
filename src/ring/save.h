/* SPDX-License-Identifier: MIT
 * save.h - a ring as a file that is there whole or not at all.
 *
 * Written under another name beside it, synced, and renamed; a power cut leaves the old file or the
 * new one. The caller locks the ring. */
#ifndef SC_RING_SAVE_H
#define SC_RING_SAVE_H

#include "base/text.h"
#include "ring/ring.h"

/* EFILE: `why` is appended. EMEMORY, EVALUE (the path is too long). */
shapecache_status sc_ring_save(const sc_ring *ring, const char *path, sc_text *why);

#endif
