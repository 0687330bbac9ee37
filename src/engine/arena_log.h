/* SPDX-License-Identifier: MIT
 * arena_log.h - what is written and said of arenas: `arena` records, and the line at the end.
 *
 * Straight into the log's file, as of rings. Without locks. */
#ifndef SC_ENGINE_ARENA_LOG_H
#define SC_ENGINE_ARENA_LOG_H

#include "shapecache/arena.h"

/* `what` happened to the arena `name` of `device`, which is in this state. */
void sc_arena_record(const char *name, int device, const char *what,
                     const shapecache_arena_info *info);

/* A line on stderr: what all arenas did; nothing where they did nothing. */
void sc_arena_say_end(const shapecache_arena_info *sum, unsigned arenas);

/* Adds one arena's figures to the sum of several. */
void sc_arena_add(shapecache_arena_info *sum, const shapecache_arena_info *one);

#endif
