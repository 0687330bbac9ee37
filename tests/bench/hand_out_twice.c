/* SPDX-License-Identifier: MIT
 * hand_out_twice - a preload whose cudaMalloc gives everybody the first block. */
#include <dlfcn.h>
#include <stddef.h>

__attribute__((visibility("default"))) int cudaMalloc(void **pointer, size_t bytes);

int cudaMalloc(void **pointer, size_t bytes)
{
    static void *first;
    int (*real)(void **, size_t) = (int (*)(void **, size_t))(size_t)dlsym(RTLD_NEXT, "cudaMalloc");
    int error = first == NULL ? real(&first, bytes) : 0;

    *pointer = first;
    return error;
}
