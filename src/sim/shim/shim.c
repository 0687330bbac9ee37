/* SPDX-License-Identifier: MIT
 * shim.c - libsimshim.so: the judge's ear for programs that allocate by the driver's own calls.
 *
 * What libcudart is for its callers, this is for those of libcuda: it stands above whatever wraps
 * the driver and tells the judge (../internal.h) what the program is given and gives back, so that
 * memory is judged which a cache below serves without asking the driver. Preload it in front of the
 * cache:
 *
 *     LD_PRELOAD="build/sim/libsimshim.so build/libshapecache.so" ./program
 *
 * It sees calls that the program is linked for, and those it was given pointers to by a
 * cuGetProcAddress that it is linked for; not what dlsym gave it. libcudart asks the driver itself
 * (dlopen, dlsym) and never comes through here, so nothing is told twice. No lock, no state but the
 * pointers to what comes next. Where libcuda is not the simulator's, nobody listens. */
#define __CUDA_API_VERSION_INTERNAL
#pragma GCC visibility push(default)
#include <cuda.h>
#pragma GCC visibility pop

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "../internal.h"

#pragma weak simcuda_allocated
#pragma weak simcuda_freeing
#pragma weak simcuda_freed

/* X(function, what a resolver is asked for, from which version on). */
#define FUNCTIONS(X)                                                                               \
    X(cuMemAlloc_v2, "cuMemAlloc", 3020)                                                           \
    X(cuMemAllocPitch_v2, "cuMemAllocPitch", 3020)                                                 \
    X(cuMemAllocManaged, "cuMemAllocManaged", 6000)                                                \
    X(cuMemFree_v2, "cuMemFree", 3020)                                                             \
    X(cuMemHostAlloc, "cuMemHostAlloc", 2020)                                                      \
    X(cuMemAllocHost_v2, "cuMemAllocHost", 3020)                                                   \
    X(cuMemFreeHost, "cuMemFreeHost", 2000)                                                        \
    X(cuGetProcAddress_v2, "cuGetProcAddress", 12000)                                              \
    X(cuGetProcAddress, "cuGetProcAddress", 11030)

enum function {
#define INDEX(name, base, version) INDEX_##name,
    FUNCTIONS(INDEX)
#undef INDEX
        COUNT
};

static const struct {
    const char *name, *base;
    int version;
    void *ours;
} functions[COUNT] = {
#define ROW(name, base, version) {#name, base, version, (void *)(uintptr_t)(name)},
    FUNCTIONS(ROW) /* NOLINT(performance-no-int-to-ptr): functions are kept as objects */
#undef ROW
};

typedef void (*any_function)(void);

static _Atomic(any_function) nexts[COUNT];

/* What the program would call without us: the cache's function, or the driver's. */
static any_function next(enum function index)
{
    any_function found = atomic_load(&nexts[index]);

    if (!found) {
        void *symbol = dlsym(RTLD_NEXT, functions[index].name);

        memcpy(&found, &symbol, sizeof found); /* POSIX has it so, ISO C lacks the cast */
        atomic_store(&nexts[index], found);
    }
    return found;
}

#define NEXT(name) ((__typeof__(&(name)))next(INDEX_##name))

static const void *pointer(CUdeviceptr address)
{
    return (const void *)(uintptr_t)address; /* NOLINT(performance-no-int-to-ptr) */
}

static CUresult tell(CUresult status, const CUdeviceptr *address, size_t bytes)
{
    if (status == CUDA_SUCCESS && simcuda_allocated)
        simcuda_allocated(pointer(*address), bytes);
    return status;
}

static CUresult tell_host(CUresult status, void *const *memory, size_t bytes)
{
    if (status == CUDA_SUCCESS && simcuda_allocated)
        simcuda_allocated(*memory, bytes);
    return status;
}

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    return tell(NEXT(cuMemAlloc_v2)(dptr, bytesize), dptr, bytesize);
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes, size_t Height,
                            unsigned int ElementSizeBytes)
{
    CUresult status =
        NEXT(cuMemAllocPitch_v2)(dptr, pPitch, WidthInBytes, Height, ElementSizeBytes);

    return tell(status, dptr, status == CUDA_SUCCESS ? *pPitch * Height : 0);
}

CUresult cuMemAllocManaged(CUdeviceptr *dptr, size_t bytesize, unsigned int flags)
{
    return tell(NEXT(cuMemAllocManaged)(dptr, bytesize, flags), dptr, bytesize);
}

CUresult cuMemHostAlloc(void **pp, size_t bytesize, unsigned int Flags)
{
    return tell_host(NEXT(cuMemHostAlloc)(pp, bytesize, Flags), pp, bytesize);
}

CUresult cuMemAllocHost_v2(void **pp, size_t bytesize)
{
    return tell_host(NEXT(cuMemAllocHost_v2)(pp, bytesize), pp, bytesize);
}

static simcuda_allocation *tell_freeing(const void *memory)
{
    return memory && simcuda_freeing ? simcuda_freeing(memory) : NULL;
}

static CUresult tell_freed(simcuda_allocation *allocation, CUresult status)
{
    if (allocation)
        simcuda_freed(allocation, status == CUDA_SUCCESS);
    return status;
}

CUresult cuMemFree_v2(CUdeviceptr dptr)
{
    simcuda_allocation *allocation = tell_freeing(pointer(dptr));

    return tell_freed(allocation, NEXT(cuMemFree_v2)(dptr));
}

CUresult cuMemFreeHost(void *p)
{
    simcuda_allocation *allocation = tell_freeing(p);

    return tell_freed(allocation, NEXT(cuMemFreeHost)(p));
}

/* Ours for what the resolver found: the newest that the caller's version has. What comes next may
 * be another function than the one found, but not of another kind. */
static void exchange(CUresult status, const char *symbol, void **function, int version)
{
    if (status != CUDA_SUCCESS || !symbol || !function || !*function)
        return;
    for (size_t i = 0; i < COUNT; i++)
        if (strcmp(symbol, functions[i].base) == 0 && version >= functions[i].version) {
            *function = functions[i].ours;
            return;
        }
}

CUresult cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags)
{
    CUresult status = NEXT(cuGetProcAddress)(symbol, pfn, cudaVersion, flags);

    exchange(status, symbol, pfn, cudaVersion);
    return status;
}

CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *symbolStatus)
{
    CUresult status = NEXT(cuGetProcAddress_v2)(symbol, pfn, cudaVersion, flags, symbolStatus);

    exchange(status, symbol, pfn, cudaVersion);
    return status;
}
