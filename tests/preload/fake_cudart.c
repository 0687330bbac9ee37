/* SPDX-License-Identifier: MIT
 * A libcudart of three functions that reaches its driver as the real one does: dlopen, one
 * dlsym, the empty name, then base names and versions. Built as two versions that may live in
 * one process, and into a plugin as a static one. */
#include "driver_types.h"
#include "fake.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT runtime_malloc_type cudaMalloc;
EXPORT runtime_free_type cudaFree;
EXPORT int cudaRuntimeGetVersion(int *version);
EXPORT int FAKE_CALLS(void); /* fake_cudart_calls_N: each copy its own, found by name */

static alloc_type *alloc;
static free_type *release;
static context_type *set_current;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_int calls;

static void bind(void)
{
    void *libcuda = dlopen("libcuda.so.1", RTLD_NOW);
    resolve5_type *resolve;
    void *found = NULL;
    int status = 0;

    if (libcuda == NULL)
        return;
    resolve = (resolve5_type *)(uintptr_t)dlsym(libcuda, "cuGetProcAddress_v2");
    (void)resolve("", &found, 0, 0, &status);
    (void)resolve("cuMemAlloc", &found, 3020, 0, &status);
    alloc = (alloc_type *)(uintptr_t)found;
    (void)resolve("cuMemFree", &found, 3020, 0, &status);
    release = (free_type *)(uintptr_t)found;
    (void)resolve("cuCtxSetCurrent", &found, 4000, 0, &status);
    set_current = (context_type *)(uintptr_t)found;
}

static int enter(void)
{
    atomic_fetch_add(&calls, 1);
    (void)pthread_once(&once, bind);
    return set_current != NULL ? set_current(FAKE_CONTEXT) : 35;
}

int cudaMalloc(void **address, size_t bytes)
{
    uint64_t given = 0;
    int result = enter();

    if (result == SUCCESS && bytes > 0)
        result = alloc(&given, bytes);
    if (result == SUCCESS)
        *address = (void *)(uintptr_t)given;
    return result;
}

int cudaFree(void *address)
{
    const int result = enter();

    return result != SUCCESS || address == NULL ? result : release((uint64_t)(uintptr_t)address);
}

int cudaRuntimeGetVersion(int *version)
{
    *version = FAKE_VERSION;
    return SUCCESS;
}

int FAKE_CALLS(void)
{
    return atomic_load(&calls);
}
