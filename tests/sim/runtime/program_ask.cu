/* SPDX-License-Identifier: MIT
 * program_ask.cu - an nvcc program that asks what training programs ask before they start:
 * properties, occupancy, function attributes, variables, a launch by handle, by configuration and
 * by cudaLaunchKernel. */
#include <cstdio>
#include <cstdlib>

#define CHECK(call) check((call), #call)
#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            std::fprintf(stderr, "false: %s\n", #condition);                                       \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)

static void check(cudaError_t error, const char *call)
{
    if (error == cudaSuccess)
        return;
    std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(error));
    std::exit(1);
}

__constant__ float scale[4];
__device__ int counter;
__managed__ int managed;

__global__ void touch(float *x, int n)
{
    if (threadIdx.x < n)
        x[threadIdx.x] += scale[0] * counter * managed;
}

int main()
{
    int device = -1, count = 0, blocks = 0, grid = 0, block = 0, n = 32;
    float *x = nullptr;
    cudaDeviceProp properties;
    cudaFuncAttributes attributes;
    cudaKernel_t kernel;
    cudaLaunchConfig_t config = {};
    cudaEvent_t start, end;
    float milliseconds = -1;
    float sent[4] = {1, 2, 3, 4}, got[4] = {};
    void *address = nullptr;

    CHECK(cudaGetDeviceCount(&count));
    EXPECT(count == 1);
    CHECK(cudaGetDevice(&device));
    CHECK(cudaGetDeviceProperties(&properties, device));
    EXPECT(properties.major == 8 && properties.warpSize == 32);
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, touch, 256, 0));
    EXPECT(blocks >= 1 && blocks * 256 <= properties.maxThreadsPerMultiProcessor);
    CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, touch, 0, 0));
    EXPECT(block >= 32 && block <= properties.maxThreadsPerBlock);
    EXPECT(grid >= properties.multiProcessorCount);
    CHECK(cudaFuncGetAttributes(&attributes, touch));
    EXPECT(attributes.maxThreadsPerBlock >= block);
    CHECK(cudaFuncSetAttribute(touch, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               (int)properties.sharedMemPerBlockOptin));
    CHECK(cudaMemcpyToSymbol(scale, sent, sizeof(sent)));
    CHECK(cudaMemcpyFromSymbol(got, scale, sizeof(got)));
    EXPECT(got[0] == 1 && got[3] == 4);
    CHECK(cudaGetSymbolAddress(&address, counter));
    EXPECT(address != nullptr);
    managed = 5;
    EXPECT(managed == 5);
    CHECK(cudaMalloc(&x, 1024));
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaEventRecord(start));
    touch<<<1, 32, 60 * 1024>>>(x, n);
    CHECK(cudaGetLastError());
    CHECK(cudaGetKernel(&kernel, touch));
    config.gridDim = 1;
    config.blockDim = 32;
    CHECK(cudaLaunchKernelEx(&config, touch, x, n));
    void *arguments[] = {&x, &n};
    CHECK(cudaLaunchKernel((const void *)touch, dim3(1), dim3(32), arguments, 0, 0));
    CHECK(cudaLaunchKernel((const void *)kernel, dim3(1), dim3(32), arguments, 0, 0));
    touch<<<1, 4096>>>(x, n);
    EXPECT(cudaGetLastError() == cudaErrorInvalidConfiguration);
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventSynchronize(end));
    CHECK(cudaEventElapsedTime(&milliseconds, start, end));
    EXPECT(milliseconds >= 0);
    CHECK(cudaFree(x));
    return 0;
}
