/* SPDX-License-Identifier: MIT
 * simcuda.h - what a program may tell the simulated GPU.
 *
 * A kernel compiled by nvcc is machine code for a GPU: the simulator knows its name and nothing
 * else. A program that wants real numbers registers, by the kernel's name, a host function that
 * does the same arithmetic; the simulator calls it when the stream gets there. A launch carries
 * pointers to its arguments without their sizes and runs later, so the sizes are registered too. A
 * kernel that nobody registered does nothing, none of its arguments is read, and its launches are
 * counted as "unchecked" in the report.
 *
 * The symbol is weak: on a real GPU, or where no simulator is loaded, it is NULL and the program
 * skips the call. It can be called at any time from any thread; launches already queued keep what
 * was registered when they were enqueued. */
#ifndef SIMCUDA_H
#define SIMCUDA_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct simcuda_launch {
    unsigned grid[3];
    unsigned block[3];
    unsigned shared_bytes;
} simcuda_launch;

/* Does the kernel's work on the host; args[i] points to the i-th argument's bytes. */
typedef void (*simcuda_function)(const simcuda_launch *launch, void **args);

typedef struct simcuda_range {
    const void *address;
    size_t bytes;
    int writes; /* 0: the kernel only reads it */
} simcuda_range;

#define SIMCUDA_MAX_RANGES 16

/* Says which memory a launch touches: fills at most SIMCUDA_MAX_RANGES ranges, returns how many.
 * Asked when the launch is enqueued, in the thread that does so, so it may look at the arguments
 * and at nothing that they point to. Whose memory that is then is remembered, and checked when the
 * launch runs. */
typedef unsigned (*simcuda_access)(const simcuda_launch *launch, void **args,
                                   simcuda_range *ranges);

/* Register `function` for the kernel `name` (as in the object file: extern "C" names are plain).
 * `argument_bytes` has `count` entries; `access` may be NULL (launches then count as unchecked).
 * A second registration of a name replaces the first. Returns 0, or 1 when out of memory. */
__attribute__((weak)) int simcuda_kernel(const char *name, simcuda_function function,
                                         const size_t *argument_bytes, unsigned count,
                                         simcuda_access access);

#ifdef __cplusplus
}
#endif

#endif
