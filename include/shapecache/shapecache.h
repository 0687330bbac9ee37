/* SPDX-License-Identifier: MIT
 * shapecache.h - what a program may tell the shape-gated buffer cache.
 *
 * A program needs none of this: the cache works on unmodified binaries. Functions are found when
 * the library is preloaded. With SHAPECACHE_WEAK defined they are declared weak, so that a program
 * that calls them (after testing them against NULL) also runs without the library. C11 and C++. */
#ifndef SHAPECACHE_H
#define SHAPECACHE_H

#ifdef __cplusplus
extern "C" {
#endif

#ifdef SHAPECACHE_WEAK
#define SHAPECACHE_API __attribute__((weak))
#else
#define SHAPECACHE_API
#endif

typedef enum shapecache_status {
#define STATUS(symbol, value, text) SHAPECACHE_##symbol = (value),
#include "shapecache/status.def"
#undef STATUS
    SHAPECACHE_STATUS_MAX
} shapecache_status;

/* A sentence for a status; never NULL. Thread-safe. */
SHAPECACHE_API const char *shapecache_status_text(shapecache_status status);

/* One training step of `device` (an ordinal as CUDA numbers it for this process; -1: the current
 * context's) ended. From the first call on, that device's steps are taken from these calls alone.
 * Call it where the program may wait: idle memory that is due goes back to the driver here. Errors:
 * SHAPECACHE_EDEVICE (no such device, or no current context), SHAPECACHE_EOFF (the cache is off in
 * this process, or the device has not allocated yet: nothing to end). Thread-safe. */
SHAPECACHE_API shapecache_status shapecache_step(int device);

#ifdef __cplusplus
}
#endif

#endif
