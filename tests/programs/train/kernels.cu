/* SPDX-License-Identifier: MIT
 *
 * The kernels proper, their launches, and what a simulated GPU runs in their place. */
#include "kernels.h"

#include <string.h>

#include "arithmetic.cuh"
#include "check.h"

template <typename Args>
static __device__ void compute_on_device(const Args &args, struct batch batch)
{
    int count = elements(args, batch);

    for (int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < count;
         i += (int)(gridDim.x * blockDim.x))
        compute(args, batch, i);
}

template <typename Args> static void compute_on_host(const simcuda_launch *, void **arguments)
{
    Args args;
    struct batch batch;

    memcpy(&args, arguments[0], sizeof args);
    memcpy(&batch, arguments[1], sizeof batch);
    for (int i = 0, count = elements(args, batch); i < count; i++)
        compute(args, batch, i);
}

template <typename Args>
static unsigned touched_by(const simcuda_launch *, void **arguments, simcuda_range *ranges)
{
    struct touched touched = {ranges, 0};
    Args args;
    struct batch batch;

    memcpy(&args, arguments[0], sizeof args);
    memcpy(&batch, arguments[1], sizeof batch);
    touches(args, batch, &touched);
    return touched.count;
}

#define KERNEL(name)                                                                               \
    extern "C" __global__ void name(struct name##_args args, struct batch batch)                   \
    {                                                                                              \
        compute_on_device(args, batch);                                                            \
    }                                                                                              \
    void launch(cudaStream_t stream, struct batch batch, struct name##_args args)                  \
    {                                                                                              \
        const unsigned threads = 128;                                                              \
                                                                                                   \
        name<<<((unsigned)elements(args, batch) + threads - 1) / threads, threads, 0, stream>>>(   \
            args, batch);                                                                          \
        CHECK(cudaGetLastError());                                                                 \
    }
KERNELS(KERNEL)
#undef KERNEL

template <typename Args> static void register_kernel(const char *name)
{
    static const size_t sizes[] = {sizeof(Args), sizeof(struct batch)};

    if (simcuda_kernel(name, compute_on_host<Args>, sizes, 2, touched_by<Args>) != 0) {
        fputs("train: out of host memory\n", stderr);
        exit(1);
    }
}

void kernels_register(void)
{
    if (simcuda_kernel == NULL)
        return;
#define REGISTER(name) register_kernel<struct name##_args>(#name);
    KERNELS(REGISTER)
#undef REGISTER
}
