/* SPDX-License-Identifier: MIT
 * fit.h - what a file's header has to do with a ring: the same kind, a part of it, or another.
 *
 * A bucket means a part of the schedule and a shard's residue class, a block is one among all
 * ranks'. Where a file means anything else by its numbers than the ring does, taking them as they
 * are would label every entry wrongly without a word. Pure. */
#ifndef SC_RING_FIT_H
#define SC_RING_FIT_H

#include "base/text.h"
#include "ring/header.h"
#include "ring/plan.h"
#include <stdbool.h>

/* Appends to `why` each thing in which the file differs, with both values: "shard layout 0 of 4 in
 * the file, 1 of 2 here; ...". False: in nothing. *can_overlap: a part could be taken all the same.
 */
bool sc_ring_differs(const sc_ring_header *header, const sc_ring_plan *plan, sc_text *why,
                     bool *can_overlap);

typedef enum sc_ring_fit {
    SC_FIT_OK,
    SC_FIT_BLOCK,  /* not covered here */
    SC_FIT_BUCKET, /* lies across two of ours */
    SC_FIT_SHARD   /* another shard's */
} sc_ring_fit;

/* Where entries of a file's key belong here. */
sc_ring_fit sc_ring_fit_key(const sc_ring_header *header, const sc_ring_plan *plan,
                            sc_ring_key in_file, sc_ring_key *here);

#endif
