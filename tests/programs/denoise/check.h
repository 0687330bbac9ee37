/* SPDX-License-Identifier: MIT
 * check.h - CUDA calls that must succeed. */
#ifndef DENOISE_CHECK_H
#define DENOISE_CHECK_H

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

static inline void check(cudaError_t error, const char *call)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "denoise: %s: %s\n", call, cudaGetErrorString(error));
    exit(1);
}

#define CHECK(call) check((call), #call)

#endif
