/* SPDX-License-Identifier: MIT
 * allocator.h - what an allocator above the cache says of itself. Part of shapecache.h, which is
 * what programs include. */
#ifndef SHAPECACHE_ALLOCATOR_H
#define SHAPECACHE_ALLOCATOR_H

#ifndef SHAPECACHE_H
#error "include shapecache/shapecache.h"
#endif

#include <stddef.h>
#include <stdint.h>

/* Bytes, as that allocator counts them: what it has from the driver, and what of it is in use. */
typedef struct shapecache_allocator_info {
    size_t size; /* sizeof(shapecache_allocator_info) */
    uint64_t reserved, allocated;
    uint64_t reserved_peak, allocated_peak; /* high-water marks */
    int is_expandable;                      /* PyTorch: expandable_segments:True is in force */
} shapecache_allocator_info;

/* An allocator that keeps memory for others, such as PyTorch's own, has just run out of memory
 * (`at_end` 0) or is about to end (1). The log has an `allocator` record of it, and the post-mortem
 * of an out-of-memory its figures: how much is in use in there nobody below can see. `device`: an
 * ordinal, or -1, the current context's. Errors: SHAPECACHE_EVALUE (NULL, or a size that is not
 * known), SHAPECACHE_EDEVICE (no such device, or no current context), SHAPECACHE_EOFF (the cache is
 * off in this process, or the device has not allocated yet). Thread-safe. */
SHAPECACHE_API shapecache_status shapecache_allocator(int device, int at_end,
                                                      const shapecache_allocator_info *info);

#endif
