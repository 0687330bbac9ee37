/* SPDX-License-Identifier: MIT
 * configuration.c - the part of a launch that nvcc makes of <<<>>>: the configuration is pushed
 * where it stands, popped in the kernel's stub. Copying an argument may launch in between, hence a
 * stack. */
#include "call.h"
#include "nvcc.h"

enum { MAX_PUSHED = 32 };

typedef struct configuration {
    dim3 grid;
    dim3 block;
    size_t shared_bytes;
    cudaStream_t stream;
} configuration;

static _Thread_local struct {
    configuration stack[MAX_PUSHED];
    unsigned depth;
} pushed;

/* Nonzero makes the program skip the launch. */
SIMRT_API unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes,
                                               struct CUstream_st *stream)
{
    cudaError_t error = simrt_enter(SIMRT_CALL___cudaPushCallConfiguration, SIMRT_NOTHING);

    if (error == cudaSuccess && pushed.depth == MAX_PUSHED)
        error = cudaErrorInvalidConfiguration;
    if (error == cudaSuccess)
        pushed.stack[pushed.depth++] = (configuration){grid, block, shared_bytes, stream};
    return (unsigned)simrt_leave(error);
}

SIMRT_API cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes,
                                                 void *stream)
{
    cudaError_t error = simrt_enter(SIMRT_CALL___cudaPopCallConfiguration, SIMRT_NOTHING);

    if (error == cudaSuccess && pushed.depth == 0)
        error = cudaErrorMissingConfiguration;
    if (error == cudaSuccess) {
        const configuration *top = &pushed.stack[--pushed.depth];

        *grid = top->grid;
        *block = top->block;
        *shared_bytes = top->shared_bytes;
        *(cudaStream_t *)stream = top->stream;
    }
    return simrt_leave(error);
}
