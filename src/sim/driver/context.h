/* SPDX-License-Identifier: MIT
 * context.h - contexts, and each thread's stack of current ones.
 *
 * A context owns streams, events, modules and memory, and all of it ends with the context. Its
 * struct is never freed, since any thread may have it current when it is destroyed: such a thread's
 * calls answer CUDA_ERROR_CONTEXT_IS_DESTROYED. Once no thread has, the next context made on the
 * device is that struct again, so that a handle comes back as it may from the real driver. A
 * device's primary context is one struct for good, which goes from dead to alive when it is
 * retained again. The stack is the thread's own; the rest
 * is guarded by the lock, but for `alive` and `sticky`, which every call reads (atomics). */
#ifndef SC_SIM_CONTEXT_H
#define SC_SIM_CONTEXT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "api.h"
#include "handle.h"

struct sim_block;
struct sim_device;
struct sim_stream;

#define SIM_LIMITS 16

struct sim_context {
    struct sim_object object;
    struct sim_device *device;
    struct sim_context *next; /* every context ever made */
    uint64_t id;              /* new each time it comes alive */
    unsigned flags;
    unsigned retained; /* primary contexts */
    unsigned attached; /* others: how often beyond their creation */
    bool primary;
    bool ending; /* dead, and what it owned is still being ended */
    atomic_bool alive;
    atomic_uint stacked; /* how often threads have it on their stacks */
    atomic_int sticky;   /* a CUresult */
    CUfunc_cache cache_config;
    CUsharedconfig shared_config;
    size_t limits[SIM_LIMITS];
    struct sim_stream *legacy;  /* its default stream */
    struct sim_stream *streams; /* all that exist or still have work, the default one too */
    struct sim_block *blocks;   /* its memory */
};

/* Top of the calling thread's stack, dead or alive; NULL: none. */
struct sim_context *sim_context_current(void);

/* The current context if calls may use it, else why they may not. */
CUresult sim_context_usable(struct sim_context **context);

/* The context a handle names, NULL: not a live one. */
struct sim_context *sim_context_find(CUcontext handle);

/* False: the stack is full. */
bool sim_context_push(struct sim_context *context);
struct sim_context *sim_context_pop(void);

/* Replaces the top of the stack; NULL pops it. */
void sim_context_replace(struct sim_context *context);

/* A new context, alive, not current; NULL: out of memory. */
struct sim_context *sim_context_new_locked(struct sim_device *device, unsigned flags, bool primary);

/* Brings a dead primary context back to life, once whoever ends it is done (the lock is let go
 * meanwhile). */
void sim_context_revive_locked(struct sim_context *context, unsigned flags);

/* Lets its work finish, then ends everything it owns. The lock is held on entry (so that nobody can
 * retain the context in between) and not on return. */
void sim_context_end_and_unlock(struct sim_context *context);

/* First of all contexts (see `next`). */
struct sim_context *sim_contexts_locked(void);

/* Are these flags ones a context can have? */
bool sim_context_flags_valid(unsigned flags);

#endif
