/* SPDX-License-Identifier: MIT
 * probe.h - what the hooks tell the engine, written down.
 *
 * libprobe.so is the preload with the real hooks and, for an engine, a recorder that allocates
 * and frees through the table it was given, marked as inside. So each rule of the hooks can be
 * tested for exactly what it says. */
#ifndef SC_TEST_PROBE_H
#define SC_TEST_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct probe {
    unsigned attached;
    unsigned allocs, frees;
    const void *caller; /* of the last allocation: the note's if there was one */
    unsigned notes, bypassed;
    unsigned doors[4];
    int captures; /* open */
    unsigned captures_begun;
    unsigned results;
    int last_result;
    unsigned waits; /* for everything in a context; among the results too */
    uintptr_t last_waited;
    unsigned contexts_ended;
    uintptr_t last_context;
    unsigned exported;
    uint64_t last_exported;
    unsigned frees_elsewhere;
    void (*on_free_elsewhere)(void);
    uint64_t last_freed;
    unsigned peers;
    unsigned rooms;
    unsigned granted;
    bool has_room;
    bool is_deaf; /* allocations leave the note alone, as if they had gone another way */
} probe;

typedef probe *probe_state_type(void);

/* "object+0xoffset" as the engine would get it. */
typedef bool probe_site_type(const void *address, char *out, size_t bytes);

#endif
