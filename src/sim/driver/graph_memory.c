/* SPDX-License-Identifier: MIT */
#include "graph_memory.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "capture.h"
#include "device.h"
#include "lock.h"
#include "pool.h"
#include "stream.h"

#define MAX_DEVICES 16

/* A piece of memory and the allocations of a graph that are given it, one after the other. */
struct lease {
    struct lease *next;
    struct sim_piece *piece;
    unsigned references; /* nodes, executables, launches */
    uint64_t capture;    /* in which it was last freed, and on which stream; 0: it is in use */
    uint64_t stream;
};

struct alloc_op {
    struct sim_op op;
    struct lease *lease;
};

static struct sim_pool *pools[MAX_DEVICES];
static struct lease *leases;
static atomic_bool any;

struct sim_pool *sim_graph_memory_pool_locked(struct sim_device *device)
{
    struct sim_pool **pool = &pools[device->ordinal];

    if (!*pool)
        *pool = sim_pool_new_locked(device, 0);
    if (*pool)
        (*pool)->graph = true;
    return *pool;
}

static void put_lease(struct lease *lease)
{
    struct lease **link = &leases;
    struct sim_pool *pool = lease->piece->pool;

    if (--lease->references > 0)
        return;
    while (*link != lease)
        link = &(*link)->next;
    *link = lease->next;
    sim_piece_end_locked(lease->piece);
    sim_pool_trim_locked(pool, 0);
    free(lease);
}

static void release_alloc(struct sim_op *op)
{
    put_lease(((struct alloc_op *)op)->lease);
    free(op);
}

/* The smallest that was freed by an earlier node of the stream and is not twice as much as wanted.
 */
static struct lease *find_freed(const struct sim_pool *pool, const struct sim_stream *stream,
                                size_t bytes)
{
    struct lease *best = NULL;

    for (struct lease *lease = leases; lease; lease = lease->next)
        if (lease->piece->pool == pool && lease->capture == stream->part.capture->id &&
            lease->stream == stream->id && lease->piece->room >= bytes &&
            lease->piece->room / 2 <= bytes && (!best || lease->piece->room < best->piece->room))
            best = lease;
    return best;
}

static struct lease *new_lease(struct sim_pool *pool, size_t bytes)
{
    struct lease *lease = malloc(sizeof *lease);

    if (!lease)
        return NULL;
    *lease = (struct lease){.next = leases, .piece = sim_pool_lend_locked(pool, bytes)};
    if (!lease->piece) {
        free(lease);
        return NULL;
    }
    leases = lease;
    atomic_store(&any, true);
    return lease;
}

CUresult sim_graph_memory_alloc_locked(struct sim_device *device, struct sim_stream *stream,
                                       size_t bytes, uintptr_t *address)
{
    struct sim_pool *pool = sim_graph_memory_pool_locked(device);
    struct alloc_op *made = pool ? malloc(sizeof *made) : NULL;
    struct lease *lease;
    CUresult status;

    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    lease = find_freed(pool, stream, bytes);
    if (!lease)
        lease = new_lease(pool, bytes);
    if (!lease) {
        free(made);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    lease->references++;
    lease->capture = 0;
    if (lease->piece->block.bytes < bytes)
        lease->piece->block.bytes = bytes;
    *made = (struct alloc_op){
        .op = {.release = release_alloc, .node = CU_GRAPH_NODE_TYPE_MEM_ALLOC}, .lease = lease};
    *address = lease->piece->address;
    status = sim_stream_enqueue_locked(stream, &made->op);
    return status;
}

CUresult sim_graph_memory_free_locked(uintptr_t address, struct sim_stream *stream)
{
    struct lease *lease = leases;
    struct sim_op *op;
    CUresult status;

    while (lease && lease->piece->address != address)
        lease = lease->next;
    if (!lease || lease->capture == stream->part.capture->id)
        return CUDA_ERROR_INVALID_VALUE;
    op = sim_op_empty();
    if (!op)
        return CUDA_ERROR_OUT_OF_MEMORY;
    op->node = CU_GRAPH_NODE_TYPE_MEM_FREE;
    status = sim_stream_enqueue_locked(stream, op);
    if (status == CUDA_SUCCESS) {
        lease->capture = stream->part.capture->id;
        lease->stream = stream->id;
    }
    return status;
}

bool sim_graph_memory_owns(uintptr_t address)
{
    const struct sim_block *block;
    bool owns;

    if (!atomic_load(&any))
        return false;
    sim_lock();
    block = sim_memory_find_locked(address);
    owns = block && block->kind == SIM_POOL_MEMORY && sim_pool_of(block)->graph;
    sim_unlock();
    return owns;
}
