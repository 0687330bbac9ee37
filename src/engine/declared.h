/* SPDX-License-Identifier: MIT
 * declared.h - the set of shapes that SHAPECACHE_SHAPES names, held against this run.
 *
 * A set that was made for another world, device memory or key is refused with both values, unless
 * SHAPECACHE_SHAPES_STRICT=0 takes what the two have in common; one of another rank or version is
 * loaded with a warning. Whatever is wrong, the run goes on, in warmup. Loaded by start, before any
 * request, and constant after. */
#ifndef SC_ENGINE_DECLARED_H
#define SC_ENGINE_DECLARED_H

#include "cache/cache.h"

/* Reads the file, if one is named. Without locks. */
void sc_declared_load(void);

/* The set as it holds on `device`, whose memory is `total` bytes (0: not known). Without locks;
 * says what it refuses, so call it once a device. */
sc_declared sc_declared_on(int device, uint64_t total);

#endif
