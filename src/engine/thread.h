/* SPDX-License-Identifier: MIT
 * thread.h - what the engine keeps of each thread, and the locks it counts there.
 *
 * One struct, initial-exec, so that reaching it is one instruction and never calls the loader;
 * nothing else is thread-local. `is_inside` guards against re-entry: a hook entered while it is set
 * makes the real call; it is set wherever a lock of ours may be taken, so that a signal handler
 * never waits for the thread it interrupted. `locks` counts the table locks held now; the driver
 * must never be called while it is not 0, and the tests' driver asserts that. */
#ifndef SC_ENGINE_THREAD_H
#define SC_ENGINE_THREAD_H

#include "base/driver.h"
#include "engine/lock.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { SC_THREAD_CONTEXTS = 8 };

typedef struct sc_thread {
    const void *note;       /* the caller that the runtime layer saw; NULL: none, or consumed */
    struct sc_device *last; /* where a free is looked for first */
    uint64_t generation;    /* `known` holds while no context has ended since */
    struct {
        sc_context context;
        struct sc_device *device;
    } known[SC_THREAD_CONTEXTS]; /* by a hash of the context: what the table says */
    struct sc_region *region;    /* the innermost memory scope that the program has open here */
    uint32_t hits;
    unsigned locks;
    bool is_inside;
    bool is_note_consumed;
} sc_thread;

extern _Thread_local sc_thread sc_thread_self __attribute__((tls_model("initial-exec")));

/* Counted from before it is taken until after it is given: a signal handler that comes in between
 * and ends the process then knows. */
static inline void sc_lock(sc_mutex *lock)
{
    sc_thread_self.locks++;
    atomic_signal_fence(memory_order_seq_cst);
    sc_mutex_take(lock);
}

static inline void sc_unlock(sc_mutex *lock)
{
    sc_mutex_give(lock);
    atomic_signal_fence(memory_order_seq_cst);
    sc_thread_self.locks--;
}

#endif
