/* SPDX-License-Identifier: MIT
 * pool.h - memory pools: device memory that is allocated and freed in stream order.
 *
 *     pool     segment (one driver allocation)        segment
 *              | live | free ......... | live | free | free ................ |
 *                        ^ a ghost: was freed on a stream that has not got there
 *
 * A pool takes segments of 32 MiB or more from its device and cuts them into pieces. A free takes
 * effect for the host at once and for the streams when the stream it was put on gets there; until
 * then a ghost stands for the former owner. Memory under a ghost can be given out again on the
 * ghost's own stream, whose order keeps the two apart; on another stream only once it is gone, or,
 * rather than to run out, behind a wait that is put there for it. So the same address may have an
 * owner for the host and another one for a stream that is behind: which of the two an operation
 * belongs to, its ticket tells.
 *
 * A segment without live pieces and ghosts can go back to the device: at a synchronising call down
 * to the pool's release threshold, when it is trimmed, and when the device has run out of memory.
 *
 * Pools belong to the process. All functions expect the lock to be held. */
#ifndef SC_SIM_POOL_H
#define SC_SIM_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "handle.h"
#include "memory.h"

struct sim_device;
struct sim_mark;
struct sim_stream;
struct sim_touch;

struct sim_piece {
    struct sim_piece *next, *previous; /* by address */
    struct sim_block block;            /* .address and .bytes as asked for, while it is live */
    struct sim_pool *pool;
    uintptr_t address;
    size_t room;
    bool live;
    bool virgin;           /* nobody ever had any of it */
    uint64_t born;         /* ticket of the allocation */
    struct sim_mark *mark; /* done when the allocation's stream has got there */
};

struct sim_segment {
    struct sim_block block;
    struct sim_segment *next;
    struct sim_pool *pool;
    struct sim_piece *pieces;
};

struct sim_ghost {
    struct sim_ghost *next;
    uintptr_t address;
    size_t bytes;
    uint64_t born, died; /* tickets of allocation and free */
    uint64_t stream;     /* where the free is, by id */
    struct sim_mark *mark;
};

struct sim_pool {
    struct sim_object object;
    struct sim_pool *next; /* all there are */
    struct sim_device *device;
    struct sim_segment *segments;
    struct sim_ghost *ghosts;
    size_t live; /* pieces */
    uint64_t most_bytes;
    uint64_t threshold;
    int follow_events, opportunistic, internal; /* attributes that change little here */
    uint64_t reserved, reserved_high, used, used_high;
    uint32_t readers, writers; /* a bit for each device */
    bool standard;             /* a device's default pool */
    bool graph;                /* what captures allocate, see graph_memory.h */
    bool destroyed;            /* goes with its last piece */
};

/* What an allocation came to: its address, and whether the device was asked for memory. */
struct sim_given {
    uintptr_t address;
    bool grown;
};

/* A device's default pool, made at first use, and the one that cuMemAllocAsync uses; NULL: out of
 * memory. */
struct sim_pool *sim_pool_standard_locked(struct sim_device *device);
struct sim_pool *sim_pool_current_locked(struct sim_device *device);
void sim_pool_choose_locked(struct sim_device *device, struct sim_pool *pool);

/* most_bytes 0: as much as the device has. NULL: out of memory. */
struct sim_pool *sim_pool_new_locked(struct sim_device *device, uint64_t most_bytes);
struct sim_pool *sim_pool_find_locked(CUmemoryPool handle);
void sim_pool_destroy_locked(struct sim_pool *pool);

/* Allocates in the order of `stream`, which is not capturing. */
CUresult sim_pool_alloc_locked(struct sim_pool *pool, struct sim_stream *stream, size_t bytes,
                               struct sim_given *given);

/* Frees the allocation that begins there in the order of `stream`, which is not capturing. */
CUresult sim_pool_free_locked(uintptr_t address, struct sim_stream *stream);

/* Allocates apart from any stream, to be ended by the caller; NULL: out of memory. */
struct sim_piece *sim_pool_lend_locked(struct sim_pool *pool, struct sim_context *context,
                                       size_t bytes);
void sim_piece_end_locked(struct sim_piece *piece);

/* Frees a block of kind SIM_POOL_MEMORY that no operation needs any more. */
void sim_pool_release_locked(struct sim_block *block);

/* The pool that a block of that kind is of. */
struct sim_pool *sim_pool_of(struct sim_block *block);

/* Gives segments back as long as `keep` bytes stay. */
void sim_pool_trim_locked(struct sim_pool *pool, uint64_t keep);

/* The program has waited: every pool goes back to its threshold. */
void sim_pools_settle_locked(void);

/* The device is out of memory: its pools keep nothing that they need not. */
void sim_pools_make_room_locked(const struct sim_device *device);

/* The context ends, and with it what was allocated on its streams. They are done. */
void sim_pools_end_locked(const struct sim_context *context);

/* The live piece of a segment that `address` lies in; NULL: none. */
struct sim_piece *sim_piece_find_locked(const struct sim_block *segment, uintptr_t address);

/* May the operation with that ticket, running on `device`, touch that? Else the kind of violation.
 */
const char *sim_pool_check_locked(const struct sim_block *segment, const struct sim_touch *touch,
                                  uint64_t ticket, const struct sim_device *device);

#endif
