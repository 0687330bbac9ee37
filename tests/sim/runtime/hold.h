/* SPDX-License-Identifier: MIT
 * hold.h - keeps a stream from going on until it is let go: a test that looks at unfinished work
 * needs no delay that it hopes to be long enough. */
#ifndef TESTS_SIM_RUNTIME_HOLD_H
#define TESTS_SIM_RUNTIME_HOLD_H

#include "run.h"

#include <semaphore.h>

static inline void hold_wait(void *gate)
{
    while (sem_wait(gate) != 0) { /* interrupted */
    }
}

/* Whatever is enqueued on the stream from here on waits for let_go(). */
static inline void hold(cudaStream_t stream, sem_t *gate)
{
    ck_assert_int_eq(sem_init(gate, 0, 0), 0);
    ok(cudaLaunchHostFunc(stream, hold_wait, gate));
}

static inline void let_go(sem_t *gate)
{
    ck_assert_int_eq(sem_post(gate), 0);
}

#endif
