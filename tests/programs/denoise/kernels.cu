/* SPDX-License-Identifier: MIT */
#include "kernels.h"

#include <string.h>

#include "check.h"
#include "simcuda.h"

#define BOTH static __host__ __device__ inline

struct touched {
    simcuda_range *ranges;
    unsigned count;
};

static void touch(struct touched *touched, const float *address, size_t floats, int writes)
{
    touched->ranges[touched->count++] = {address, floats * sizeof(float), writes};
}

BOTH void compute(const struct widen_args &args, int i)
{
    float share = 1.0f - args.sigma, spread = share * args.spread[i];
    float *hidden = args.hidden + (size_t)i * WIDTH;

    hidden[0] = args.x[i] - share * args.mean[i];
    hidden[1] = spread * spread + args.sigma * args.sigma;
    hidden[2] = spread * args.spread[i];
    hidden[3] = args.mean[i];
}

static void touches(const struct widen_args &args, struct touched *touched)
{
    touch(touched, args.x, COUNT, 0);
    touch(touched, args.mean, COUNT, 0);
    touch(touched, args.spread, COUNT, 0);
    touch(touched, args.hidden, (size_t)COUNT * WIDTH, 1);
}

BOTH void compute(const struct weigh_args &args, int i)
{
    const float *hidden = args.hidden + (size_t)i * WIDTH;
    float *gate = args.gate + (size_t)i * WIDTH;

    gate[0] = hidden[0];
    gate[1] = hidden[2] / hidden[1];
    gate[2] = gate[0] * gate[1];
    gate[3] = hidden[3];
}

static void touches(const struct weigh_args &args, struct touched *touched)
{
    touch(touched, args.hidden, (size_t)COUNT * WIDTH, 0);
    touch(touched, args.gate, (size_t)COUNT * WIDTH, 1);
}

BOTH void compute(const struct narrow_args &args, int i)
{
    const float *gate = args.gate + (size_t)i * WIDTH;

    args.clean[i] = gate[2] + gate[3];
}

static void touches(const struct narrow_args &args, struct touched *touched)
{
    touch(touched, args.gate, (size_t)COUNT * WIDTH, 0);
    touch(touched, args.clean, COUNT, 1);
}

BOTH void compute(const struct velocity_args &args, int i)
{
    args.velocity[i] = (args.x[i] - args.clean[i]) / args.sigma;
}

static void touches(const struct velocity_args &args, struct touched *touched)
{
    touch(touched, args.x, COUNT, 0);
    touch(touched, args.clean, COUNT, 0);
    touch(touched, args.velocity, COUNT, 1);
}

BOTH void compute(const struct estimate_args &args, int i)
{
    float total = args.before[i] + args.gamma * (args.velocity[i] - args.before[i]);

    args.clean[i] = args.x[i] - args.sigma * total;
}

static void touches(const struct estimate_args &args, struct touched *touched)
{
    touch(touched, args.x, COUNT, 0);
    touch(touched, args.velocity, COUNT, 0);
    touch(touched, args.before, COUNT, 0);
    touch(touched, args.clean, COUNT, 1);
}

BOTH void compute(const struct advance_args &args, int i)
{
    args.x[i] += (args.next - args.sigma) * ((args.x[i] - args.clean[i]) / args.sigma);
}

static void touches(const struct advance_args &args, struct touched *touched)
{
    touch(touched, args.x, COUNT, 1);
    touch(touched, args.clean, COUNT, 0);
}

template <typename Args> static __device__ void compute_on_device(const Args &args)
{
    for (int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < COUNT;
         i += (int)(gridDim.x * blockDim.x))
        compute(args, i);
}

template <typename Args> static void compute_on_host(const simcuda_launch *, void **arguments)
{
    Args args;

    memcpy(&args, arguments[0], sizeof args);
    for (int i = 0; i < COUNT; i++)
        compute(args, i);
}

template <typename Args>
static unsigned touched_by(const simcuda_launch *, void **arguments, simcuda_range *ranges)
{
    struct touched touched = {ranges, 0};
    Args args;

    memcpy(&args, arguments[0], sizeof args);
    touches(args, &touched);
    return touched.count;
}

#define KERNEL(name)                                                                               \
    extern "C" __global__ void name(struct name##_args args)                                       \
    {                                                                                              \
        compute_on_device(args);                                                                   \
    }                                                                                              \
    void launch(struct name##_args args)                                                           \
    {                                                                                              \
        name<<<COUNT / 256, 256>>>(args);                                                          \
        CHECK(cudaGetLastError());                                                                 \
    }
KERNELS(KERNEL)
#undef KERNEL

template <typename Args> static void register_kernel(const char *name)
{
    static const size_t sizes[] = {sizeof(Args)};

    if (simcuda_kernel(name, compute_on_host<Args>, sizes, 1, touched_by<Args>) != 0) {
        fputs("denoise: out of host memory\n", stderr);
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
