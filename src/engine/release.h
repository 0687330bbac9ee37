/* SPDX-License-Identifier: MIT
 * release.h - gives idle buffers back to the driver.
 *
 * The cache names a handful under the device's lock, the driver frees them without it, the cache is
 * told, until it names no more. Without locks, and never while a capture is open. */
#ifndef SC_ENGINE_RELEASE_H
#define SC_ENGINE_RELEASE_H

#include "engine/device.h"

/* Exact bytes given back. `is_inside`: an allocation waits for it (counted as malloc_frees). */
uint64_t sc_release(sc_device *device, sc_take why, bool is_inside);

/* Waits for what other threads are just giving back: the program has freed it, so nobody may be
 * told that it is not there. */
void sc_release_await(sc_device *device);

#endif
