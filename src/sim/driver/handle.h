/* SPDX-License-Identifier: MIT
 * handle.h - the set of live objects, so that a stale or invented handle is an error and not a
 * crash.
 *
 * A handle is the address of the object, whose first member is a struct sim_object. An object is in
 * the set from creation until its destroy call, its context's end or (libraries) its unload,
 * whichever comes first; its memory may live longer. All functions expect the lock to be held. */
#ifndef SC_SIM_HANDLE_H
#define SC_SIM_HANDLE_H

#include <stdbool.h>

struct sim_context;

enum sim_kind {
    SIM_CONTEXT,
    SIM_STREAM,
    SIM_EVENT,
    SIM_MODULE,
    SIM_LIBRARY,
    SIM_FUNCTION, /* of a module */
    SIM_KERNEL,   /* of a library */
    SIM_GRAPH,
    SIM_NODE,     /* of a graph */
    SIM_EXEC,     /* a graph that can be launched */
    SIM_PHYSICAL, /* memory to be mapped */
    SIM_POOL,
    SIM_USER_OBJECT,
};

struct sim_object {
    enum sim_kind kind;
    struct sim_context *context; /* what it ends with; NULL: belongs to the process */
    void (*close_locked)(struct sim_object *object); /* when its context ends */
};

/* False: out of memory. */
bool sim_handle_add_locked(struct sim_object *object);

void sim_handle_remove_locked(const struct sim_object *object);

/* The object, if `handle` is a live one of that kind. */
void *sim_handle_find_locked(const void *handle, enum sim_kind kind);

/* Removes and closes every object of `context`. */
void sim_handle_close_all_locked(const struct sim_context *context);

#endif
