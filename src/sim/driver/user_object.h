/* SPDX-License-Identifier: MIT
 * user_object.h - what a program hands to graphs to be kept until they need it no more.
 *
 * An object is a count of references, the program's and those of graphs, what was made executable
 * of them, and their launches. When the last is gone the program's function is called, on a thread
 * of its own that may not call CUDA, and at a time of which CUDA promises nothing. All functions
 * expect the lock to be held. */
#ifndef SC_SIM_USER_OBJECT_H
#define SC_SIM_USER_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api.h"
#include "handle.h"

struct sim_user_object {
    struct sim_object object;
    uint64_t references;
    CUhostFn destroy;
    void *data;
};

/* The references that a graph has; zero-initialised: none. */
struct sim_keeps {
    struct sim_keep {
        struct sim_user_object *object;
        uint64_t count;
    } * items;
    size_t count;
};

void sim_user_object_drop_locked(struct sim_user_object *object, uint64_t count);

/* Makes `count` references that somebody has the graph's. False: out of memory, they are his still.
 */
bool sim_keeps_add_locked(struct sim_keeps *keeps, struct sim_user_object *object, uint64_t count);

/* Gives up `count` of them. False: there are not so many. */
bool sim_keeps_drop_locked(struct sim_keeps *keeps, struct sim_user_object *object, uint64_t count);

/* Gives up all. */
void sim_keeps_clear_locked(struct sim_keeps *keeps);

/* One reference more of each for an empty `to`. False: out of memory, there is none. */
bool sim_keeps_copy_locked(struct sim_keeps *to, const struct sim_keeps *from);

#endif
