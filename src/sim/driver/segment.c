/* SPDX-License-Identifier: MIT */
#include "segment.h"

#include <stdlib.h>

#include "device.h"
#include "ledger.h"
#include "settings.h"
#include "space.h"
#include "stream.h"

#define CHUNK ((size_t)32 << 20)

static size_t round_up(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

bool sim_bytes_meet(uintptr_t one, size_t one_bytes, uintptr_t other, size_t other_bytes)
{
    return one < other + other_bytes && other < one + one_bytes;
}

/* A ghost of those bytes that the order of `stream` does not take care of; NULL stream: any. */
struct sim_ghost *sim_ghost_in_the_way_locked(const struct sim_pool *pool, uintptr_t address,
                                              size_t bytes, const struct sim_stream *stream)
{
    struct sim_ghost *ghost = pool->ghosts;

    while (ghost && (ghost->mark->done || (stream && ghost->stream == stream->id) ||
                     !sim_bytes_meet(ghost->address, ghost->bytes, address, bytes)))
        ghost = ghost->next;
    return ghost;
}

static void count_reserved(struct sim_pool *pool)
{
    if (pool->reserved > pool->reserved_high)
        pool->reserved_high = pool->reserved;
}

static struct sim_piece *new_piece(struct sim_pool *pool, uintptr_t address, size_t room)
{
    struct sim_piece *piece = calloc(1, sizeof *piece);

    if (piece)
        *piece = (struct sim_piece){.pool = pool, .address = address, .room = room};
    return piece;
}

/* A segment of that size; NULL: the device has no room, or the pool may not have more. */
static struct sim_segment *add_segment(struct sim_pool *pool, size_t bytes)
{
    struct sim_segment *segment;

    if (bytes > pool->most_bytes || pool->reserved > pool->most_bytes - bytes ||
        !sim_device_take_locked(pool->device, bytes))
        return NULL;
    segment = calloc(1, sizeof *segment);
    if (!segment)
        goto give_back;
    segment->block =
        (struct sim_block){.device = pool->device,
                           .address = sim_space_place_locked(&segment->block, bytes, SIM_POOL_UNIT),
                           .bytes = bytes,
                           .kind = SIM_SEGMENT_MEMORY};
    segment->pool = pool;
    if (segment->block.address == 0)
        goto free_segment;
    segment->pieces = new_piece(pool, segment->block.address, bytes);
    if (!segment->pieces)
        goto clear;
    segment->pieces->virgin = true;
    segment->next = pool->segments;
    pool->segments = segment;
    pool->reserved += bytes;
    count_reserved(pool);
    sim_ledger_mapped(segment->block.address, bytes);
    return segment;

clear:
    sim_space_clear_locked(segment->block.address, bytes);
free_segment:
    free(segment);
give_back:
    sim_device_give_locked(pool->device, bytes);
    return NULL;
}

void sim_segment_drop_locked(struct sim_segment **link)
{
    struct sim_segment *segment = *link;
    struct sim_block *block = &segment->block;

    *link = segment->next;
    segment->pool->reserved -= block->bytes;
    sim_ledger_unmapped(block->address, block->bytes);
    sim_space_discard(block->address, block->bytes);
    sim_space_clear_locked(block->address, block->bytes);
    sim_device_give_locked(block->device, block->bytes);
    free(segment->pieces);
    free(segment);
}

/* Where `room` bytes fit into a free piece for `stream`; 0: nowhere. */
static uintptr_t fit(const struct sim_piece *piece, size_t room, const struct sim_stream *stream,
                     bool over_ghosts)
{
    uintptr_t end = piece->address + piece->room;
    uintptr_t at = piece->address;
    const struct sim_ghost *ghost;

    while (at + room <= end) {
        ghost = over_ghosts ? NULL : sim_ghost_in_the_way_locked(piece->pool, at, room, stream);
        if (!ghost)
            return at;
        at = ghost->address + ghost->bytes;
    }
    return 0;
}

/* Cuts a free piece off at `at`: what lies behind becomes a piece of its own. */
static bool cut(struct sim_piece *piece, uintptr_t at)
{
    struct sim_piece *rest;

    if (at == piece->address + piece->room)
        return true;
    rest = new_piece(piece->pool, at, piece->address + piece->room - at);
    if (!rest)
        return false;
    rest->virgin = piece->virgin;
    rest->next = piece->next;
    rest->previous = piece;
    if (rest->next)
        rest->next->previous = rest;
    piece->next = rest;
    piece->room = at - piece->address;
    return true;
}

/* The piece of exactly those bytes, taken out of a free one; NULL: out of memory. */
static struct sim_piece *carve(struct sim_piece *piece, uintptr_t at, size_t room)
{
    if (at > piece->address)
        piece = cut(piece, at) ? piece->next : NULL;
    return piece && cut(piece, at + room) ? piece : NULL;
}

struct sim_piece *sim_piece_cut_locked(const struct sim_pool *pool, size_t room,
                                       const struct sim_stream *stream, bool over_ghosts)
{
    for (const struct sim_segment *segment = pool->segments; segment; segment = segment->next)
        for (struct sim_piece *piece = segment->pieces; piece; piece = piece->next) {
            uintptr_t at =
                piece->live || piece->room < room ? 0 : fit(piece, room, stream, over_ghosts);

            if (at != 0)
                return carve(piece, at, room);
        }
    return NULL;
}

struct sim_piece *sim_piece_grow_locked(struct sim_pool *pool, size_t room)
{
    size_t unit = sim_settings()->granule;
    size_t least = round_up(room, unit);
    struct sim_segment *segment = NULL;

    if (least < CHUNK)
        segment = add_segment(pool, round_up(CHUNK, unit));
    if (!segment)
        segment = add_segment(pool, least);
    return segment ? carve(segment->pieces, segment->pieces->address, room) : NULL;
}

static void join_next(struct sim_piece *piece)
{
    struct sim_piece *next = piece->next;

    if (!next || piece->live || next->live)
        return;
    piece->room += next->room;
    piece->virgin = piece->virgin && next->virgin;
    piece->next = next->next;
    if (piece->next)
        piece->next->previous = piece;
    free(next);
}

void sim_piece_join_locked(struct sim_piece *piece)
{
    join_next(piece);
    if (piece->previous)
        join_next(piece->previous);
}

struct sim_piece *sim_piece_find_locked(const struct sim_block *segment, uintptr_t address)
{
    struct sim_piece *piece = ((const struct sim_segment *)segment)->pieces;

    while (piece && address - piece->address >= piece->room)
        piece = piece->next;
    return piece && piece->live ? piece : NULL;
}

/* The former owner that the operation belongs to; NULL: none that is still remembered. */
static const struct sim_ghost *former(const struct sim_pool *pool, const struct sim_touch *touch,
                                      uint64_t ticket)
{
    const struct sim_ghost *ghost = pool->ghosts;

    while (ghost &&
           (ticket < ghost->born || ticket >= ghost->died || touch->address < ghost->address ||
            touch->address - ghost->address >= ghost->bytes))
        ghost = ghost->next;
    return ghost;
}

static size_t room_behind(uintptr_t start, size_t bytes, uintptr_t address)
{
    return address - start < bytes ? bytes - (address - start) : 0;
}

const char *sim_pool_check_locked(const struct sim_block *segment, const struct sim_touch *touch,
                                  uint64_t ticket, const struct sim_device *device)
{
    const struct sim_pool *pool = ((const struct sim_segment *)segment)->pool;
    const struct sim_piece *piece = ((const struct sim_segment *)segment)->pieces;
    const struct sim_ghost *ghost = former(pool, touch, ticket);
    uint32_t allowed = touch->writes ? pool->writers : pool->readers;
    bool gone, ready = true;
    size_t room = 0;
    const char *kind = NULL;

    while (piece && touch->address - piece->address >= piece->room)
        piece = piece->next;
    gone = ghost ? ghost->mark->done : piece && !piece->virgin;
    if (ghost) {
        room = room_behind(ghost->address, ghost->bytes, touch->address);
    } else if (piece && piece->live && ticket >= piece->born) {
        gone = false;
        ready = piece->mark->done;
        room = room_behind(piece->address, piece->block.bytes, touch->address);
    }
    if (gone)
        kind = "use-after-free";
    else if (touch->bytes > room)
        kind = "out-of-bounds";
    else if ((allowed >> device->ordinal & 1) == 0)
        kind = "no-access";
    else if (!ready)
        kind = "early-use";
    return kind;
}
