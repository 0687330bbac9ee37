/* SPDX-License-Identifier: MIT
 * snapshot.h - a memory snapshot as PyTorch's memory_viz reads it: segments with their blocks, and
 * the events of one device; written as a pickle.
 *
 * Keys and call sites are written once and referred to from then on. Everything belongs to the
 * caller. */
#ifndef SC_CLI_SNAPSHOT_H
#define SC_CLI_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum sc_action {
    SC_ACTION_ALLOC,
    SC_ACTION_FREE_REQUESTED,
    SC_ACTION_FREE_COMPLETED,
    SC_ACTION_SEGMENT_ALLOC,
    SC_ACTION_SEGMENT_FREE,
    SC_ACTION_OOM
} sc_action;

/* A call site, outermost caller first, with " > " between two. Site 0 is unknown: no text. */
typedef struct sc_frames {
    char *text; /* is cut up when it is written */
    bool is_written;
} sc_frames;

typedef struct sc_moment {
    uint64_t address, bytes, time_us; /* of an oom, `address` is what the device had free */
    uint32_t site;
    sc_action what;
} sc_moment;

/* A driver allocation, which is one block: in use, or idle. */
typedef struct sc_segment {
    uint64_t address, bytes;
    uint32_t site;
    bool is_live;
} sc_segment;

typedef struct sc_snapshot {
    uint64_t device;
    void *segments;    /* a tree of <search.h> */
    sc_moment *events; /* a ring of `last` once there are so many */
    uint64_t count, last;
    sc_frames *sites;
} sc_snapshot;

void sc_snapshot_write(const sc_snapshot *snapshot, FILE *out);

#endif
