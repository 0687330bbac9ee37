/* SPDX-License-Identifier: MIT
 * check.h - what must succeed: the program ends where it does not. */
#ifndef OFFLOAD_CHECK_H
#define OFFLOAD_CHECK_H

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

[[noreturn]] static inline void fail(const char *why)
{
    (void)fprintf(stderr, "offload: %s\n", why);
    exit(1);
}

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t check_error = (call);                                                          \
                                                                                                   \
        if (check_error != cudaSuccess) {                                                          \
            (void)fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #call);                       \
            fail(cudaGetErrorString(check_error));                                                 \
        }                                                                                          \
    } while (0)

#endif
