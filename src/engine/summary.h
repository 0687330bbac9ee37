/* SPDX-License-Identifier: MIT
 * summary.h - the lines on stderr at the end of a run: what the cache was worth, what it cost, why
 * it let go, and what to type next; or all in one line. And before the log ends, what then only is
 * known to have been missing.
 *
 * Figures are counts and true high-water marks; the one that is an estimate says so.
 *
 * Totals of all devices together. Without locks. */
#ifndef SC_ENGINE_SUMMARY_H
#define SC_ENGINE_SUMMARY_H

#include "cache/cache.h"
#include "engine/journal.h"

/* `totals` of each of `count` devices, the refusals of all, and the last fallback; nothing is said
 * when they saw no request. */
void sc_summary_say(const sc_cache_totals *totals, unsigned count, const sc_refusals *refusals,
                    const sc_fallback *fallback);

/* Warns, in the log too, where nothing was cached because no step ever ended. */
void sc_summary_warn(void);

#endif
