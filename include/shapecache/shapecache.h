/* SPDX-License-Identifier: MIT
 * shapecache.h - what a program may tell the shape-gated buffer cache.
 *
 * A program needs none of this: the cache works on unmodified binaries. Functions are found when
 * the library is preloaded. With SHAPECACHE_WEAK defined they are declared weak, so that a program
 * that calls them (after testing them against NULL) also runs without the library. C11 and C++. */
#ifndef SHAPECACHE_H
#define SHAPECACHE_H

#include <stddef.h>

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
 * context's) ended. From the first call on, that device's steps are taken from these calls alone;
 * under SHAPECACHE_STEP=requests:N they end nothing. Call it where the program may wait: idle
 * memory that is due goes back to the driver here. Errors: SHAPECACHE_EDEVICE (no such device, or
 * no current context), SHAPECACHE_EOFF (the cache is off in this process, or the device has not
 * allocated yet: nothing to end). Thread-safe. */
SHAPECACHE_API shapecache_status shapecache_step(int device);

enum {
    SHAPECACHE_LABEL_MOST = 63, /* bytes, without the terminator */
    SHAPECACHE_DIMS_MOST = 8
};

/* What the allocation that starts at `pointer` (of cudaMalloc or cuMemAlloc, not freed yet) is for:
 * a label in UTF-8 (NULL: none; what is longer than SHAPECACHE_LABEL_MOST bytes is cut) and `count`
 * dimensions in elements, outermost first (NULL and 0: none). They belong to its shape, that is to
 * all allocations of the same size (and call site, with SHAPECACHE_KEY=bytes+site); the last hint
 * counts. They appear in the log, in reports and in saved sets, and change nothing else. Cheap
 * enough for every batch; once is enough. Errors: SHAPECACHE_EPOINTER (not one the cache knows),
 * SHAPECACHE_EVALUE (neither label nor dimensions, or more than SHAPECACHE_DIMS_MOST),
 * SHAPECACHE_EMEMORY (out of host memory), SHAPECACHE_EOFF (the cache is off in this process).
 * Thread-safe. */
SHAPECACHE_API shapecache_status shapecache_hint(const void *pointer, const char *label,
                                                 const size_t *dims, size_t count);

typedef enum shapecache_phase_kind {
    SHAPECACHE_PHASE_OFF = 0,     /* nothing is cached (any more) */
    SHAPECACHE_PHASE_WARMUP = 1,  /* shapes are learnt */
    SHAPECACHE_PHASE_FIXED = 2,   /* requests are served from the cache */
    SHAPECACHE_PHASE_FALLBACK = 3 /* a new shape came: nothing is served, nothing idle is kept */
} shapecache_phase_kind;

/* The phase of `device` (-1: the current context's) now. SHAPECACHE_PHASE_OFF too where there is no
 * such device, no current context, or the device has not allocated yet. Another thread's request
 * may change it at any time. Thread-safe. */
SHAPECACHE_API shapecache_phase_kind shapecache_phase(int device);

/* A `mark` record in the log, here and now: `name` is text of the program's own (UTF-8, cut after
 * 255 bytes), such as "evaluation begins"; of the current context's device, if there is one.
 * Errors: SHAPECACHE_EVALUE (NULL or empty), SHAPECACHE_EOFF (the cache is off in this process, or
 * nothing has been allocated yet: there is no log). With SHAPECACHE_LOG=off it does nothing.
 * Thread-safe. */
SHAPECACHE_API shapecache_status shapecache_mark(const char *name);

#include "shapecache/allocator.h"
#include "shapecache/arena.h"
#include "shapecache/ring.h"
#include "shapecache/scope.h"

#ifdef __cplusplus
}
#endif

#endif
