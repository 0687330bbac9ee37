/* SPDX-License-Identifier: MIT
 * symbol.h - __device__, __constant__ and __managed__ variables.
 *
 * Their values are in the fat binary, which nobody here can read: a variable starts as zeros,
 * whatever its initialiser. Each device has its own, made at first use in pinned memory that the
 * device can reach: a real module's variables take no room that a program allocated, and no
 * allocation is counted here either. Managed variables are ordinary host memory.
 *
 * The registry's lock (module.h) covers the table, one of this module's own the storage. */
#ifndef SIMRT_SYMBOL_H
#define SIMRT_SYMBOL_H

#include <cuda_runtime_api.h>

/* Where `count` bytes from `offset` of the variable are on the thread's device. Needs a context. */
cudaError_t simrt_symbol_locate(const void *stub, size_t count, size_t offset, char **address);

/* Forgets the variables of a fat binary that is being unregistered. */
void simrt_symbol_forget(void **handle);

#endif
