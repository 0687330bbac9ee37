/* SPDX-License-Identifier: MIT
 * fake_driver.h - a driver for tests: memory with a size, contexts per thread, and failures on
 * demand.
 *
 * Every call is counted and may be made to fail: the n-th from now, or the next of one kind. A
 * freed address is handed out again at once, the meanest a driver can be to whoever remembers too
 * much. A call made while a table lock of the engine is held is remembered as a fault. Two devices,
 * each with a primary context; more contexts can be made. Thread-safe. */
#ifndef SC_TESTS_FAKE_DRIVER_H
#define SC_TESTS_FAKE_DRIVER_H

#include "base/driver.h"
#include <stdbool.h>
#include <stdint.h>

typedef enum fake_call {
    FAKE_MEM_ALLOC,
    FAKE_MEM_FREE,
    FAKE_MEM_INFO,
    FAKE_MEM_RANGE,
    FAKE_CONTEXT_CURRENT,
    FAKE_CONTEXT_DEVICE,
    FAKE_CONTEXT_PUSH,
    FAKE_CONTEXT_POP,
    FAKE_CONTEXT_WAIT,
    FAKE_HOST_REGISTER,
    FAKE_HOST_UNREGISTER,
    FAKE_CALL_COUNT
} fake_call;

extern const sc_driver fake_driver;

/* `memory` bytes on each device; this thread's current context becomes device 0's. */
void fake_init(uint64_t memory);

sc_context fake_primary(int device);
sc_context fake_new_context(int device);
void fake_set_current(sc_context context); /* 0: none */
sc_context fake_get_current(void);
void fake_end_context(sc_context context); /* its memory goes with it */
/* The handle of one that has ended is a new context's, on `device`. */
void fake_revive_context(sc_context context, int device);

/* The n-th call from now fails with `result`; 0: none does. */
void fake_fail_at(unsigned n, int result);
/* The next calls of `kind` fail `times` times. */
void fake_fail_kind(fake_call kind, unsigned times, int result);

unsigned fake_calls(void); /* all since fake_init() */
unsigned fake_count(fake_call kind);
/* Counts of every kind are 0 again. */
void fake_forget_counts(void);

uint64_t fake_live_bytes(void);
unsigned fake_live_blocks(void);
unsigned fake_registered(void); /* pieces of host memory that are page-locked */
bool fake_is_live(sc_address address);
sc_context fake_last_waited(void); /* context of the last wait */
bool fake_was_called_under_lock(void);

/* Another process has so much of each device. */
void fake_take_memory(uint64_t bytes);

/* Called in the middle of every wait; NULL: nothing. */
void fake_on_wait(void (*call)(void));
/* The same at the start of every free. */
void fake_on_free(void (*call)(void));

#endif
