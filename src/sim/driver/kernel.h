/* SPDX-License-Identifier: MIT
 * kernel.h - the host functions that programs registered for kernels, by name (simcuda.h).
 *
 * A registration is immutable and counted, so that a launch keeps the one it was enqueued with. The
 * table has a lock of its own, never held together with another: programs register from
 * constructors, before anything else here is awake. */
#ifndef SC_SIM_KERNEL_H
#define SC_SIM_KERNEL_H

#include <stddef.h>

#include "simcuda.h"

struct sim_registration {
    struct sim_registration *next;
    unsigned references;
    char *name;
    simcuda_function function;
    simcuda_access access; /* may be NULL */
    unsigned count;
    size_t argument_bytes[];
};

/* The registration for a kernel's name, NULL: none. Give it back. */
struct sim_registration *sim_registration_get(const char *name);
void sim_registration_put(struct sim_registration *registration);

#endif
