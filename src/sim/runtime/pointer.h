/* SPDX-License-Identifier: MIT
 * pointer.h - the driver's device addresses as the runtime's pointers and back. */
#ifndef SIMRT_POINTER_H
#define SIMRT_POINTER_H

#include <cuda.h>
#include <stdint.h>

static inline CUdeviceptr simrt_address(const void *pointer)
{
    return (CUdeviceptr)(uintptr_t)pointer;
}

static inline void *simrt_pointer(CUdeviceptr address)
{
    return (void *)(uintptr_t)address; /* NOLINT(performance-no-int-to-ptr): that is what it is */
}

#endif
