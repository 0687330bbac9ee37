/* SPDX-License-Identifier: MIT */
#include "engine/lock.h"
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SPINS = 100 };

/* The system call is no place to be cancelled, and what it says is looked at again anyway. */
static void futex(atomic_uint *word, int operation, unsigned value)
{
    int saved_errno = errno;

    (void)syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
    errno = saved_errno;
}

static bool take_soon(sc_mutex *mutex)
{
    for (int i = 0; i < SPINS; i++) {
        unsigned is_free = 0;

        if (atomic_load_explicit(&mutex->state, memory_order_relaxed) == 0 &&
            atomic_compare_exchange_strong_explicit(&mutex->state, &is_free, 1,
                                                    memory_order_acquire, memory_order_relaxed))
            return true;
        __builtin_ia32_pause();
    }
    return false;
}

void sc_mutex_wait(sc_mutex *mutex)
{
    if (take_soon(mutex))
        return;
    /* whoever took it after sleeping leaves a 2, for others may sleep still */
    while (atomic_exchange_explicit(&mutex->state, 2, memory_order_acquire) != 0)
        futex(&mutex->state, FUTEX_WAIT, 2);
}

void sc_mutex_wake(sc_mutex *mutex)
{
    futex(&mutex->state, FUTEX_WAKE, 1);
}

void sc_word_wait(atomic_uint *word, unsigned seen)
{
    futex(word, FUTEX_WAIT, seen);
}

void sc_word_wake_all(atomic_uint *word)
{
    futex(word, FUTEX_WAKE, INT_MAX);
}
