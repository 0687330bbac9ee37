/* SPDX-License-Identifier: MIT
 * memory.h - allocations: who owns which bytes, and whether an operation may touch them.
 *
 * A block is one live allocation: device memory, managed memory, pinned host memory, host memory
 * that was registered, or memory that the program mapped. It belongs to a context (its list) and
 * ends with it; what was mapped belongs to the process. While cuMemFree waits
 * for the device the block is `freeing`: work enqueued before may use it, a second free may not.
 * Blocks and the list are guarded by the lock; the bytes themselves are guarded by stream order, as
 * on a GPU.
 */
#ifndef SC_SIM_MEMORY_H
#define SC_SIM_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api.h"

struct sim_context;
struct sim_device;
struct sim_touch;

enum sim_memory_kind {
    SIM_DEVICE_MEMORY,
    SIM_MANAGED_MEMORY, /* migrates on demand, so that no device's memory is taken by allocating */
    SIM_PINNED_MEMORY,
    SIM_REGISTERED_MEMORY,
    SIM_MAPPED_MEMORY,  /* of a struct sim_mapping, see range.h */
    SIM_POOL_MEMORY,    /* of a struct sim_piece, see pool.h */
    SIM_SEGMENT_MEMORY, /* what a pool has: nobody's allocation */
};

struct sim_block {
    struct sim_block *next, *previous; /* of the context, or of those to be discarded */
    struct sim_context *context;       /* NULL: the process's */
    struct sim_device *device;
    uintptr_t address;
    size_t bytes; /* as asked for */
    enum sim_memory_kind kind;
    unsigned flags; /* of cuMemAllocManaged, cuMemHostAlloc or cuMemHostRegister */
    unsigned long long id;
    bool sync_memops; /* CU_POINTER_ATTRIBUTE_SYNC_MEMOPS */
    bool freeing;
    bool freed; /* the wait is over; its memory is about to go */
};

/* Allocates memory of any kind but the registered for `context`. */
CUresult sim_memory_new(struct sim_context *context, enum sim_memory_kind kind, size_t bytes,
                        unsigned flags, uintptr_t *address);

/* Makes `bytes` at `address` known as pinned. */
CUresult sim_memory_register(struct sim_context *context, uintptr_t address, size_t bytes,
                             unsigned flags);

/* Frees the block of `kind` that begins at `address`, after the work of its context; `cost_ns` is
 * spent on top. Device memory includes the managed and what came from a pool.
 * CUDA_ERROR_INVALID_VALUE: no such block. */
CUresult sim_memory_free(uintptr_t address, enum sim_memory_kind kind, uint64_t cost_ns);

/* The block whose bytes include `address`; NULL: none. */
struct sim_block *sim_memory_find_locked(uintptr_t address);

/* May device work be given this address: memory CUDA knows, or knew? */
bool sim_memory_plausible(uintptr_t address);

/* Is it host memory that CUDA does not know? */
bool sim_memory_pageable(uintptr_t address);

/* Is it device memory, live or freed? Managed memory is. */
bool sim_memory_on_device(uintptr_t address);

/* Must operations on it that are synchronous in name be so in fact? */
bool sim_memory_synchronises(uintptr_t address);

/* Checks a range that `what` is about to touch, when it runs: false, and a violation is counted
 * (unless one was already, !report), when the range is not inside one live block. Host memory CUDA
 * does not know is always fine. */
bool sim_memory_check(const char *what, const struct sim_touch *touch, bool report);

/* Takes all blocks of an ending context; hand the list to sim_memory_discard() without the lock. */
struct sim_block *sim_memory_end_locked(struct sim_context *context);
void sim_memory_discard(struct sim_block *blocks);

#endif
