/* SPDX-License-Identifier: MIT
 * symbol.c - see symbol.h. */
#include "symbol.h"

#include "call.h"
#include "device.h"
#include "module.h"
#include "nvcc.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

typedef struct storage {
    void *address;
    unsigned resets; /* of the device when it was made */
} storage;

typedef struct variable {
    const void *stub; /* the address by which the host program knows it */
    void **handle;    /* fat binary */
    size_t bytes;
    storage on[SIMRT_MAX_DEVICES];
    UT_hash_handle hh;
} variable;

static variable *variables; /* under the registry's lock */
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

SIMRT_API void __cudaRegisterVar(void **handle, char *stub, char *device_stub, const char *name,
                                 int external, size_t bytes, int constant, int global)
{
    variable *made = calloc(1, sizeof(*made));

    (void)device_stub;
    (void)name;
    (void)external;
    (void)constant;
    (void)global;
    simrt_count(SIMRT_CALL___cudaRegisterVar);
    if (made == NULL)
        return;
    made->stub = stub;
    made->handle = handle;
    made->bytes = bytes;
    simrt_module_lock();
    HASH_ADD_PTR(variables, stub, made);
    simrt_module_unlock();
}

/* The program reaches the variable through *stub, from the first line of main() on. */
SIMRT_API void __cudaRegisterManagedVar(void **handle, void **stub, char *device_stub,
                                        const char *name, int external, size_t bytes, int constant,
                                        int global)
{
    (void)handle;
    (void)device_stub;
    (void)name;
    (void)external;
    (void)constant;
    (void)global;
    simrt_count(SIMRT_CALL___cudaRegisterManagedVar);
    *stub = calloc(1, bytes); /* never freed, as the variable it stands for */
}

void simrt_symbol_forget(void **handle)
{
    variable *v;
    variable *next;

    simrt_module_lock();
    for (v = variables; v != NULL; v = next) {
        next = v->hh.next;
        if (v->handle == handle) {
            /* NOLINTNEXTLINE(clang-analyzer-*): it loses track of uthash's list */
            HASH_DEL(variables, v);
            free(v); /* its storage goes with the device's context */
        }
    }
    simrt_module_unlock();
}

static variable *find(const void *stub)
{
    variable *found = NULL;

    simrt_module_lock();
    HASH_FIND_PTR(variables, &stub, found);
    simrt_module_unlock();
    return found;
}

static cudaError_t make_storage(storage *place, size_t bytes)
{
    void *address = NULL;
    cudaError_t error = simrt_error(simrt_driver_table.cuMemHostAlloc(
        &address, bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));

    if (error != cudaSuccess)
        return error;
    memset(address, 0, bytes);
    *place = (storage){address, simrt_device_resets()};
    return cudaSuccess;
}

/* Where the variable is on the thread's device, and how large. */
static cudaError_t locate(const void *stub, char **address, size_t *bytes)
{
    variable *found = find(stub);
    storage *place;
    cudaError_t error = cudaSuccess;

    if (found == NULL)
        return cudaErrorInvalidSymbol;
    place = &found->on[simrt_device_current()];
    pthread_mutex_lock(&making);
    if (place->address == NULL || place->resets != simrt_device_resets())
        error = make_storage(place, found->bytes);
    if (error == cudaSuccess) {
        *address = place->address;
        *bytes = found->bytes;
    }
    pthread_mutex_unlock(&making);
    return error;
}

cudaError_t simrt_symbol_locate(const void *stub, size_t count, size_t offset, char **address)
{
    size_t bytes = 0;
    cudaError_t error = locate(stub, address, &bytes);

    if (error != cudaSuccess)
        return error;
    if (offset > bytes || count > bytes - offset)
        return cudaErrorInvalidValue;
    *address += offset;
    return cudaSuccess;
}

SIMRT_API cudaError_t cudaGetSymbolAddress(void **address, const void *symbol)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaGetSymbolAddress, SIMRT_CONTEXT);
    char *found = NULL;
    size_t bytes = 0;

    if (error == cudaSuccess)
        error = address == NULL ? cudaErrorInvalidValue : locate(symbol, &found, &bytes);
    if (error == cudaSuccess)
        *address = found;
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaGetSymbolSize(size_t *bytes, const void *symbol)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaGetSymbolSize, SIMRT_CONTEXT);
    const variable *found = NULL;

    if (error == cudaSuccess && bytes == NULL)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess) {
        found = find(symbol);
        error = found == NULL ? cudaErrorInvalidSymbol : cudaSuccess;
    }
    if (error == cudaSuccess)
        *bytes = found->bytes;
    return simrt_leave(error);
}
