/* SPDX-License-Identifier: MIT
 * space.h - the addresses that device and pinned memory live at.
 *
 * One large range of the process is reserved at first use; its pages are ordinary memory that costs
 * nothing until touched. It is cut into slots of 2 MiB:
 *
 *     | block A (3 slots) | slab: a a . b b b | freed | block B | never used ...
 *                                                                ^ next
 *
 * A block of 1 MiB and more has slots of its own; smaller ones share slabs, in units of 512 bytes.
 * The program's own address ranges (cuMemAddressReserve) take whole slots, too.
 * Addresses are handed out moving forward only, and the range is far larger than any device, so
 * that a freed address stays free for a long time and a stale pointer is recognised. Freed pages go
 * back to the kernel at once.
 *
 * All functions but sim_space_discard() expect the lock to be held. (A slab's pages are given back
 * under it: it is one call in thousands of blocks.) */
#ifndef SC_SIM_SPACE_H
#define SC_SIM_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_block;
struct sim_range;

enum sim_place {
    SIM_PLACE_OUTSIDE, /* not in the range at all: host memory */
    SIM_PLACE_NEVER,   /* in the range; nothing was ever there */
    SIM_PLACE_FREED,
    SIM_PLACE_BLOCK,
};

/* Gives `block` an address for its `bytes`, aligned to `align` (512, or 4096) or, from 1 MiB up, to
 * 2 MiB. 0: no memory or no room. */
uintptr_t sim_space_place_locked(struct sim_block *block, size_t bytes, size_t align);

/* Takes back what place gave: the addresses now count as freed. */
void sim_space_clear_locked(uintptr_t address, size_t bytes);

/* Sets addresses aside for `range`, at `wanted` if that is possible: its address, 0: no room. Those
 * who look there are answered by the range (range.h). Taken back by release. */
uintptr_t sim_space_reserve_locked(struct sim_range *range, size_t bytes, size_t align,
                                   uintptr_t wanted);
void sim_space_release_locked(uintptr_t address, size_t bytes);

/* The range that `address` lies in; NULL: none. */
struct sim_range *sim_space_range_locked(uintptr_t address);

/* What is at `address`; *block is set for SIM_PLACE_BLOCK, also for the slack behind its bytes. */
enum sim_place sim_space_look_locked(uintptr_t address, struct sim_block **block);

/* Gives the pages of a block back to the kernel; its addresses must not have been cleared yet. */
void sim_space_discard(uintptr_t address, size_t bytes);

#endif
