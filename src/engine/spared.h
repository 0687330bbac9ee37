/* SPDX-License-Identifier: MIT
 * spared.h - between arenas and the caches of their devices: which blocks tensors were taken out
 * of, and what the devices were spared by it (cache/spare.h).
 *
 * A tensor inside a block is looked up by asking the driver where that begins, in the arena's
 * context, which is current then. Each function takes the device's lock, and no other. */
#ifndef SC_ENGINE_SPARED_H
#define SC_ENGINE_SPARED_H

#include "cache/away.h"
#include "engine/arena_call.h"
#include "log/record.h"

sc_arena_watcher sc_spared_watcher(shapecache_arena *arena);

/* Of one device; what all of its arenas did. */
void sc_spared_read(int device, sc_spared *out);
/* Of all devices that had an arena with something in it, as of the last doubt among them. */
void sc_spared_sum(sc_spared *out);

/* Boundaries so far, for the log. False: the device has no cache. */
bool sc_spared_step(int device, uint64_t *step);

/* Its fields. */
void sc_spared_record(sc_record *record, const sc_spared *spared);
/* For people: the rest of "what the device was spared is not known: ". */
const char *sc_spared_why_not(sc_spare_doubt doubt);

#endif
