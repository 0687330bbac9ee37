/* SPDX-License-Identifier: MIT
 * program_order.cu - an nvcc program whose kernels compute real numbers on the simulator: two
 * streams that wait for each other's events, a template, a static kernel. Exits 0 when each number
 * is right. */
#include "sim/simcuda.h"

#include <cstdio>
#include <cstdlib>

#define CHECK(call) check((call), #call)

static void check(cudaError_t error, const char *call)
{
    if (error == cudaSuccess)
        return;
    std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(error));
    std::exit(1);
}

extern "C" __global__ void axpy(int n, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        y[i] += a * x[i];
}

template <typename T> __global__ void square(int n, T *x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        x[i] *= x[i];
}

/* Nobody simulates this one: it may be launched and does nothing. */
static __global__ void unheard_of(float *x)
{
    x[0] = -1;
}

static unsigned seen_threads;

static void axpy_on_host(const simcuda_launch *launch, void **arguments)
{
    int n = *static_cast<int *>(arguments[0]);
    float a = *static_cast<float *>(arguments[1]);
    const float *x = *static_cast<const float **>(arguments[2]);
    float *y = *static_cast<float **>(arguments[3]);

    seen_threads = launch->grid[0] * launch->block[0];
    for (int i = 0; i < n; i++)
        y[i] += a * x[i];
}

static unsigned axpy_touches(const simcuda_launch *, void **arguments, simcuda_range *ranges)
{
    size_t bytes = *static_cast<int *>(arguments[0]) * sizeof(float);

    ranges[0] = {*static_cast<const float **>(arguments[2]), bytes, 0};
    ranges[1] = {*static_cast<float **>(arguments[3]), bytes, 1};
    return 2;
}

static void square_on_host(const simcuda_launch *, void **arguments)
{
    int n = *static_cast<int *>(arguments[0]);
    float *x = *static_cast<float **>(arguments[1]);

    for (int i = 0; i < n; i++)
        x[i] *= x[i];
}

static void simulate()
{
    const size_t axpy_bytes[] = {sizeof(int), sizeof(float), sizeof(void *), sizeof(void *)};
    const size_t square_bytes[] = {sizeof(int), sizeof(void *)};
    const char *name = nullptr;

    if (simcuda_kernel == nullptr) {
        std::fprintf(stderr, "no simulator\n");
        std::exit(1);
    }
    CHECK(cudaFuncGetName(&name, reinterpret_cast<const void *>(square<float>)));
    if (simcuda_kernel("axpy", axpy_on_host, axpy_bytes, 4, axpy_touches) != 0 ||
        simcuda_kernel(name, square_on_host, square_bytes, 2, nullptr) != 0)
        std::exit(1);
}

int main()
{
    const int n = 1000;
    const int rounds = 20;
    float *x, *y, *host;
    float expected = 1;
    cudaStream_t first, second;
    cudaEvent_t squared, added;

    simulate();
    CHECK(cudaMalloc(&x, n * sizeof(*x)));
    CHECK(cudaMalloc(&y, n * sizeof(*y)));
    CHECK(cudaMallocHost(&host, n * sizeof(*host)));
    CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&squared, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&added, cudaEventDisableTiming));
    for (int i = 0; i < n; i++)
        host[i] = 0.5f;
    CHECK(cudaMemcpyAsync(x, host, n * sizeof(*x), cudaMemcpyHostToDevice, first));
    CHECK(cudaMemsetAsync(y, 0, n * sizeof(*y), first));
    unheard_of<<<1, 1, 0, first>>>(x);

    /* x -> x * x on one stream, then y -> y + 2 x and x -> x + y on the other, again and again. */
    for (int round = 0; round < rounds; round++) {
        square<float><<<(n + 255) / 256, 256, 0, first>>>(n, x);
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(squared, first));
        CHECK(cudaStreamWaitEvent(second, squared));
        axpy<<<dim3((n + 127) / 128), 128, 0, second>>>(n, 2.0f, x, y);
        axpy<<<dim3((n + 127) / 128), 128, 0, second>>>(n, 0.01f, y, x);
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(added, second));
        CHECK(cudaStreamWaitEvent(first, added));
    }
    CHECK(cudaMemcpyAsync(host, y, n * sizeof(*y), cudaMemcpyDeviceToHost, first));
    CHECK(cudaStreamSynchronize(first));

    float a = 0.5f, b = 0;
    for (int round = 0; round < rounds; round++) {
        a *= a;
        b += 2.0f * a;
        a += 0.01f * b;
    }
    expected = b;
    for (int i = 0; i < n; i++) {
        if (host[i] != expected) {
            std::fprintf(stderr, "y[%d] is %.9g, not %.9g\n", i, host[i], expected);
            return 1;
        }
    }
    if (seen_threads != 1024) {
        std::fprintf(stderr, "a launch of %u threads, not 1024\n", seen_threads);
        return 1;
    }
    CHECK(cudaFree(x));
    CHECK(cudaFree(y));
    CHECK(cudaFreeHost(host));
    CHECK(cudaDeviceSynchronize());
    return 0;
}
