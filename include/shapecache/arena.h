/* SPDX-License-Identifier: MIT
 * arena.h - a pinned LIFO arena: activations wait in host memory for their backward pass.
 *
 * An arena is one piece of page-locked host memory, exactly as long as asked for, and a stack in
 * it. A forward pass offloads tensors one after the other, each for a ticket; the backward pass
 * onloads them in the opposite order, so that memory is never fragmented and what is on top is what
 * is wanted next. Copies run on two streams of the arena's own:
 *
 *     compute -> copy out -> copy in -> compute
 *
 * each arrow being an event: a copy out waits for the work enqueued on the caller's stream before
 * it, a copy in for its own copy out and for that stream, later work on the stream for the copy in,
 * and a slot is written again only after its copy in has read it. No call waits on the host, but
 * where this file says so.
 *
 * The caller's side of it: offload() reads `data` later, so nothing may overwrite or free it until
 * the stream of whoever does has been through shapecache_arena_fence(), or by a cudaFree, which
 * waits. offload_free() gives the whole allocation away instead. `stream` is a CUstream or
 * cudaStream_t of the context in which the arena was made, NULL being the legacy default stream (a
 * program compiled for per-thread default streams passes cudaStreamPerThread).
 *
 * Sizes are bytes, of any dtype; each tensor's place is aligned to 256 bytes.
 *
 * Threads: different arenas never touch each other. Calls on one arena must follow one another, by
 * one thread or under a lock of the program's: a call that comes while another runs changes nothing
 * and answers SHAPECACHE_EBUSY, whatever was asked. Only shapecache_arena_error() may be called at
 * any time.
 *
 * Errors: every call that fails leaves the stack as it was, counts, and leaves a whole sentence for
 * shapecache_arena_error(). Besides those named with each function: SHAPECACHE_EVALUE (an argument
 * is NULL, 0 or unknown), SHAPECACHE_EBUSY, SHAPECACHE_EOFF (a forked child, or inside a call of
 * the cache), SHAPECACHE_ECAPTURE (a stream capture is open in the process), SHAPECACHE_EDRIVER
 * (the driver refused a copy or an event; the sentence says which, and its number).
 *
 * Part of shapecache.h. docs/arena.md has examples. */
#ifndef SHAPECACHE_ARENA_H
#define SHAPECACHE_ARENA_H

#include "shapecache/shapecache.h"
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct shapecache_arena shapecache_arena;

/* What happens to a tensor that does not fit. */
typedef enum shapecache_arena_full {
    SHAPECACHE_ARENA_FULL_FAIL = 0,    /* SHAPECACHE_EFULL, nothing changes */
    SHAPECACHE_ARENA_FULL_KEEP = 1,    /* it stays on the device */
    SHAPECACHE_ARENA_FULL_PAGEABLE = 2 /* it goes to memory that is not page-locked: slower */
} shapecache_arena_full;

enum {
    SHAPECACHE_ARENA_BACKGROUND = 1, /* page-lock by a thread of the arena's, chunk by chunk */
    SHAPECACHE_ARENA_QUIET = 2       /* no line on stderr at the end of the run */
};

typedef struct shapecache_arena_config {
    size_t size;       /* of this struct; shapecache_arena_defaults() sets it */
    const char *name;  /* for lines and records, UTF-8, cut after 63 bytes; "arena" */
    uint64_t capacity; /* bytes; 0: a dry run, nothing moves, the peak demand is measured */
    shapecache_arena_full full; /* fail */
    uint64_t bytes_least;       /* smaller tensors stay on the device; 0 */
    uint32_t keep_last;         /* so many of the last tensors of a pass stay on the device, once a
                                   pass has shown how many there are; 0 */
    uint64_t prefetch_most;     /* bytes prefetched and not onloaded yet; 1 GiB */
    uint64_t given_most; /* bytes given away and not copied yet, of all arenas: before one more,
                            offload_free() waits on the host until there are no more than that. A
                            program that enqueues faster than is copied needs the more device memory
                            the higher this is; UINT64_MAX, never wait */
    uint64_t chunk;      /* bytes page-locked at once in the background; 64 MiB */
    uint32_t flags;      /* SHAPECACHE_ARENA_...; 0 */
} shapecache_arena_config;

