/* SPDX-License-Identifier: MIT
 * parks.c - a cache with the classic bug, to be preloaded: a free parks the block at once, without
 * waiting for the device, and the next request of that size gets it.
 *
 * It stands where ours does, in front of the driver: whoever asks for the driver's functions, by
 * name, by dlsym or by the resolver, gets these two, and its resolver. PARKS=twice has another bug:
 * a free of another block than the last one given out gives that one away too. */
#define __CUDA_API_VERSION_INTERNAL
#pragma GCC visibility push(default)
#include <cuda.h>
void *dlsym(void *handle, const char *name);
#pragma GCC visibility pop

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MOST 4096

static struct block {
    CUdeviceptr address;
    size_t bytes;
    int parked;
} blocks[MOST];
static size_t count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

typedef void *(*lookup)(void *handle, const char *name);

/* libc's dlsym, in libc.so.6 or, older, in libdl. */
static void *ask(void *handle, const char *name)
{
    static lookup real;

    if (!real)
        real = (lookup)(size_t)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    if (!real)
        abort();
    return real(handle, name);
}

static void *driver(const char *name)
{
    static void *handle;

    if (!handle)
        handle = dlopen("libcuda.so.1", RTLD_NOW);
    return handle ? ask(handle, name) : NULL;
}

/* The block last given back, or, with the other bug, last given out. */
static struct block *idle(size_t bytes)
{
    int any = getenv("PARKS") != NULL;

    for (size_t i = count; i-- > 0;)
        if (blocks[i].bytes == bytes && (blocks[i].parked || any))
            return &blocks[i];
    return NULL;
}

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    CUresult (*real)(CUdeviceptr *, size_t);
    CUresult status = CUDA_SUCCESS;
    struct block *block;

    *(void **)&real = driver("cuMemAlloc_v2");
    pthread_mutex_lock(&lock);
    block = idle(bytesize);
    if (block) {
        *dptr = block->address;
        block->parked = 0;
    } else {
        status = real(dptr, bytesize);
        if (status == CUDA_SUCCESS && count < MOST)
            blocks[count++] = (struct block){*dptr, bytesize, 0};
    }
    pthread_mutex_unlock(&lock);
    return status;
}

CUresult cuMemFree_v2(CUdeviceptr dptr)
{
    CUresult (*real)(CUdeviceptr);
    struct block *found = NULL;

    *(void **)&real = driver("cuMemFree_v2");
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < count; i++)
        if (blocks[i].address == dptr)
            found = &blocks[i];
    if (found)
        found->parked = 1;
    pthread_mutex_unlock(&lock);
    return found ? CUDA_SUCCESS : real(dptr);
}

static CUresult resolve(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
                        CUdriverProcAddressQueryResult *status)
{
    CUresult (*real)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);
    CUresult answer;

    *(void **)&real = driver("cuGetProcAddress_v2");
    answer = real(symbol, pfn, cudaVersion, flags, status);
    if (answer == CUDA_SUCCESS && strcmp(symbol, "cuMemAlloc") == 0)
        *pfn = (void *)(size_t)cuMemAlloc_v2;
    if (answer == CUDA_SUCCESS && strcmp(symbol, "cuMemFree") == 0)
        *pfn = (void *)(size_t)cuMemFree_v2;
    return answer;
}

CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *symbolStatus)
{
    return resolve(symbol, pfn, cudaVersion, flags, symbolStatus);
}

void *dlsym(void *handle, const char *name)
{
    if (strcmp(name, "cuMemAlloc_v2") == 0)
        return (void *)(size_t)cuMemAlloc_v2;
    if (strcmp(name, "cuMemFree_v2") == 0)
        return (void *)(size_t)cuMemFree_v2;
    if (strcmp(name, "cuGetProcAddress_v2") == 0)
        return (void *)(size_t)cuGetProcAddress_v2;
    return ask(handle, name);
}
