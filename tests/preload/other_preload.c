/* SPDX-License-Identifier: MIT
 * Another tool's preload: it has a cudaMalloc of its own and passes calls on. */
#include "driver_types.h"
#include <dlfcn.h>

__attribute__((visibility("default"))) runtime_malloc_type cudaMalloc;
__attribute__((visibility("default"))) int other_calls(void);

static int calls;

int cudaMalloc(void **address, size_t bytes)
{
    runtime_malloc_type *next = (runtime_malloc_type *)(uintptr_t)dlsym(RTLD_NEXT, "cudaMalloc");

    calls++;
    return next(address, bytes);
}

int other_calls(void)
{
    return calls;
}
