/* SPDX-License-Identifier: MIT
 * arena.h - one pinned LIFO arena: its stack, its memory and its copies, and what is said of them.
 *
 * What shapecache/arena.h promises, less what needs the process: locking, the current context, the
 * cache and the log are the engine's. Each function either does all it says or changes nothing but
 * counters and the peak demand, and then `error` is a sentence. One caller at a time, in the
 * arena's context. The arena owns its memory, its events and pageable memory; sources and targets
 * are the program's. */
#ifndef SC_ARENA_ARENA_H
#define SC_ARENA_ARENA_H

#include "arena/copies.h"
#include "arena/pinned.h"
#include "arena/stack.h"
#include "shapecache/arena.h"

enum { SC_ARENA_ERROR_BYTES = 640, SC_ARENA_NAME_BYTES = 64 };

/* Who wants to know what becomes of sources; zero: nobody. Called when all else has been done. */
typedef struct sc_arena_watcher {
    void *self;
    /* A tensor has left for the host. What is to be told of it later; NULL: nothing. */
    void *(*left)(void *self, sc_address source);
    /* Its copy back to `target` was begun, or nobody will ask for it any more (0). Once. */
    void (*ended)(void *self, void *home, sc_address source, sc_address target);
} sc_arena_watcher;

typedef struct sc_arena {
    shapecache_arena_config config; /* its name is `name` */
    sc_arena_watcher watcher;
    char name[SC_ARENA_NAME_BYTES];
    sc_stack stack;
    sc_pinned pinned;
    sc_copies copies;
    const char *setting; /* what sets the capacity, for sentences */
    uint64_t in_flight;  /* bytes prefetched and not onloaded */
    uint64_t pageable;   /* bytes */
    sc_address *ignored; /* in no order */
    uint32_t ignored_count, ignored_room;
    bool is_background;
    int64_t node;
    shapecache_arena_info counters; /* of these, what is not read from the parts above */
    char error[SC_ARENA_ERROR_BYTES];
} sc_arena;

/* NULL, or what is wrong with it: a whole sentence. */
const char *sc_arena_look(const shapecache_arena_config *config);

/* `config` was looked at. On an error nothing is left but `error`. `setting` names what to change
 * to make it larger: "SHAPECACHE_ARENA" or the field of the config. */
shapecache_status sc_arena_init(sc_arena *arena, const shapecache_arena_config *config,
                                const char *setting, const sc_driver *driver,
                                const sc_copy_driver *copies, sc_context context, int64_t node);
/* Waits for its copies. */
void sc_arena_release(sc_arena *arena);

/* The same without the driver, whose context has ended: what it held there is gone. */
void sc_arena_abandon(sc_arena *arena);

/* `given`, if not 0, is recorded behind the copy, where there is one (ticket->place tells). */
shapecache_status sc_arena_offload(sc_arena *arena, sc_address source, uint64_t bytes, uint64_t tag,
                                   sc_stream stream, sc_gpu_event given, shapecache_ticket *ticket);
shapecache_status sc_arena_onload(sc_arena *arena, shapecache_ticket ticket, sc_address target,
                                  uint64_t bytes, uint64_t tag, sc_stream stream);
shapecache_status sc_arena_prefetch(sc_arena *arena, shapecache_ticket ticket, sc_address target,
                                    uint64_t bytes, sc_stream stream, unsigned *started);
shapecache_status sc_arena_peek(sc_arena *arena, uint32_t depth, shapecache_ticket *ticket);
shapecache_status sc_arena_fence(sc_arena *arena, shapecache_ticket ticket, sc_stream stream);
void sc_arena_mark(const sc_arena *arena, shapecache_arena_moment *moment);
shapecache_status sc_arena_rewind(sc_arena *arena, shapecache_arena_moment moment,
                                  sc_stream stream);
shapecache_status sc_arena_ignore(sc_arena *arena, sc_address source);
void sc_arena_heed(sc_arena *arena, sc_address source);
shapecache_status sc_arena_forget(sc_arena *arena, shapecache_ticket ticket);
void sc_arena_inform(const sc_arena *arena, shapecache_arena_info *info);

/* Asserts the invariants; for tests. */
void sc_arena_check(const sc_arena *arena);

#endif