/* Thread-safe. */
SHAPECACHE_API void shapecache_arena_defaults(shapecache_arena_config *config);

/* A new, empty arena for the device of the current context. Its memory is mapped near that device
 * and page-locked before this returns (about a second for 4 GiB), or, with
 * SHAPECACHE_ARENA_BACKGROUND, meanwhile: a tensor that comes sooner locks the chunks it needs
 * itself, and a chunk that cannot be locked stays pageable and is warned of. Errors: besides those
 * above SHAPECACHE_EPINNED (nothing could be page-locked: the sentence, from
 * shapecache_arena_error(NULL, ...) and on stderr, says how much, and under which limits),
 * SHAPECACHE_EMEMORY, SHAPECACHE_EDEVICE (no context is current, or the process has not used a CUDA
 * driver yet). Thread-safe. */
SHAPECACHE_API shapecache_status shapecache_arena_create(shapecache_arena **arena,
                                                         const shapecache_arena_config *config);

/* The arena of the process, made when first asked for: of SHAPECACHE_ARENA bytes (0, as when it is
 * not set: a dry run) and the policy SHAPECACHE_ARENA_FULL. It lives until the process ends. Errors
 * as of create. Thread-safe; what is done with the arena must be locked as with any other. */
SHAPECACHE_API shapecache_status shapecache_arena_of_process(shapecache_arena **arena);

/* Waits for the arena's copies, gives everything back, tickets that are left included; NULL is
 * allowed. Not for the process's arena (SHAPECACHE_EVALUE). No other call may follow. */
SHAPECACHE_API shapecache_status shapecache_arena_destroy(shapecache_arena *arena);

typedef enum shapecache_arena_place {
    SHAPECACHE_ARENA_PINNED = 0,  /* in the arena */
    SHAPECACHE_ARENA_DEVICE = 1,  /* where it was: nothing has moved, the memory is the caller's */
    SHAPECACHE_ARENA_PAGEABLE = 2 /* in host memory that is not page-locked */
} shapecache_arena_place;

/* One offloaded tensor. Numbers are never given twice by an arena. */
typedef struct shapecache_ticket {
    uint64_t number; /* from 1; 0: no ticket */
    uint32_t index;  /* its depth in the stack, from 0 at the bottom */
    shapecache_arena_place place;
} shapecache_ticket;

/* Enqueues a copy of `bytes` at `data` (device memory) after what is enqueued on `stream`, and puts
 * it on the stack. `tag` is any number, which onload() must give again (a dtype, a layer). Look at
 * ticket->place: what is ignored, too small, among the last, or (full: keep, or a dry run) does not
 * fit has a ticket too, so that order is the same for all, but stays where it is, and the memory
 * must stay as well. Errors: SHAPECACHE_EFULL ("activation arena is full": need, have, peak demand
 * and the value to set), SHAPECACHE_EMEMORY. */
SHAPECACHE_API shapecache_status shapecache_arena_offload(shapecache_arena *arena, const void *data,
                                                          size_t bytes, uint64_t tag, void *stream,
                                                          shapecache_ticket *ticket);

/* The same, and the allocation that starts at `data` (of cudaMalloc or cuMemAlloc) is the arena's:
 * never to be touched or freed again by the program, unless ticket->place is
 * SHAPECACHE_ARENA_DEVICE. When the copy is done the memory is parked in the cache, or given to the
 * driver where the cache is not serving; nobody waits for that (but see given_most). Whatever else
 * uses the memory must be ordered before `stream`, as for cudaFreeAsync. Error besides:
 * SHAPECACHE_EPOINTER (no allocation starts there). */
