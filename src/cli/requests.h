/* SPDX-License-Identifier: MIT
 * requests.h - the requests of one device, from a log at level event: which block is allocated and
 * freed by each row, and what in the log says that they are not all.
 *
 * Rows tell addresses, and an address is used again; a block here is one life of it. Where rows are
 * missing (`lost`), what they freed is taken to be freed when its address is handed out again.
 * Frees of blocks that were never seen allocated are counted and passed over: programs free by
 * cuMemFree() what they allocated by other calls. The device is the first that has a row unless one
 * is wanted; memory is that of the blocks that are live. */
#ifndef SC_CLI_REQUESTS_H
#define SC_CLI_REQUESTS_H

#include "base/map.h"
#include "cli/export.h"

typedef struct sc_block {
    uint64_t number; /* of the allocation, from 0 */
    uint64_t address, bytes;
} sc_block;

typedef struct sc_requests {
    /* Called for each, in order; the block of a free is released after it. */
    void (*alloc)(sc_export *export, const sc_line *line, const sc_block *block);
    void (*free)(sc_export *export, const sc_line *line, const sc_block *block);
    bool has_device;
    uint64_t device, others; /* rows of other devices */
    sc_map live;             /* by address */
    uint64_t allocs;
    uint64_t next, lost; /* rows: the number that is due, and how many are missing */
    uint64_t strays;     /* frees of what was never seen allocated */
    bool is_over;        /* the level fell below event at `last_step` */
    bool has_end;        /* the run ended by itself */
    uint64_t last_step;  /* of a row */
} sc_requests;

/* One record; false: malformed, `export->error` says how. */
bool sc_requests_take(sc_requests *requests, sc_export *export, const sc_line *line);
/* On stderr: why what was exported may not be everything. */
void sc_requests_say(const sc_requests *requests, const sc_export *export);
void sc_requests_release(sc_requests *requests);

#endif
