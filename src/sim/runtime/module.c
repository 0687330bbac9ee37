/* SPDX-License-Identifier: MIT
 * module.c - see module.h. */
#include "module.h"

#include "call.h"
#include "nvcc.h"
#include "symbol.h"

#include <pthread.h>
#include <stdlib.h>
#include <uthash.h>

typedef struct module module;

typedef struct function {
    const void *stub; /* key of `by_stub` */
    const char *name;
    module *owner;
    struct function *next; /* of the same module */
    CUkernel kernel;       /* key of `by_kernel`, NULL until asked for */
    UT_hash_handle hh_stub;
    UT_hash_handle hh_kernel;
} function;

struct module {
    const void *image;
    CUlibrary library; /* under `loading`, NULL until loaded */
    function *functions;
};

static pthread_mutex_t registry = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER; /* taken before `registry` */
static function *by_stub;
static function *by_kernel;

void simrt_module_lock(void)
{
    pthread_mutex_lock(&registry);
}

void simrt_module_unlock(void)
{
    pthread_mutex_unlock(&registry);
}

static function *find(const void *key)
{
    function *found = NULL;

    HASH_FIND(hh_stub, by_stub, &key, sizeof(key), found);
    if (found == NULL)
        HASH_FIND(hh_kernel, by_kernel, &key, sizeof(key), found);
    return found;
}

static cudaError_t load(function *wanted)
{
    module *owner = wanted->owner;
    CUkernel kernel = NULL;
    CUresult result = CUDA_SUCCESS;

    if (owner->library == NULL)
        result = simrt_driver_table.cuLibraryLoadData(&owner->library, owner->image, NULL, NULL, 0,
                                                      NULL, NULL, 0);
    if (result == CUDA_SUCCESS)
        result = simrt_driver_table.cuLibraryGetKernel(&kernel, owner->library, wanted->name);
    if (result == CUDA_ERROR_NOT_FOUND)
        return cudaErrorInvalidDeviceFunction;
    if (result != CUDA_SUCCESS)
        return simrt_error(result);
    simrt_module_lock();
    wanted->kernel = kernel;
    HASH_ADD(hh_kernel, by_kernel, kernel, sizeof(void *), wanted);
    simrt_module_unlock();
    return cudaSuccess;
}

static cudaError_t load_once(function *wanted)
{
    cudaError_t error = cudaSuccess;

    pthread_mutex_lock(&loading);
    if (wanted->kernel == NULL)
        error = load(wanted);
    pthread_mutex_unlock(&loading);
    return error;
}

cudaError_t simrt_module_find_kernel(const void *key, CUkernel *kernel)
{
    function *found;
    CUkernel known = NULL;
    cudaError_t error = cudaSuccess;

    simrt_module_lock();
    found = find(key);
    if (found != NULL)
        known = found->kernel;
    simrt_module_unlock();
    if (found == NULL)
        return cudaErrorInvalidDeviceFunction;
    if (known == NULL) {
        error = load_once(found);
        known = found->kernel;
    }
    if (error == cudaSuccess)
        *kernel = known;
    return error;
}

const char *simrt_module_find_name(const void *key)
{
    const function *found;

    simrt_module_lock();
    found = find(key);
    simrt_module_unlock();
    return found == NULL ? NULL : found->name;
}

/* The program passes the handle back and looks at nothing in it. NULL when out of memory: then
 * nothing of this binary is registered and its launches fail. */
SIMRT_API void **__cudaRegisterFatBinary(void *binary)
{
    module *made;

    simrt_count(SIMRT_CALL___cudaRegisterFatBinary);
    made = calloc(1, sizeof(*made));
    if (made != NULL)
        made->image = ((const simrt_fat_binary *)binary)->image;
    return (void **)made;
}

SIMRT_API void __cudaRegisterFatBinaryEnd(void **handle)
{
    (void)handle;
    simrt_count(SIMRT_CALL___cudaRegisterFatBinaryEnd);
}

SIMRT_API void __cudaRegisterFunction(void **handle, const char *stub, char *device_stub,
                                      const char *name, int thread_limit, uint3 *thread_id,
                                      uint3 *block_id, dim3 *block, dim3 *grid, int *warp_size)
{
    module *owner = (module *)handle;
    function *made;

    (void)device_stub;
    (void)thread_limit;
    (void)thread_id;
    (void)block_id;
    (void)block;
    (void)grid;
    (void)warp_size;
    simrt_count(SIMRT_CALL___cudaRegisterFunction);
    made = owner == NULL ? NULL : calloc(1, sizeof(*made));
    if (made == NULL)
        return;
    made->stub = stub;
    made->name = name;
    made->owner = owner;
    simrt_module_lock();
    made->next = owner->functions;
    owner->functions = made;
    HASH_ADD(hh_stub, by_stub, stub, sizeof(made->stub), made);
    simrt_module_unlock();
}

SIMRT_API void __cudaUnregisterFatBinary(void **handle)
{
    module *owner = (module *)handle;
    function *next;

    simrt_count(SIMRT_CALL___cudaUnregisterFatBinary);
    if (owner == NULL)
        return;
    simrt_module_lock();
    for (function *f = owner->functions; f != NULL; f = next) {
        next = f->next;
        /* NOLINTNEXTLINE(clang-analyzer-*): it loses track of uthash's list */
        HASH_DELETE(hh_stub, by_stub, f);
        if (f->kernel != NULL)
            HASH_DELETE(hh_kernel, by_kernel, f); /* NOLINT(clang-analyzer-*): the same */
        free(f);
    }
    simrt_module_unlock();
    simrt_symbol_forget(handle);
    if (owner->library != NULL && simrt_is_alive())
        (void)simrt_driver_table.cuLibraryUnload(owner->library);
    free(owner);
}

/* Reports that managed variables are ready to be used. */
SIMRT_API char __cudaInitModule(void **handle)
{
    (void)handle;
    simrt_count(SIMRT_CALL___cudaInitModule);
    return 1;
}
