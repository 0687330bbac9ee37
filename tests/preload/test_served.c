/* SPDX-License-Identifier: MIT
 * One program, four doors: the same steps through libcudart, direct binding, a handle, or the
 * resolver. Knows nothing of shapecache; linked with CUDA's own headers against the simulated
 * GPU. argv: door, steps, buffers a step, and the stack of the thread that takes them, in bytes. */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <pthread.h>
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

static int steps, count;
static int asks_too_much;

/* In the thread that calls it; the status that the program ends with. */
static int take_steps(void)
{
    CUdeviceptr held[MOST] = {0};
    CUcontext context = NULL;

    if (count > MOST || cuInit(0) != CUDA_SUCCESS ||
        cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS ||
        cuCtxSetCurrent(context) != CUDA_SUCCESS)
        return 3;
    for (int step = 0; step < steps; step++) {
        for (int i = 0; i < count; i++)
            if (alloc(&held[i], (size_t)(i + 1) << 20) != CUDA_SUCCESS)
                return 4;
        if (asks_too_much && step == steps / 2 &&
            alloc(&held[MOST - 1], (size_t)1 << 50) == CUDA_SUCCESS)
            return 6;
        for (int i = 0; i < count; i++)
            if (release(held[i]) != CUDA_SUCCESS)
                return 5;
    }
    return 0;
}

static void *run(void *status)
{
    *(int *)status = take_steps();
    return NULL;
}

/* The same in a thread whose stack has so many bytes. */
static int take_steps_on(size_t stack)
{
    pthread_attr_t attributes;
    pthread_t thread;
    int status = 7;

    asks_too_much = 1;
    if (pthread_attr_init(&attributes) != 0 || pthread_attr_setstacksize(&attributes, stack) != 0 ||
        pthread_create(&thread, &attributes, run, &status) != 0 || pthread_join(thread, NULL) != 0)
        return 8;
    (void)pthread_attr_destroy(&attributes);
    return status;
}

int main(int argc, char **argv)
{
    int status;

    if (argc < 4 || argc > 5 || !choose(argv[1]))
        return 2;
    steps = atoi(argv[2]);
    count = atoi(argv[3]);
    status = argc == 4 ? take_steps() : take_steps_on((size_t)atol(argv[4]));
    if (status == 0)
        (void)printf("%d steps done\n", steps);
    return status;
}
