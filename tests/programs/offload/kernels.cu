/* SPDX-License-Identifier: MIT */
#include "check.h"
#include "kernels.h"

#include <simcuda.h>
#include <string.h>

static constexpr float RATE = 0.02f;

/* One number in [-1, 1) for each index. */
static __host__ __device__ float noise(unsigned seed, unsigned index)
{
    unsigned z = seed * 0x9e3779b9u + index * 0x85ebca6bu;

    z = (z ^ z >> 16) * 0x7feb352du;
    z = (z ^ z >> 15) * 0x846ca68bu;
    return (float)((z ^ z >> 16) & 0xffffffu) / 8388608.0f - 1.0f;
}

/* What an index of a launch does. Each kernel has a struct of its arguments, with
 *     count    indices there are
 *     at(i)    the work of one of them
 *     ranges   memory that it touches */

static size_t bytes_of(struct shape shape)
{
    return sizeof(float) * (size_t)shape.rows * (size_t)shape.columns;
}

static __host__ __device__ int elements(struct shape shape)
{
    return shape.rows * shape.columns;
}

struct fill_work {
    struct shape shape;
    float *out;
    unsigned seed;

    __host__ __device__ int count() const
    {
        return elements(shape);
    }

    __host__ __device__ void at(int i) const
    {
        out[i] = noise(seed, (unsigned)i);
    }

    unsigned ranges(simcuda_range *to) const
    {
        to[0] = {out, bytes_of(shape), 1};
        return 1;
    }
};

struct forward_work {
    struct shape shape;
    struct layer layer;
    const float *in;
    float *out;

    __host__ __device__ int count() const
    {
        return elements(shape);
    }

    __host__ __device__ void at(int i) const
    {
        int column = i % shape.columns;
        float sum = in[i] * layer.weight[column] + layer.bias[column];

        out[i] = in[i] + (sum > 0.0f ? sum : 0.0f);
    }

    unsigned ranges(simcuda_range *to) const
    {
        to[0] = {in, bytes_of(shape), 0};
        to[1] = {out, bytes_of(shape), 1};
        to[2] = {layer.weight, sizeof(float) * (size_t)shape.columns, 0};
        to[3] = {layer.bias, sizeof(float) * (size_t)shape.columns, 0};
        return 4;
    }
};

struct loss_work {
    struct shape shape;
    const float *out;
    unsigned seed;
    float *gradient, *loss;

    __host__ __device__ int count() const
    {
        return 1; /* one thread, one order */
    }

    __host__ __device__ void at(int) const
    {
        float sum = 0.0f, scale = 1.0f / (float)elements(shape);

        for (int i = 0; i < elements(shape); i++) {
            float error = out[i] - 2.0f * noise(seed, (unsigned)i);

            gradient[i] = 2.0f * error * scale * (float)shape.columns;
            sum += error * error * scale;
        }
        *loss = sum;
    }

    unsigned ranges(simcuda_range *to) const
    {
        to[0] = {out, bytes_of(shape), 0};
        to[1] = {gradient, bytes_of(shape), 1};
        to[2] = {loss, sizeof(float), 1};
        return 3;
    }
};

/* A column at a time: its weight is used by all of its rows before it moves. */
struct backward_work {
    struct shape shape;
    struct layer layer;
    const float *in;
    float *gradient;

    __host__ __device__ int count() const
    {
        return shape.columns;
    }

    __host__ __device__ void at(int column) const
    {
        float weight = layer.weight[column], bias = layer.bias[column];
        float by_weight = 0.0f, by_bias = 0.0f;

        for (int row = 0; row < shape.rows; row++) {
            int i = row * shape.columns + column;
            float through = in[i] * weight + bias > 0.0f ? gradient[i] : 0.0f;

            by_weight += through * in[i];
            by_bias += through;
            gradient[i] += through * weight;
        }
        layer.weight[column] = weight - RATE * by_weight;
        layer.bias[column] = bias - RATE * by_bias;
    }

    unsigned ranges(simcuda_range *to) const
    {
        to[0] = {in, bytes_of(shape), 0};
        to[1] = {gradient, bytes_of(shape), 1};
        to[2] = {layer.weight, sizeof(float) * (size_t)shape.columns, 1};
        to[3] = {layer.bias, sizeof(float) * (size_t)shape.columns, 1};
        return 4;
    }
};

template <typename Work> static void run_on_host(const simcuda_launch *, void **arguments)
{
    Work work;

    memcpy(&work, arguments[0], sizeof work);
    for (int i = 0, count = work.count(); i < count; i++)
        work.at(i);
}

template <typename Work>
static unsigned ranges_of(const simcuda_launch *, void **arguments, simcuda_range *ranges)
{
    Work work;

    memcpy(&work, arguments[0], sizeof work);
    return work.ranges(ranges);
}

template <typename Work> static void register_kernel(const char *name)
{
    static const size_t sizes[] = {sizeof(Work)};

    if (simcuda_kernel(name, run_on_host<Work>, sizes, 1, ranges_of<Work>) != 0)
        fail("out of host memory");
}

#define KERNEL(name)                                                                               \
    extern "C" __global__ void name(struct name##_work work)                                       \
    {                                                                                              \
        int count = work.count();                                                                  \
                                                                                                   \
        for (int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < count;                      \
             i += (int)(gridDim.x * blockDim.x))                                                   \
            work.at(i);                                                                            \
    }                                                                                              \
    static void start(cudaStream_t stream, struct name##_work work)                                \
    {                                                                                              \
        const unsigned threads = 128;                                                              \
                                                                                                   \
        name<<<((unsigned)work.count() + threads - 1) / threads, threads, 0, stream>>>(work);      \
        CHECK(cudaGetLastError());                                                                 \
    }
KERNEL(fill)
KERNEL(forward)
KERNEL(loss)
KERNEL(backward)
#undef KERNEL

void launch_fill(cudaStream_t stream, struct shape shape, float *out, unsigned seed)
{
    start(stream, fill_work{shape, out, seed});
}

void launch_forward(cudaStream_t stream, struct shape shape, struct layer layer, const float *in,
                    float *out)
{
    start(stream, forward_work{shape, layer, in, out});
}

void launch_loss(cudaStream_t stream, struct shape shape, const float *out, unsigned seed,
                 float *gradient, float *loss)
{
    start(stream, loss_work{shape, out, seed, gradient, loss});
}

void launch_backward(cudaStream_t stream, struct shape shape, struct layer layer, const float *in,
                     float *gradient)
{
    start(stream, backward_work{shape, layer, in, gradient});
}

void kernels_register(void)
{
    if (simcuda_kernel == NULL)
        return;
    register_kernel<fill_work>("fill");
    register_kernel<forward_work>("forward");
    register_kernel<loss_work>("loss");
    register_kernel<backward_work>("backward");
}
