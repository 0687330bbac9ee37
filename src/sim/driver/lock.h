/* SPDX-License-Identifier: MIT
 * lock.h - the one lock of the simulated driver, and the one condition to wait on.
 *
 * Everything that changes after start-up (contexts, streams and their queues, events, allocations,
 * handles, a device's byte counts) is guarded by one mutex. It is held for table work only: never
 * while an operation runs, a cost is spent, a page is given back or anything is written. One lock
 * cannot be taken in the wrong order, and nothing here is hot enough to need more. Exceptions are
 * the counters of calls.h (atomics), the registered kernels (kernel.c: a lock of its own, taken
 * alone), the report (report.c: likewise) and the ledger (ledger.c: likewise, or under this one).
 *
 * Functions that expect the lock to be held say so in their name: sim_..._locked. Of these, only
 * those that wait (sim_wait_locked() and what is built on it) let go of it meanwhile: what was read
 * before must be read again.
 *
 * Progress: whenever an operation completes (or a context has ended), whoever waits for a stream,
 * an event or a dependency is woken and looks again. */
#ifndef SC_SIM_LOCK_H
#define SC_SIM_LOCK_H

#include <pthread.h>

void sim_lock(void);
void sim_unlock(void); /* and reports what was noted meanwhile (report.h) */

/* Waits, letting go of the lock, until an operation completes somewhere. */
void sim_wait_locked(void);

/* An operation has completed. */
void sim_progress_locked(void);

/* The mutex itself, for a condition of one's own. */
pthread_mutex_t *sim_mutex(void);

#endif
