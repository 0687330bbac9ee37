/* SPDX-License-Identifier: MIT */
#include "pool.h"

#include <stdlib.h>

#include "device.h"
#include "graph_memory.h"
#include "ledger.h"
#include "segment.h"
#include "space.h"
#include "stream.h"

#define MAX_DEVICES 16

static struct sim_pool *all;
static struct sim_pool *standard[MAX_DEVICES], *current[MAX_DEVICES];
static unsigned long long last_id;

/* A free in its stream: it tells the ledger when it is reached. */
struct free_op {
    struct sim_op op;
    struct sim_record *record; /* NULL: nobody told us of the allocation */
};

static size_t round_up(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

/* Pools. */

struct sim_pool *sim_pool_new_locked(struct sim_device *device, uint64_t most_bytes)
{
    struct sim_pool *pool = calloc(1, sizeof *pool);

    if (!pool)
        return NULL;
    *pool = (struct sim_pool){.object = {.kind = SIM_POOL},
                              .next = all,
                              .device = device,
                              .most_bytes = most_bytes > 0 ? most_bytes : UINT64_MAX,
                              .follow_events = 1,
                              .opportunistic = 1,
                              .internal = 1,
                              .readers = 1u << device->ordinal,
                              .writers = 1u << device->ordinal};
    if (!sim_handle_add_locked(&pool->object)) {
        free(pool);
        return NULL;
    }
    all = pool;
    return pool;
}

struct sim_pool *sim_pool_standard_locked(struct sim_device *device)
{
    struct sim_pool **pool = &standard[device->ordinal];

    if (!*pool)
        *pool = sim_pool_new_locked(device, 0);
    if (*pool)
        (*pool)->standard = true;
    return *pool;
}

struct sim_pool *sim_pool_current_locked(struct sim_device *device)
{
    struct sim_pool *pool = current[device->ordinal];

    return pool ? pool : sim_pool_standard_locked(device);
}

void sim_pool_choose_locked(struct sim_device *device, struct sim_pool *pool)
{
    current[device->ordinal] = pool;
}

struct sim_pool *sim_pool_find_locked(CUmemoryPool handle)
{
    return sim_handle_find_locked(handle, SIM_POOL);
}

static void end_if_over(struct sim_pool *pool)
{
    struct sim_pool **link = &all;

    if (!pool->destroyed || pool->live > 0 || pool->ghosts || pool->segments)
        return;
    while (*link != pool)
        link = &(*link)->next;
    *link = pool->next;
    free(pool);
}

void sim_pool_destroy_locked(struct sim_pool *pool)
{
    if (current[pool->device->ordinal] == pool)
        current[pool->device->ordinal] = NULL;
    sim_handle_remove_locked(&pool->object);
    pool->destroyed = true;
    sim_pool_trim_locked(pool, 0);
}

/* Ghosts. */

static void forget_done(struct sim_pool *pool)
{
    struct sim_ghost **link = &pool->ghosts;

    while (*link) {
        struct sim_ghost *ghost = *link;

        if (ghost->mark->done) {
            *link = ghost->next;
            sim_mark_drop_locked(ghost->mark);
            free(ghost);
        } else {
            link = &ghost->next;
        }
    }
}

void sim_pool_trim_locked(struct sim_pool *pool, uint64_t keep)
{
    struct sim_segment **link = &pool->segments;

    forget_done(pool);
    while (*link) {
        const struct sim_segment *segment = *link;
        const struct sim_block *block = &segment->block;

        if (!segment->pieces->live && !segment->pieces->next && pool->reserved > keep &&
            pool->reserved - block->bytes >= keep &&
            !sim_ghost_in_the_way_locked(pool, block->address, block->bytes, NULL))
            sim_segment_drop_locked(link);
        else
            link = &(*link)->next;
    }
    end_if_over(pool);
}

/* The piece is nobody's: it becomes one with its neighbours. */
static void make_free(struct sim_piece *piece)
{
    sim_mark_drop_locked(piece->mark);
    piece->mark = NULL;
    piece->live = piece->virgin = false;
    piece->pool->live--;
    piece->pool->used -= piece->room;
    sim_piece_join_locked(piece);
}

/* Allocation. */

/* Makes `stream` wait for those who still use the memory. */
static CUresult wait_for_ghosts(const struct sim_piece *piece, struct sim_stream *stream)
{
    const struct sim_ghost *ghost;
    CUresult status = CUDA_SUCCESS;

    for (ghost = piece->pool->ghosts; ghost && status == CUDA_SUCCESS; ghost = ghost->next) {
        struct sim_op *op;

        if (ghost->mark->done || ghost->stream == stream->id ||
            !sim_bytes_meet(ghost->address, ghost->bytes, piece->address, piece->room))
            continue;
        op = sim_op_empty();
        if (!op)
            return CUDA_ERROR_OUT_OF_MEMORY;
        op->wait = sim_mark_share_locked(ghost->mark);
        status = sim_stream_enqueue_locked(stream, op);
    }
    return status;
}

/* From now on the piece is somebody's. */
static void take(struct sim_piece *piece, struct sim_context *context, size_t bytes,
                 struct sim_mark *mark)
{
    struct sim_pool *pool = piece->pool;

    piece->block = (struct sim_block){.context = context,
                                      .device = pool->device,
                                      .address = piece->address,
                                      .bytes = bytes,
                                      .kind = SIM_POOL_MEMORY,
                                      .id = ++last_id};
    piece->live = true;
    piece->mark = mark;
    piece->born = sim_ticket_locked();
    pool->live++;
    pool->used += piece->room;
    if (pool->used > pool->used_high)
        pool->used_high = pool->used;
}

/* Puts the allocation into its stream and gives the piece to the program. */
static CUresult give(struct sim_piece *piece, struct sim_stream *stream, size_t bytes)
{
    CUresult status = wait_for_ghosts(piece, stream);
    struct sim_mark *mark = sim_mark_new();
    struct sim_op *op = sim_op_empty();

    if (!mark || !op || status != CUDA_SUCCESS) {
        free(mark);
        free(op);
        return status == CUDA_SUCCESS ? CUDA_ERROR_OUT_OF_MEMORY : status;
    }
    op->record = sim_mark_share_locked(mark);
    status = sim_stream_enqueue_locked(stream, op);
    if (status != CUDA_SUCCESS) {
        sim_mark_drop_locked(mark);
        return status;
    }
    take(piece, stream->object.context, bytes, mark);
    return CUDA_SUCCESS;
}

struct sim_piece *sim_pool_lend_locked(struct sim_pool *pool, struct sim_context *context,
                                       size_t bytes)
{
    size_t room = round_up(bytes, SIM_POOL_UNIT);
    struct sim_mark *mark = bytes > pool->device->memory ? NULL : sim_mark_new();
    struct sim_piece *piece;

    if (!mark)
        return NULL;
    mark->done = true;
    piece = sim_piece_cut_locked(pool, room, NULL, false);
    if (!piece)
        piece = sim_piece_grow_locked(pool, room);
    if (piece)
        take(piece, context, bytes, mark);
    else
        sim_mark_drop_locked(mark);
    return piece;
}

CUresult sim_pool_alloc_locked(struct sim_pool *pool, struct sim_stream *stream, size_t bytes,
                               struct sim_given *given)
{
    size_t room = round_up(bytes, SIM_POOL_UNIT);
    struct sim_piece *piece;
    CUresult status;

    if (bytes > pool->device->memory)
        return CUDA_ERROR_OUT_OF_MEMORY;
    forget_done(pool);
    piece = sim_piece_cut_locked(pool, room, stream, false);
    given->grown = !piece;
    if (!piece)
        piece = sim_piece_grow_locked(pool, room);
    if (!piece && pool->internal)
        piece = sim_piece_cut_locked(pool, room, stream, true);
    if (!piece)
        return CUDA_ERROR_OUT_OF_MEMORY;
    status = give(piece, stream, bytes);
    if (status == CUDA_SUCCESS) {
        given->address = piece->address;
        return status;
    }
    sim_piece_join_locked(piece);
    return status;
}

/* Freeing. */

static void run_free(struct sim_op *op, const struct sim_claim *claims)
{
    (void)claims;
    if (((struct free_op *)op)->record)
        sim_ledger_pass(((struct free_op *)op)->record);
}

static void release_free(struct sim_op *op)
{
    if (((struct free_op *)op)->record)
        sim_ledger_put(((struct free_op *)op)->record);
    free(op);
}

static struct sim_op *new_free(uintptr_t address)
{
    struct free_op *made = malloc(sizeof *made);

    if (!made)
        return NULL;
    made->op =
        (struct sim_op){.run = run_free, .release = release_free, .node = CU_GRAPH_NODE_TYPE_EMPTY};
    made->record = sim_ledger_order(address);
    return &made->op;
}

/* The live piece that begins there. */
static struct sim_piece *piece_at(uintptr_t address)
{
    struct sim_block *block = NULL;
    struct sim_piece *piece;

    if (sim_space_look_locked(address, &block) != SIM_PLACE_BLOCK ||
        block->kind != SIM_SEGMENT_MEMORY)
        return NULL;
    piece = sim_piece_find_locked(block, address);
    return piece && piece->address == address && !piece->block.freeing ? piece : NULL;
}

CUresult sim_pool_free_locked(uintptr_t address, struct sim_stream *stream)
{
    struct sim_piece *piece = piece_at(address);
    struct sim_ghost *ghost;
    struct sim_mark *mark;
    struct sim_op *op;
    CUresult status;

    if (!piece)
        return CUDA_ERROR_INVALID_VALUE;
    if (piece->pool->graph)
        return sim_graph_memory_end_locked(address, stream);
    ghost = malloc(sizeof *ghost);
    mark = sim_mark_new();
    op = ghost && mark ? new_free(address) : NULL;
    if (!op) {
        free(ghost);
        free(mark);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    op->record = sim_mark_share_locked(mark);
    status = sim_stream_enqueue_locked(stream, op);
    if (status != CUDA_SUCCESS) {
        sim_mark_drop_locked(mark);
        free(ghost);
        return status;
    }
    *ghost = (struct sim_ghost){.next = piece->pool->ghosts,
                                .address = address,
                                .bytes = piece->room,
                                .born = piece->born,
                                .died = sim_ticket_locked(),
                                .stream = stream->id,
                                .mark = mark};
    piece->pool->ghosts = ghost;
    make_free(piece);
    return CUDA_SUCCESS;
}

static struct sim_piece *piece_of_block(struct sim_block *block)
{
    return (struct sim_piece *)(void *)((char *)(void *)block - offsetof(struct sim_piece, block));
}

struct sim_pool *sim_pool_of(struct sim_block *block)
{
    return piece_of_block(block)->pool;
}

void sim_piece_end_locked(struct sim_piece *piece)
{
    make_free(piece);
}

void sim_pool_release_locked(struct sim_block *block)
{
    if (sim_pool_of(block)->graph)
        sim_graph_memory_drop_locked(block->address);
    else
        make_free(piece_of_block(block));
}

/* All pools. */

void sim_pools_settle_locked(void)
{
    struct sim_pool *next;

    for (struct sim_pool *pool = all; pool; pool = next) {
        next = pool->next;
        sim_pool_trim_locked(pool, pool->destroyed ? 0 : pool->threshold);
    }
}

void sim_pools_make_room_locked(const struct sim_device *device)
{
    struct sim_pool *next;

    for (struct sim_pool *pool = all; pool; pool = next) {
        next = pool->next;
        if (pool->device == device)
            sim_pool_trim_locked(pool, 0);
    }
}

/* A piece of the segment that belongs to the context; NULL: none is left. */
static struct sim_piece *piece_of(const struct sim_segment *segment,
                                  const struct sim_context *context)
{
    struct sim_piece *piece = segment->pieces;

    while (piece && (!piece->live || piece->block.freeing || piece->block.context != context))
        piece = piece->next;
    return piece;
}

void sim_pools_end_locked(const struct sim_context *context)
{
    struct sim_piece *piece;

    for (struct sim_pool *pool = all; pool; pool = pool->next)
        for (struct sim_segment *segment = pool->graph ? NULL : pool->segments; segment;
             segment = segment->next)
            while ((piece = piece_of(segment, context))) {
                sim_ledger_unmapped(piece->address, piece->room);
                make_free(piece);
            }
    sim_pools_settle_locked();
}
