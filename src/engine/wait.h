/* SPDX-License-Identifier: MIT
 * wait.h - the wait that a parked free keeps, so that what is reused is idle.
 *
 * cudaFree waits for the device in practice, and programs rely on it. A parked free waits once for
 * everything enqueued in the block's own context, whichever context the thread is in; where peers
 * may reach the block, for every context that has allocated or was given such access. Without
 * locks, and never while a capture is open: that is looked at last, since a capture in another
 * thread, which would allow a free here, does not allow a wait. */
#ifndef SC_ENGINE_WAIT_H
#define SC_ENGINE_WAIT_H

#include "base/driver.h"
#include <stdbool.h>

/* The driver's answer, or SC_CUDA_CAPTURE_UNSUPPORTED without having asked; the thread's current
 * context is as before. */
int sc_wait(const sc_driver *driver, sc_context context, bool is_peered);

/* A capture is about to begin and has been counted: until no thread is on its way into the driver's
 * wait. One that is in there does no harm and may last, for the program may have it wait for what
 * this thread does next; the two look alike from here, so after 10 ms it is taken for that. */
void sc_wait_before_capture(void);

#endif
