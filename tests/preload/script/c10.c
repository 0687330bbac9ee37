/* SPDX-License-Identifier: MIT
 * c10.c - stands for PyTorch's libc10_cuda.so: asks for a segment, as its cache does. */
#include <stddef.h>

extern int cudaMalloc(void **address, size_t bytes);
extern int cudaFree(void *address);

__attribute__((visibility("default"))) int c10_segment(void **address, size_t bytes);
__attribute__((visibility("default"))) int c10_give_back(void *address);

int c10_segment(void **address, size_t bytes)
{
    int result = cudaMalloc(address, bytes);

    return result; /* no jump, which would hide who asks */
}

int c10_give_back(void *address)
{
    int result = cudaFree(address);

    return result;
}
