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
    unsigned references; /* nodes, executables, launches, frees on their way */
    bool live;           /* a launch has allocated it, and nothing freed it since */
    uint64_t capture;    /* in which it was last freed, and on which stream; 0: it is in use */
    uint64_t stream;
};

/* An allocation or a free. */
struct lease_op {
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

static void end_if_over(struct lease *lease)
{
    struct lease **link = &leases;
    struct sim_pool *pool = lease->piece->pool;

    if (lease->references > 0 || lease->live)
        return;
    while (*link != lease)
        link = &(*link)->next;
    *link = lease->next;
    sim_piece_end_locked(lease->piece);
    sim_pool_trim_locked(pool, 0);
    free(lease);
}

static void run_alloc(struct sim_op *op, const struct sim_claim *claims)
{
    (void)claims;
    sim_lock();
    ((struct lease_op *)op)->lease->live = true;
    sim_unlock();
}

static void run_free(struct sim_op *op, const struct sim_claim *claims)
{
    (void)claims;
    sim_lock();
    ((struct lease_op *)op)->lease->live = false;
    sim_unlock();
}

static void release(struct sim_op *op)
{
    struct lease *lease = ((struct lease_op *)op)->lease;

    free(op);
    lease->references--;
    end_if_over(lease);
}

/* An operation that holds the lease; NULL: out of memory. */
static struct sim_op *new_op(struct lease *lease, CUgraphNodeType node)
{
    struct lease_op *made = malloc(sizeof *made);

    if (!made)
        return NULL;
    *made =
        (struct lease_op){.op = {.run = node == CU_GRAPH_NODE_TYPE_MEM_ALLOC ? run_alloc : run_free,
                                 .release = release,
                                 .node = node},
                          .lease = lease};
    lease->references++;
    return &made->op;
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

static struct lease *new_lease(struct sim_pool *pool, struct sim_context *context, size_t bytes)
{
    struct lease *lease = malloc(sizeof *lease);

    if (!lease)
        return NULL;
    *lease = (struct lease){.next = leases, .piece = sim_pool_lend_locked(pool, context, bytes)};
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
    struct lease *lease = pool ? find_freed(pool, stream, bytes) : NULL;
    struct sim_op *op;

    if (pool && !lease)
        lease = new_lease(pool, stream->object.context, bytes);
    if (!lease)
        return CUDA_ERROR_OUT_OF_MEMORY;
    op = new_op(lease, CU_GRAPH_NODE_TYPE_MEM_ALLOC);
    if (!op) {
        end_if_over(lease);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    lease->capture = 0;
    if (lease->piece->block.bytes < bytes)
        lease->piece->block.bytes = bytes;
    *address = lease->piece->address;
    return sim_stream_enqueue_locked(stream, op);
}

static struct lease *find(uintptr_t address)
{
    struct lease *lease = leases;

    while (lease && lease->piece->address != address)
        lease = lease->next;
    return lease;
}

CUresult sim_graph_memory_free_locked(uintptr_t address, struct sim_stream *stream)
{
    struct lease *lease = find(address);
    uint64_t capture = stream->part.capture->id;
    struct sim_op *op;
    CUresult status;

    if (!lease || lease->capture == capture)
        return CUDA_ERROR_INVALID_VALUE;
    op = new_op(lease, CU_GRAPH_NODE_TYPE_MEM_FREE);
    if (!op)
        return CUDA_ERROR_OUT_OF_MEMORY;
    status = sim_stream_enqueue_locked(stream, op);
    if (status == CUDA_SUCCESS) {
        lease->capture = capture;
        lease->stream = stream->id;
    }
    return status;
}

CUresult sim_graph_memory_end_locked(uintptr_t address, struct sim_stream *stream)
{
    struct lease *lease = find(address);
    struct sim_op *op = lease ? new_op(lease, CU_GRAPH_NODE_TYPE_MEM_FREE) : NULL;

    if (!op)
        return lease ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
    return sim_stream_enqueue_locked(stream, op);
}

void sim_graph_memory_drop_locked(uintptr_t address)
{
    struct lease *lease = find(address);

    lease->piece->block.freeing = false;
    lease->live = false;
    end_if_over(lease);
}

bool sim_graph_memory_owns(uintptr_t address)
{
    struct sim_block *block;
    bool owns;

    if (!atomic_load(&any))
        return false;
    sim_lock();
    block = sim_memory_find_locked(address);
    owns = block && block->kind == SIM_POOL_MEMORY && sim_pool_of(block)->graph;
    sim_unlock();
    return owns;
}
