/* SPDX-License-Identifier: MIT
 * describe.h - what is said of a ring in words: one line each, without a newline. Pure. */
#ifndef SC_RING_DESCRIBE_H
#define SC_RING_DESCRIBE_H

#include "base/text.h"
#include "ring/plan.h"
#include "shapecache/ring.h"
#include <stdint.h>

/* What all of them begin with: "ring NAME: ", or "ring: " where NAME is the default one. */
void sc_ring_say_name(sc_text *text, const char *name);
/* Who owns what, and how much that may come to; `storage` is how memory is had: "pageable". */
void sc_ring_say_start(sc_text *text, const sc_ring_plan *plan, const char *storage);
/* More ranks than buckets. */
void sc_ring_say_nothing_owned(sc_text *text, const sc_ring_plan *plan);
/* The rings of this process together may come to more than its control group may have. */
void sc_ring_say_limit(sc_text *text, const char *name, uint64_t worst, uint64_t limit);
void sc_ring_say_stats(sc_text *text, const char *name, const shapecache_ring_info *info);
/* What a load took, and what it left. */
void sc_ring_say_loaded(sc_text *text, const char *name, const char *path,
                        const shapecache_ring_loaded *loaded);

#endif
