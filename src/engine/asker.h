/* SPDX-License-Identifier: MIT
 * asker.h - who asks for memory: the place as part of a key, as people know it, and whether what it
 * asks for is the cache's business at all.
 *
 * A place is the number of a code address (site.h). As a name it may be more: a line of a script,
 * or a chain of callers. Such names cost a look around and are no part of the default key, so a
 * served request goes without. All of it without locks. */
#ifndef SC_ENGINE_ASKER_H
#define SC_ENGINE_ASKER_H

#include <stdbool.h>
#include <stdint.h>

/* The site of a request of `caller`, whose number is `place`: in its key where the settings say so,
 * else for the log. 0: not wanted. */
uint32_t sc_asker_site(const void *caller, uint32_t place);

/* True where a place has a better name, to be looked for when a shape is new or memory runs out. */
bool sc_asker_is_named_late(void);
uint32_t sc_asker_late_name(const void *caller);

/* What it asks for passes: a framework's allocator asks for what it will keep, not per batch. */
bool sc_asker_passes(uint32_t place);
/* Says so, once in the process. */
void sc_asker_say_passing(uint32_t place);

#endif
