/* SPDX-License-Identifier: MIT
 * memory.h - how much memory a device has, and giving back what is idle because the program says
 * so.
 *
 * Without locks, by a thread marked as inside. */
#ifndef SC_ENGINE_MEMORY_H
#define SC_ENGINE_MEMORY_H

#include "engine/device.h"
#include "shapecache/shapecache.h"

/* Everything idle goes back, and what other threads are just giving back is back, too. Exact bytes.
 * While a capture is open, nothing does. No wait for the device: what is idle was waited for when
 * it was parked. */
uint64_t sc_memory_trim(sc_device *device);
/* The same, and the log has a mark. */
void sc_memory_trim_and_tell(sc_device *device);

/* One driver call, in a context of the device, or none while a capture is open. */
void sc_memory_read(sc_device *device, shapecache_memory_info *info);

#endif
