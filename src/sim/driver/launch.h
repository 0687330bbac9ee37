/* SPDX-License-Identifier: MIT
 * launch.h - a kernel's launch as an operation, for a stream or for a node of a graph. */
#ifndef SC_SIM_LAUNCH_H
#define SC_SIM_LAUNCH_H

#include "api.h"
#include "simcuda.h"

struct sim_op;

/* What a caller asks for. */
struct sim_kernel_call {
    const void *function; /* a CUfunction or a CUkernel */
    simcuda_launch launch;
    void **parameters;
    void **extra;
};

/* Copies the arguments, as far as their sizes are known, and asks the kernel what it will touch.
 * *op is the caller's on success. Takes the lock. */
CUresult sim_launch_new(const struct sim_kernel_call *call, struct sim_op **op);

#endif
