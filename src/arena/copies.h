/* SPDX-License-Identifier: MIT
 * copies.h - the copies of an arena: two streams of its own, and the events that order them.
 *
 *     caller's stream ──(1)──► out: copy to the host ──(2)──► in: copy back ──(3)──► caller's
 * stream └──────────(4: the target is free)──────────────►┘ in: copy back ──(5: the slot has been
 * read)──► out: the next copy into that slot
 *
 * Each function enqueues one copy with the edges before it, waits for nothing on the host, and
 * either does all of it or returns the driver's first error with nothing left behind that anybody
 * must know of: an event that was made is kept for later, and a copy that is enqueued already is
 * waited for, should the step after it fail.
 *
 * What a copy still reads or writes although its entry has left the stack is a ghost: its range, so
 * that (5) can be made, and its pageable memory, which is freed when the copy is done. One caller
 * at a time; the current context is the arena's. */
#ifndef SC_ARENA_COPIES_H
#define SC_ARENA_COPIES_H

#include "arena/pinned.h"
#include "base/driver.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct sc_ghost {
    uint64_t offset, room; /* of the arena; room 0: none */
    sc_gpu_event event;    /* the copy that still uses it */
    void *pageable;        /* freed when that is done; NULL: none */
} sc_ghost;

typedef struct sc_copies {
    const sc_copy_driver *driver;
    sc_stream out, in;
    bool has_out, has_in;
    sc_gpu_event *spare; /* events nobody uses */
    uint32_t spares, made, spare_room;
    sc_ghost *ghosts; /* oldest first */
    uint32_t ghost_count, ghost_room;
    const char *refused; /* the driver function that failed last */
} sc_copies;

/* The host side of a copy: a piece of a pinned mapping, or pageable memory. */
typedef struct sc_host {
    const sc_pinned *pinned; /* NULL: pageable */
    uint64_t offset;
    void *pageable;
} sc_host;

int sc_copies_init(sc_copies *copies, const sc_copy_driver *driver);
/* Waits for all copies. False: the driver would not say, they may be running. */
bool sc_copies_finish(sc_copies *copies);
void sc_copies_release(sc_copies *copies); /* after finish */
/* The context has ended: only memory is given back. */
void sc_copies_abandon(sc_copies *copies);

/* An event that nobody uses; to be given to sc_copies_spare() or destroyed. */
int sc_copies_event(sc_copies *copies, sc_gpu_event *event);
void sc_copies_spare(sc_copies *copies, sc_gpu_event event); /* 0 is allowed */
/* The event is somebody else's from now on. */
void sc_copies_part(sc_copies *copies);

/* Copies `bytes` at `source` after `stream`, and after ghosts in [offset, offset + room). `also`,
 * if not 0, is recorded behind it, too. */
int sc_copies_out(sc_copies *copies, sc_host host, uint64_t room, sc_address source, uint64_t bytes,
                  sc_stream stream, sc_gpu_event also, sc_gpu_event *done);
/* Copies back after `stream` and after the copy out `out`. */
int sc_copies_in(sc_copies *copies, sc_host host, sc_address target, uint64_t bytes,
                 sc_gpu_event out, sc_stream stream, sc_gpu_event *done);
/* What is enqueued on `stream` from now on comes after `event`. */
int sc_copies_join(sc_copies *copies, sc_stream stream, sc_gpu_event event);
int sc_copies_within(sc_copies *copies, sc_address to, sc_address from, uint64_t bytes,
                     sc_stream stream);

/* Memory for `count` more ghosts; false: there is none. */
bool sc_copies_reserve(sc_copies *copies, uint32_t count);
/* Takes the event, too. */
void sc_copies_haunt(sc_copies *copies, sc_ghost ghost);
/* Forgets the ghosts whose copies are done, oldest first. One question to the driver, more where
 * the answer was yes. */
void sc_copies_lay(sc_copies *copies);

#endif
