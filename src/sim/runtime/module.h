/* SPDX-License-Identifier: MIT
 * module.h - what nvcc's constructors register: fat binaries and the kernels in them.
 *
 * A program knows a kernel by the address of its host stub. Registering reads nothing and calls no
 * driver, for it happens before main(); the driver gets the image when the first of its kernels is
 * asked for. Names and images are the program's static data and are not copied; a library that is
 * closed unregisters first.
 *
 * The registry's lock covers the tables and is never held across a driver call; a second one keeps
 * two threads from loading one image twice. Thread-safe. */
#ifndef SIMRT_MODULE_H
#define SIMRT_MODULE_H

#include <cuda.h>
#include <cuda_runtime_api.h>

/* The kernel of a host stub, or of a kernel handle given out before. Needs a context.
 * cudaErrorInvalidDeviceFunction when nobody registered it. */
cudaError_t simrt_module_find_kernel(const void *function, CUkernel *kernel);

/* The kernel's name as registered; NULL when nobody did. */
const char *simrt_module_find_name(const void *function);

/* The registry's lock, for fork. */
void simrt_module_lock(void);
void simrt_module_unlock(void);

#endif
