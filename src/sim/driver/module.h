/* SPDX-License-Identifier: MIT
 * module.h - modules, libraries and the functions in them.
 *
 * We cannot read a GPU's machine code, so a module is a bag in which every function asked for
 * exists: it is made at the first question for its name, and the same handle answers the next one.
 * A module and its functions belong to a context; a library and its kernels to the process. Guarded
 * by the lock; a function lives as long as its module. */
#ifndef SC_SIM_MODULE_H
#define SC_SIM_MODULE_H

#include "api.h"
#include "handle.h"

struct sim_module;

struct sim_function {
    struct sim_object object; /* SIM_FUNCTION or SIM_KERNEL */
    struct sim_function *next;
    struct sim_module *module;
    char *name;
    int most_dynamic_shared; /* bytes a launch may ask for; cuFuncSetAttribute raises it */
    int carveout;
};

struct sim_module {
    struct sim_object object; /* SIM_MODULE or SIM_LIBRARY */
    struct sim_function *functions;
    struct sim_module *loaded; /* of a library: its module in the context last asked about */
};

/* The function a CUfunction or a CUkernel names; NULL: neither. */
struct sim_function *sim_function_find_locked(const void *handle);

#endif
