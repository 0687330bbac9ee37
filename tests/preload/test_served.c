/* SPDX-License-Identifier: MIT
 * One program, four doors: the same steps through libcudart, direct binding, a handle, or the
 * resolver. Knows nothing of shapecache; linked with CUDA's own headers against the simulated
 * GPU. argv: door, steps, buffers a step. */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 };

typedef CUresult alloc_type(CUdeviceptr *address, size_t bytes);
typedef CUresult free_type(CUdeviceptr address);

static alloc_type *alloc;
static free_type *release;

static CUresult runtime_alloc(CUdeviceptr *address, size_t bytes)
{
    void *given = NULL;
    const cudaError_t result = cudaMalloc(&given, bytes);

    *address = (CUdeviceptr)(uintptr_t)given;
    return (CUresult)result;
}

static CUresult runtime_free(CUdeviceptr address)
{
    return (CUresult)cudaFree((void *)(uintptr_t)address);
}

static int choose(const char *door)
{
    void *libcuda = dlopen("libcuda.so.1", RTLD_NOW);

    if (strcmp(door, "runtime") == 0) {
        alloc = runtime_alloc;
        release = runtime_free;
    } else if (strcmp(door, "elf") == 0) {
        alloc = cuMemAlloc;
        release = cuMemFree;
    } else if (strcmp(door, "dlsym") == 0) {
        alloc = (alloc_type *)(uintptr_t)dlsym(libcuda, "cuMemAlloc_v2");
        release = (free_type *)(uintptr_t)dlsym(libcuda, "cuMemFree_v2");
    } else if (strcmp(door, "resolver") == 0) {
        void *found = NULL;

        (void)cuGetProcAddress("cuMemAlloc", &found, 12000, 0, NULL);
        alloc = (alloc_type *)(uintptr_t)found;
        (void)cuGetProcAddress("cuMemFree", &found, 12000, 0, NULL);
        release = (free_type *)(uintptr_t)found;
    }
    return alloc != NULL && release != NULL;
}

int main(int argc, char **argv)
{
    CUdeviceptr held[MOST] = {0};
    CUcontext context = NULL;
    int steps;
    int count;

    if (argc != 4 || !choose(argv[1]))
        return 2;
    steps = atoi(argv[2]);
    count = atoi(argv[3]);
    if (count > MOST || cuInit(0) != CUDA_SUCCESS ||
        cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS ||
        cuCtxSetCurrent(context) != CUDA_SUCCESS)
        return 3;
    for (int step = 0; step < steps; step++) {
        for (int i = 0; i < count; i++)
            if (alloc(&held[i], (size_t)(i + 1) << 20) != CUDA_SUCCESS)
                return 4;
        for (int i = 0; i < count; i++)
            if (release(held[i]) != CUDA_SUCCESS)
                return 5;
    }
    (void)printf("%d steps done\n", steps);
    return 0;
}
