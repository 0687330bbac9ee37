/* SPDX-License-Identifier: MIT
 * segment.h - what a pool has, and how it is cut into pieces; see pool.h.
 *
 * A segment's pieces lie side by side and cover it; two free ones that touch become one. All
 * functions expect the lock to be held. */
#ifndef SC_SIM_SEGMENT_H
#define SC_SIM_SEGMENT_H

#include "pool.h"

/* What allocations are rounded up to and aligned to. */
#define SIM_POOL_UNIT ((size_t)512)

bool sim_bytes_meet(uintptr_t one, size_t one_bytes, uintptr_t other, size_t other_bytes);

/* A ghost of those bytes that the order of `stream` does not take care of; NULL stream: any. */
struct sim_ghost *sim_ghost_in_the_way_locked(const struct sim_pool *pool, uintptr_t address,
                                              size_t bytes, const struct sim_stream *stream);

/* A piece of `room` bytes for `stream`, where a free one lies and, unless over_ghosts, no other
 * stream is in the way: lowest first of each segment; NULL: there is none. */
struct sim_piece *sim_piece_cut_locked(const struct sim_pool *pool, size_t room,
                                       const struct sim_stream *stream, bool over_ghosts);

/* The same from a new segment; NULL: the device has no room, or the pool may not have more. */
struct sim_piece *sim_piece_grow_locked(struct sim_pool *pool, size_t room);

/* Makes a free piece one with its free neighbours. */
void sim_piece_join_locked(struct sim_piece *piece);

/* Gives a segment without live pieces and ghosts back to the device. */
void sim_segment_drop_locked(struct sim_segment **link);

#endif
