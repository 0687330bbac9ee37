/* SPDX-License-Identifier: MIT
 * say.h - the sentences of an arena's errors.
 *
 * Each is whole, names the arena if it has a name of its own, and has what a reader needs to put it
 * right: both tickets of a wrong order; need, have, peak demand and the setting of a full arena;
 * both values of a mismatch; the limits of memory that cannot be page-locked. All write into the
 * arena's `error`, count the kind of error, and return its status, so that they stand behind a
 * return. */
#ifndef SC_ARENA_SAY_H
#define SC_ARENA_SAY_H

#include "arena/arena.h"
#include "base/text.h"

/* What sentences begin with: "arena NAME: ", or "arena: " where NAME is the default one. */
void sc_arena_say_name(sc_text *text, const char *name);

shapecache_status sc_arena_say_value(sc_arena *arena, const char *what);
shapecache_status sc_arena_say_memory(sc_arena *arena);
shapecache_status sc_arena_say_driver(sc_arena *arena, int result);
/* The ticket asked for is not the one on top, or not on the stack. */
shapecache_status sc_arena_say_order(sc_arena *arena, const char *call, shapecache_ticket asked);
shapecache_status sc_arena_say_moment(sc_arena *arena, shapecache_arena_moment asked);
shapecache_status sc_arena_say_depth(sc_arena *arena, uint32_t asked);
/* `what` differs: what it was, and what was asked for. */
shapecache_status sc_arena_say_mismatch(sc_arena *arena, const sc_entry *entry, const char *what,
                                        uint64_t was, uint64_t asked);
shapecache_status sc_arena_say_full(sc_arena *arena, uint64_t bytes);
shapecache_status sc_arena_say_pinned(sc_arena *arena, uint64_t bytes, int result);

#endif
