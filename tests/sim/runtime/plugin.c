/* SPDX-License-Identifier: MIT
 * plugin.c - a library with a libcudart of its own inside, linked from the archive. */
#include <cuda_runtime_api.h>

int plugin_allocate(void **pointer, size_t bytes);

__attribute__((visibility("default"))) int plugin_allocate(void **pointer, size_t bytes)
{
    return (int)cudaMalloc(pointer, bytes);
}
