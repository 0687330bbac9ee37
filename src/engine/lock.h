/* SPDX-License-Identifier: MIT
 * lock.h - the engine's locks: a word, and futex(2) when two threads want it at once.
 *
 * They guard a few table accesses, many times a step. A pthread mutex costs two calls into the C
 * library and some 70 instructions each time, half of what it guards. A thread that finds the lock
 * held spins for about as long as the tables take, then sleeps in the kernel. No static or per-lock
 * clean-up; zero is free. Not recursive. A word that only counts can be waited for, too. */
#ifndef SC_ENGINE_LOCK_H
#define SC_ENGINE_LOCK_H

#include <stdatomic.h>

typedef struct sc_mutex {
    atomic_uint state; /* 0: free, 1: held, 2: held, and somebody may sleep */
} sc_mutex;

void sc_mutex_wait(sc_mutex *mutex); /* takes one that was not free */
void sc_mutex_wake(sc_mutex *mutex); /* after giving one that was waited for */

static inline void sc_mutex_take(sc_mutex *mutex)
{
    unsigned is_free = 0;

    if (!atomic_compare_exchange_strong_explicit(&mutex->state, &is_free, 1, memory_order_acquire,
                                                 memory_order_relaxed))
        sc_mutex_wait(mutex);
}

static inline void sc_mutex_give(sc_mutex *mutex)
{
    if (atomic_exchange_explicit(&mutex->state, 0, memory_order_release) == 2)
        sc_mutex_wake(mutex);
}

/* Sleeps while `word` is `seen`; may return early. */
void sc_word_wait(atomic_uint *word, unsigned seen);
void sc_word_wake_all(atomic_uint *word);

#endif
