/* SPDX-License-Identifier: MIT
 * arena_call.h - an arena as the process has it, and what every call on one begins and ends with.
 *
 * Arenas lie in one list, so that the end of the process and of a context find them; its lock is
 * taken alone. A call marks its arena as busy, and where another call has, it answers EBUSY and
 * touches nothing: there is no lock that a driver call could be made under. Then it looks whether
 * this is the arena's process and no capture is open, makes the arena's context current, and marks
 * the thread as inside. The sentence of an error is copied under a lock of its own, so that it can
 * be read at any time. */
#ifndef SC_ENGINE_ARENA_CALL_H
#define SC_ENGINE_ARENA_CALL_H

#include "arena/arena.h"
#include "engine/lock.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

struct shapecache_arena {
    sc_arena core; /* first, and never moved */
    struct shapecache_arena *next;
    sc_context context;
    int device;
    pid_t pid;
    bool is_process;
    atomic_bool is_busy;
    atomic_bool is_orphan; /* its context has ended */
    atomic_ullong refused; /* calls that came while it was busy */
    uint64_t given, waits, wait_ns;
    sc_mutex words; /* guards `error` */
    char error[SC_ARENA_ERROR_BYTES];
};

typedef struct sc_arena_call {
    shapecache_arena *arena;
    bool is_pushed;
    int saved_errno;
} sc_arena_call;

typedef enum sc_arena_need {
    SC_ARENA_NEEDS_NOTHING, /* of the driver: also during a capture, and without its context */
    SC_ARENA_NEEDS_DRIVER,
} sc_arena_need;

/* Anything but OK: there is no call to end, and the status is the answer. */
shapecache_status sc_arena_begin(sc_arena_call *call, shapecache_arena *arena, sc_arena_need need);
/* Returns `status`. */
shapecache_status sc_arena_end(const sc_arena_call *call, shapecache_status status);

/* The sentence of an error that has no arena: of making one. */
void sc_arena_set_last(const char *sentence);
void sc_arena_get_last(char *out, size_t bytes);

/* Of its last error. Thread-safe. */
void sc_arena_get_error(shapecache_arena *arena, char *out, size_t bytes);

/* What counts of the process are added to the arena's own. */
void sc_arena_read(const shapecache_arena *arena, shapecache_arena_info *info);

void sc_arenas_add(shapecache_arena *arena);
/* It is gone; its figures stay for the end. */
void sc_arenas_remove(shapecache_arena *arena);
/* At the end of the process: a record for each, while the log is open; then the line. */
void sc_arenas_record(void);
void sc_arenas_say(void);
void sc_arenas_context_ends(sc_context context);

#endif
