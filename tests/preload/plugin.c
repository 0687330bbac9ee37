/* SPDX-License-Identifier: MIT
 * A library that allocates for itself, through whatever libcudart it was linked with. */
#include "driver_types.h"

runtime_malloc_type cudaMalloc;
__attribute__((visibility("default"))) runtime_malloc_type plugin_malloc;

int plugin_malloc(void **address, size_t bytes)
{
    return cudaMalloc(address, bytes);
}
