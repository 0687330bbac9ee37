/* SPDX-License-Identifier: MIT
 * check.h - CUDA calls that must succeed, and the count of allocations.
 *
 * Both are macros that expand where they stand: cudaMalloc is called from as many places as there
 * are tensors in the source. */
#ifndef TRAIN_CHECK_H
#define TRAIN_CHECK_H

#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* What cudaMalloc was asked and gave. `pointers` is an FNV-1a hash of the addresses it returned, in
 * order, since the last tally_restart(), by this thread; `requests` counts all calls of all
 * threads.
 */
struct tally {
    uint64_t requests;
    uint64_t pointers;
};

void tally_restart(void);
void tally_add(const void *pointer);
struct tally tally_read(void);

[[noreturn]] void check_failed(cudaError_t error, const char *call, const char *file, int line);

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t check_error = (call);                                                          \
                                                                                                   \
        if (check_error != cudaSuccess)                                                            \
            check_failed(check_error, #call, __FILE__, __LINE__);                                  \
    } while (0)

/* The cast picks the function itself, not the header's template around it. */
#define ALLOCATE(pointer, bytes)                                                                   \
    do {                                                                                           \
        CHECK(cudaMalloc((void **)&(pointer), (bytes)));                                           \
        tally_add(pointer);                                                                        \
    } while (0)

#define FREE(pointer) CHECK(cudaFree(pointer))

#endif
