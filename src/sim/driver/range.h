/* SPDX-License-Identifier: MIT
 * range.h - address ranges that the program reserved, and what it mapped there.
 *
 *     range    | mapping A    | mapping B |   nothing   | mapping A again |
 *                     \            |                        /
 *     physical         one file range      another         the first: what is written at one
 *                                                          address is read at the other
 *
 * A mapping is a struct sim_block of kind SIM_MAPPED_MEMORY for everybody who asks about an
 * address. It covers whole units of SIMCUDA_GRANULE; `units` says for each unit what is there.
 * Ranges and mappings belong to the process, not to a context. A mapping starts with no access for
 * anybody; who has access is what the judge goes by, since to the host it is memory in any case.
 * Unmapping does not wait for the device, as the real one "appears not to in all cases": work that
 * still uses the memory is a mistake of the program's, and counted.
 *
 * All functions expect the lock to be held. */
#ifndef SC_SIM_RANGE_H
#define SC_SIM_RANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memory.h"
#include "space.h"

struct sim_device;
struct sim_physical;
struct sim_touch;

struct sim_mapping {
    struct sim_block block;
    struct sim_range *range;
    struct sim_physical *physical;
    uint32_t readers, writers; /* a bit for each device */
};

struct sim_range {
    uintptr_t address;
    size_t bytes;
    size_t mapped; /* bytes */
    size_t unit_count;
    struct sim_mapping *units[]; /* NULL: never mapped */
};

/* Sizes that cannot be, and a lack of room, are told apart by the status. */
CUresult sim_range_new_locked(size_t bytes, size_t align, uintptr_t wanted, uintptr_t *address);

/* The range that begins there and has that size; refused while something is mapped. */
CUresult sim_range_free_locked(uintptr_t address, size_t bytes);

/* Maps the first `bytes` of `physical`. */
CUresult sim_range_map_locked(uintptr_t address, size_t bytes, struct sim_physical *physical);

/* Unmaps what must be whole mappings, one after the other without a gap. */
CUresult sim_range_unmap_locked(uintptr_t address, size_t bytes);

/* Says what a device may do there; the same is true of the addresses. */
CUresult sim_range_set_access_locked(uintptr_t address, size_t bytes,
                                     const struct sim_device *device, CUmemAccess_flags flags);

/* What a device may do at an address; -1: nothing is mapped. */
int sim_range_access_locked(uintptr_t address, const struct sim_device *device);

/* The mapping that `address` lies in; NULL: none. */
struct sim_mapping *sim_range_find_locked(uintptr_t address);

/* For space.c. */
enum sim_place sim_range_look_locked(const struct sim_range *range, uintptr_t address,
                                     struct sim_block **block);

/* May `device` touch that? Else the kind of violation. The touch begins in a mapping. */
const char *sim_range_check_locked(const struct sim_touch *touch, const struct sim_device *device);

#endif
