/* SPDX-License-Identifier: MIT
 * serve.h - the life of one allocation and of one free, once it is sure that the cache is on.
 *
 * All functions are called without locks, by a thread marked as inside. A served allocation takes
 * the device's lock once, asks the driver which context is current, and does nothing else outside
 * user space. */
#ifndef SC_ENGINE_SERVE_H
#define SC_ENGINE_SERVE_H

#include "engine/device.h"

int sc_serve_alloc(sc_address *address, size_t bytes, const void *caller);
int sc_serve_free(sc_address address);

/* Another allocator ran out of memory on the current device; true when something was given back. */
bool sc_serve_make_room(void);

/* What is due where the program itself would wait for everything on the device: idle memory goes
 * back, records are written, and once a second the driver is asked for its free memory. */
void sc_serve_settle(sc_device *device);

#endif