SHAPECACHE_API shapecache_status shapecache_arena_offload_free(shapecache_arena *arena, void *data,
                                                               size_t bytes, uint64_t tag,
                                                               void *stream,
                                                               shapecache_ticket *ticket);

/* Brings the top tensor back to `data`; work enqueued on `stream` from now on sees it there. One
 * that stayed on the device is copied within it, or not at all where `data` is where it is. `bytes`
 * and `tag` must be those of its offload. Errors: SHAPECACHE_EORDER ("wrong order of
 * offload/onload": names the ticket asked for and the one on top), SHAPECACHE_EMISMATCH (another
 * size, tag, or address than it was prefetched to). */
SHAPECACHE_API shapecache_status shapecache_arena_onload(shapecache_arena *arena,
                                                         shapecache_ticket ticket, void *data,
                                                         size_t bytes, uint64_t tag, void *stream);

/* Begins to bring a tensor anywhere on the stack back to `data`, which nothing may touch until its
 * onload() to the same address. Only a hint: where more than prefetch_most bytes would be on their
 * way, or the tensor never left the device, nothing happens and *started (NULL: not asked) is 0.
 * Errors: SHAPECACHE_EORDER (it is not on the stack), SHAPECACHE_EMISMATCH (another size, or it is
 * on its way to another address). */
SHAPECACHE_API shapecache_status shapecache_arena_prefetch(shapecache_arena *arena,
                                                           shapecache_ticket ticket, void *data,
                                                           size_t bytes, void *stream,
                                                           unsigned *started);

/* The ticket `depth` below the top (0: the top itself): what to prefetch next. Error:
 * SHAPECACHE_EORDER (the stack is not as deep). */
SHAPECACHE_API shapecache_status shapecache_arena_peek(shapecache_arena *arena, uint32_t depth,
                                                       shapecache_ticket *ticket);

/* Work enqueued on `stream` from now on may overwrite the tensor's source: it runs after the copy
 * out. Error: SHAPECACHE_EORDER (the ticket is not on the stack). */
SHAPECACHE_API shapecache_status shapecache_arena_fence(shapecache_arena *arena,
                                                        shapecache_ticket ticket, void *stream);

/* A moment of the stack. */
typedef struct shapecache_arena_moment {
    uint64_t number; /* of the ticket on top; 0: none */
    uint32_t depth;  /* tickets on the stack */
} shapecache_arena_moment;

/* Remember where the stack stands, and drop what has come since, without bringing it back: after an
 * evaluation, an exception, a skipped backward pass. Dropped tickets are not on the stack any more.
 * Addresses that something was prefetched to may be used again by work enqueued on `stream`. Error
 * of rewind(): SHAPECACHE_EORDER (the stack has been below that since). */
SHAPECACHE_API shapecache_status shapecache_arena_mark(shapecache_arena *arena,
                                                       shapecache_arena_moment *moment);
SHAPECACHE_API shapecache_status shapecache_arena_rewind(shapecache_arena *arena,
                                                         shapecache_arena_moment moment,
                                                         void *stream);

/* From now on, until the stack is next empty, tensors at `data` stay on the device: those that
 * several layers share. shapecache_arena_heed() takes it back. Error: SHAPECACHE_EMEMORY. */
SHAPECACHE_API shapecache_status shapecache_arena_ignore(shapecache_arena *arena, const void *data);
SHAPECACHE_API shapecache_status shapecache_arena_heed(shapecache_arena *arena, const void *data);

/* Nobody holds the tensor any more: without the arena its memory would be free from now on. It
 * stays on the stack, to be rewound when those above it have gone; only what the device was spared
 * is told by it. Error: SHAPECACHE_EORDER (the ticket is not on the stack). */
SHAPECACHE_API shapecache_status shapecache_arena_forget(shapecache_arena *arena,
                                                         shapecache_ticket ticket);

