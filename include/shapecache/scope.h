/* SPDX-License-Identifier: MIT
 * scope.h - memory of a device: how much there is, what a part of the program needs, and giving
 * back what the cache keeps. Part of shapecache.h, which is what programs include. */
#ifndef SHAPECACHE_SCOPE_H
#define SHAPECACHE_SCOPE_H

#ifndef SHAPECACHE_H
#error "include shapecache/shapecache.h"
#endif

#include <stdint.h>

/* Bytes, as the driver maps them: whole pages. live: what the program holds of cudaMalloc and
 * cuMemAlloc; idle: what the cache keeps for it; held: both. The marks are the most there was at
 * once since the program began. */
typedef struct shapecache_memory_info {
    uint64_t live, idle, held;
    uint64_t live_peak, held_peak;
    uint64_t driver_free, driver_total; /* the driver's own figures; 0: it could not be asked */
} shapecache_memory_info;

/* The memory of `device` (-1: the current context's) now. One call of the driver, and none while a
 * stream capture is open. *info is written on success only. Errors: SHAPECACHE_EVALUE (NULL),
 * SHAPECACHE_EDEVICE (no such device, or no current context), SHAPECACHE_EOFF (the cache is off in
 * this process, or the device has not allocated yet). Thread-safe. */
SHAPECACHE_API shapecache_status shapecache_memory(int device, shapecache_memory_info *info);

/* Everything idle of `device` (-1: the current context's) goes back to the driver before this
 * returns, also what other threads are just giving back. It changes no phase: what is asked for
 * next comes from the driver, and is kept again when freed. The log has a mark of it. Errors:
 * SHAPECACHE_EDEVICE and SHAPECACHE_EOFF as above, SHAPECACHE_ECAPTURE (a stream capture is open
 * somewhere in the process: nothing may be freed). Thread-safe. */
SHAPECACHE_API shapecache_status shapecache_trim(int device);

enum {
    SHAPECACHE_SCOPE_TRIM_BEFORE = 1, /* as shapecache_trim(), before the scope begins */
    SHAPECACHE_SCOPE_TRIM_AFTER = 2,  /* and after it has ended; during a capture, neither */
    SHAPECACHE_SCOPE_LOG = 4,         /* a `scope` record in the log when it ends */

    SHAPECACHE_SCOPE_DEPTH_MOST = 32, /* scopes open at once in one thread */
    SHAPECACHE_SCOPE_OPEN_MOST = 64,  /* in the process, by all threads */
    SHAPECACHE_SCOPE_NAME_MOST = 63   /* bytes of a name, without the terminator */
};

/* What happened between the beginning and the end of a scope; bytes as above. The marks are the
 * most that there was at once in between, whichever thread asked for it: not samples, so no peak is
 * too short to be seen. */
typedef struct shapecache_scope_info {
    int device;
    unsigned depth; /* 0: no other scope of the thread was open */
    uint64_t live_before, idle_before;
    uint64_t live_peak, held_peak;
    uint64_t live, idle; /* at its end, after a trim if one was asked for */
    uint64_t trimmed;    /* exact bytes that its trims gave back */
    uint64_t ns;         /* how long it lasted */
} shapecache_scope_info;

/* A part of the program begins: a memory scope of this thread, inside the one it began before and
 * has not ended yet. It tells of the device whose context is current now, or, where none is, of the
 * one that is current when it ends. `name` is UTF-8, cut after SHAPECACHE_SCOPE_NAME_MOST bytes;
 * `flags` are SHAPECACHE_SCOPE_* or 0. On success, and only then, shapecache_scope_end() has to
 * follow in the same thread, whatever happens in between; a scope that is begun before the first
 * allocation is one too, and so is one in a process whose cache is off. Errors, with nothing begun:
 * SHAPECACHE_EVALUE (no name, or flags that do not exist), SHAPECACHE_ESCOPE (too deep, or too many
 * in the process), SHAPECACHE_EOFF (called from a signal handler in the middle of an allocation).
 * Thread-safe. */
SHAPECACHE_API shapecache_status shapecache_scope_begin(const char *name, unsigned flags);

/* The thread's innermost scope ends. *info (NULL: not wanted) is written on success only. Errors:
 * SHAPECACHE_ESCOPE (this thread has none open: nothing changes), SHAPECACHE_EOFF (it has ended,
 * but there is nothing to tell: the cache is off in this process, or there is no device that has
 * allocated). Thread-safe. */
SHAPECACHE_API shapecache_status shapecache_scope_end(shapecache_scope_info *info);

#endif
