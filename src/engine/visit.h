/* SPDX-License-Identifier: MIT
 * visit.h - how a call of the program's gets into the engine and out again.
 *
 * Between the two this thread is inside: what the driver calls of ours meanwhile passes through,
 * and what happens in here does not show in errno. No lock. */
#ifndef SC_ENGINE_VISIT_H
#define SC_ENGINE_VISIT_H

#include "engine/process.h"
#include "engine/thread.h"
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>

/* False: pass through, the cache is off or this thread is inside already. */
static inline bool sc_visit_enter(int *saved_errno)
{
    if (sc_thread_self.is_inside || !sc_process_is_on())
        return false;
    sc_thread_self.is_inside = true;
    atomic_signal_fence(memory_order_seq_cst);
    *saved_errno = errno;
    return true;
}

static inline void sc_visit_leave(int saved_errno)
{
    errno = saved_errno;
    atomic_signal_fence(memory_order_seq_cst);
    sc_thread_self.is_inside = false;
}

#endif
