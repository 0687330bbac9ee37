/* SPDX-License-Identifier: MIT
 * summary.h - the line on stderr at the end of a run: what the cache was worth, and where to read
 * on.
 *
 * Totals of all devices together. Without locks. */
#ifndef SC_ENGINE_SUMMARY_H
#define SC_ENGINE_SUMMARY_H

#include "cache/cache.h"

/* `totals` of each of `count` devices; nothing is said when they saw no request. */
void sc_summary_say(const sc_cache_totals *totals, unsigned count);

#endif
