/* SPDX-License-Identifier: MIT
 * region.h - memory scopes, as the program calls them: what memory did in a part of it. (In here a
 * scope is what a gate stands for, see cache/scope.h.)
 *
 * A thread's open regions form a stack, which it alone touches. Each watches the device whose
 * context is current where it begins:
 *
 *     cache   keeps the high-water marks since the last lap, wherever memory rises
 *     device  a list of watches, of all threads; when a region begins or ends on it, the lap's
 *             marks go into every watch and a new lap begins
 *
 * so that marks are exact, nested or side by side in different threads, and cost a request nothing
 * more the more there are. Where no context is current yet, the region watches every device there
 * is, and the one that is current at its end counts; a device that has made its first allocation
 * since then is known by its totals.
 *
 * The device's lock guards its watches. Regions are as many as a device has watches, in memory of
 * the process's own; those that a thread left open when it ended are used again when all are taken.
 */
#ifndef SC_ENGINE_REGION_H
#define SC_ENGINE_REGION_H

#include "shapecache/shapecache.h"
#include <stdbool.h>

/* Both return a shapecache_status, see shapecache_scope_begin() and _end(). Without locks; `is_on`:
 * marked as inside, in a process that caches. Else regions are only counted. */
int sc_region_begin(const char *name, unsigned flags, bool is_on);
int sc_region_end(shapecache_scope_info *info, bool is_on);

#endif