/* Why it is not known what a device was spared. */
typedef enum shapecache_arena_doubt {
    SHAPECACHE_ARENA_SURE = 0,
    SHAPECACHE_ARENA_UNSEEN = 1, /* a tensor lay, or came back, in memory the cache does not see */
    SHAPECACHE_ARENA_WITHIN = 2, /* one came back to another place of a block that was not freed */
    SHAPECACHE_ARENA_OLD = 3,    /* one came back into a block that had been there for long */
    SHAPECACHE_ARENA_SHARED = 4, /* tensors of several blocks came back into one */
    SHAPECACHE_ARENA_NOTHING = 5 /* no block was freed while a tensor of it was away */
} shapecache_arena_doubt;

typedef struct shapecache_arena_info {
    uint64_t capacity;     /* bytes */
    uint64_t mapped;       /* host bytes the arena takes: capacity in whole pages */
    uint64_t pinned;       /* of those, page-locked now */
    uint64_t pin_ns;       /* what page-locking took, in all */
    int64_t node;          /* NUMA node that is near the device; -1: unknown */
    uint64_t used;         /* bytes taken now, alignment included */
    uint64_t used_peak;    /* and the most so far; what that spared the device: see `spared` */
    uint64_t demand_peak;  /* the most that would have been used by an arena without an end */
    uint64_t pageable;     /* bytes in pageable memory now */
    uint64_t depth;        /* tickets on the stack */
    uint64_t depth_peak;   /* the most so far */
    uint64_t passes;       /* times the stack became empty */
    uint64_t offloads;     /* tickets given */
    uint64_t onloads;      /* tensors brought back */
    uint64_t bytes_out;    /* copied to the host */
    uint64_t bytes_in;     /* copied back */
    uint64_t kept_ignored; /* stayed on the device: because they are ignored, */
    uint64_t kept_small;   /* below bytes_least, */
    uint64_t kept_last;    /* among the last of the pass, */
    uint64_t kept_full;    /* did not fit, */
    uint64_t kept_dry;     /* or because it is a dry run */
    uint64_t kept_bytes;   /* bytes of all these */
    uint64_t went_pageable;
    uint64_t prefetched;       /* prefetches that were begun */
    uint64_t prefetch_refused; /* and those that were not, for prefetch_most */
    uint64_t rewound;          /* tickets dropped */
    uint64_t given;            /* allocations taken over by offload_free() */
    uint64_t waits;            /* calls that waited on the host, for given_most */
    uint64_t wait_ns;          /* and how long, in all */
    uint64_t given_pending; /* of those of all arenas, whose copy is not done, or not seen to be */
    uint64_t wrong_order;   /* calls answered with EORDER, */
    uint64_t full;          /* EFULL, */
    uint64_t mismatched;    /* EMISMATCH, */
    uint64_t driver_errors; /* EDRIVER */
    uint64_t busy;          /* EBUSY */
    /* Of the arena's device, and of all arenas for it, in the driver's pages, since the run began:
     * the most that would have been live without them, that is with every block that was freed
     * while a tensor of it was away still live until the tensor was brought back (or dropped, and
     * then until what it was brought back to is freed), and by how much that is more than the most
     * that was live. Both are 0 where it is not known. */
    uint64_t live_without;
    uint64_t spared;
    shapecache_arena_doubt spared_unknown; /* SHAPECACHE_ARENA_SURE: it is known */
} shapecache_arena_info;

SHAPECACHE_API shapecache_status shapecache_arena_stats(shapecache_arena *arena,
                                                        shapecache_arena_info *info);

/* An `arena` record in the log, where there is one. */
SHAPECACHE_API shapecache_status shapecache_arena_report(shapecache_arena *arena);

/* The sentence of the last call on the arena that failed, terminated, cut to `bytes`; "" when none
 * did. NULL: of the last arena that could not be made. Thread-safe. */
SHAPECACHE_API void shapecache_arena_error(shapecache_arena *arena, char *out, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
