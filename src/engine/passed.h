/* SPDX-License-Identifier: MIT
 * passed.h - memory of one device that the driver gave to requests which passed the cache: the
 * segments of a framework's own.
 *
 * The cache knows nothing of them. Their sizes are kept so that an out-of-memory can say where the
 * memory is. A block for which there is no room in the table is not counted: then, as for a block
 * that another door frees, the figure is an under-estimate or an over-estimate of what is there,
 * never a reason to fail. The device's lock guards it. */
#ifndef SC_ENGINE_PASSED_H
#define SC_ENGINE_PASSED_H

#include "base/driver.h"
#include "base/map.h"
#include "cache/mapped.h"

typedef struct sc_passed {
    sc_map sizes; /* address -> exact bytes */
    sc_mapped sums;
    uint64_t blocks;
} sc_passed;

void sc_passed_add(sc_passed *passed, sc_address address, uint64_t bytes);
/* Its exact bytes; 0: not one of them. */
uint64_t sc_passed_remove(sc_passed *passed, sc_address address);
/* The last context of the device has ended. */
void sc_passed_clear(sc_passed *passed);

static inline uint64_t sc_passed_mapped(const sc_passed *passed)
{
    return sc_mapped_total(passed->sums);
}

#endif
