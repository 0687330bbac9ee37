/* SPDX-License-Identifier: MIT
 * oom.h - an out-of-memory: measured where it happens, logged at once, and told on stderr only when
 * it was the end.
 *
 * Inside the failing call nothing is allocated. What was found waits in the device's record until
 * it is known whether the program recovered. It is told when the program fails a second time, for
 * no less, with nothing granted between and nothing given back, or when the process ends and
 * nothing was granted and no step completed since. A framework that keeps a cache asks again by
 * itself, for the same bytes: that is one failure. While a capture is open the driver is not asked
 * and nothing is said.
 *
 * Without locks, but where said. */
#ifndef SC_ENGINE_OOM_H
#define SC_ENGINE_OOM_H

#include "engine/verdict.h"

struct sc_device;

/* The last out-of-memory that reached the program. The device's lock guards it. */
typedef struct sc_held_oom {
    bool is_there, is_told;
    unsigned repeats; /* of a framework's own */
    sc_oom last;
} sc_held_oom;

/* Before anything is given back. `oom` has asked and is_passed. */
void sc_oom_begin(struct sc_device *device, sc_oom *oom);
/* After the retry, or where there is none. `oom` has site, is_retried and result. A result of
 * another allocator's (asked 0) is not known where it is retried. */
void sc_oom_end(struct sc_device *device, sc_oom *oom);

/* Some device holds one. One load. */
bool sc_oom_is_held(void);
/* Memory of the device was granted in a way that the cache does not count: that is a recovery, too.
 */
void sc_oom_recovered(struct sc_device *device);

/* What is switched on in this process. */
sc_in_force sc_oom_in_force(void);

/* Under the device's lock: what a framework says of its own allocator, where it gave up or at its
 * end. The first tells why; at the end much has been freed. */
void sc_oom_note_allocator(struct sc_device *device, bool at_end, const sc_allocator *said);

/* Under the device's lock: the last one was the end of it, by what is known now. */
bool sc_oom_is_unrecovered(struct sc_device *device);
/* At the end of the run: tells it where that has not been done. */
void sc_oom_finish(struct sc_device *device);

#endif
