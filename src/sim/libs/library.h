/* SPDX-License-Identifier: MIT
 * library.h - what the stand-ins for NVIDIA's libraries (cuBLAS, cuDNN, NCCL, ...) are made of.
 *
 * A stand-in exports every name of the real library and computes nothing. What it does keep is what
 * a program's memory and its order depend on: a call that would launch kernels launches one, named
 * like the call, on the stream that the call's handle was given or that is its argument, so that it
 * runs, is captured and is waited for like any other; sizes of workspaces are answered; handles are
 * told apart from what is none. The kernel goes to the driver as a static libcudart would send it:
 * dlopen, one dlsym, then the resolver.
 *
 * names/LIBRARY.txt says what each function does; names.cmake makes it a call of one of the
 * functions below, which take arguments as integers since they know no types. What needs more is
 * written by hand, beside this file. These sources are compiled once for each library; SIMLIB_*
 * (CMakeLists.txt) are its numbers.
 *
 * A handle is the address of a slot in a range of the library's own, or, where the program keeps it
 * in an int (cuFFT), the slot's number: any word can be asked whether it is one without being
 * followed. Slots and what they hold are guarded by one lock; a handle's own data, by the rule of
 * these libraries that no two threads use one handle at once. */
#ifndef SIMLIB_LIBRARY_H
#define SIMLIB_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

#include "simlib_names.h"

#define SIMLIB_API     __attribute__((visibility("default")))
#define SIMLIB_VERSION (SIMLIB_MAJOR * SIMLIB_SCALE + SIMLIB_MINOR * 100 + SIMLIB_PATCH)
#define SIMLIB_SUCCESS 0 /* of all of them */

/* Each answers the library's status; the first argument is counted as called. */
int simlib_ok(enum simlib_call call);
int simlib_unsupported(enum simlib_call call);
int simlib_create(enum simlib_call call, uintptr_t out, size_t width);
int simlib_destroy(enum simlib_call call, uintptr_t handle);
int simlib_set_stream(enum simlib_call call, uintptr_t handle, uintptr_t stream);
int simlib_get_stream(enum simlib_call call, uintptr_t handle, uintptr_t out);

/* Launches a kernel of the call's name on the handle's stream, or on `stream`. */
int simlib_work(enum simlib_call call, uintptr_t handle);
int simlib_work_on(enum simlib_call call, uintptr_t stream);

/* Writes a number of `width` bytes (4 or 8), unless `out` is NULL. */
void simlib_write(uintptr_t out, size_t width, uint64_t value);

/* Part 0, 1 or 2 of the library's version. */
int simlib_property(enum simlib_call call, uintptr_t part, uintptr_t out);
const char *simlib_text(enum simlib_call call);

/* For what is written by hand. A handle's data: `bytes` zeroed ones that are made when first asked
 * for, and ended by `release` (free() if NULL) with the handle. NULL: no such handle, no memory. */
void *simlib_data(uintptr_t handle, size_t bytes, void (*release)(void *data));

/* A function of the driver, by base name and version; NULL: there is none. */
typedef void (*simlib_function)(void);
simlib_function simlib_driver(const char *name, int version);

#endif
