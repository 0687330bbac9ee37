/* SPDX-License-Identifier: MIT
 * summary.h - the line on stderr at the end of a run: what the cache was worth, and where to read
 * on; and before the log ends, what then only is known to have been missing.
 *
 * Totals of all devices together. Without locks. */
#ifndef SC_ENGINE_SUMMARY_H
#define SC_ENGINE_SUMMARY_H

#include "cache/cache.h"
#include "engine/journal.h"

/* `totals` of each of `count` devices, and the refusals of all; nothing is said when they saw no
 * request. */
void sc_summary_say(const sc_cache_totals *totals, unsigned count, const sc_refusals *refusals);

/* Warns, in the log too, where nothing was cached because no step ever ended. */
void sc_summary_warn(void);

#endif
