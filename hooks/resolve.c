/* SPDX-License-Identifier: MIT
 * resolve.c - the doors through which a program is given driver functions.
 *
 * The real resolver is asked first, and its answer is exchanged only when it is one of the
 * driver's functions we stand in for. By pointer, not by name: which of several functions a name
 * means depends on version and flags, and the driver has just decided that. Nothing is invented:
 * what the driver lacks stays absent. */
#include "bootstrap.h"
#include "engine/engine.h"
#include "real.h"

/* bootstrap.S jumps here. */
void *sc_dlsym_named(void *handle, const char *name) __attribute__((visibility("hidden")));

void *sc_dlsym_named(void *handle, const char *name)
{
    const sc_dlsym next = sc_dlsym_next();
    void *found = next != NULL ? next(handle, name) : NULL;
    void *hook;

    if (found == NULL)
        return NULL; /* and the caller's dlerror() tells why: ask nothing more */
    hook = sc_real_hook_of(sc_real_find(), found);
    if (hook == NULL)
        return found;
    sc_engine_door(SC_DOOR_DLSYM);
    return hook;
}

static void exchange(const sc_real *real, CUresult result, const char *symbol, void **function)
{
    void *hook;

    /* libcudart opens with the empty name, which asks for something else. */
    if (result != CUDA_SUCCESS || symbol == NULL || symbol[0] == '\0' || function == NULL ||
        *function == NULL)
        return;
    hook = sc_real_hook_of_resolved(real, symbol, *function);
    if (hook != NULL) {
        *function = hook;
        sc_engine_door(SC_DOOR_RESOLVER);
    }
}

CUresult cuGetProcAddress(const char *symbol, void **function, int version, cuuint64_t flags)
{
    const sc_real *real = sc_real_find();
    const CUresult result = real->cuGetProcAddress(symbol, function, version, flags);

    exchange(real, result, symbol, function);
    return result;
}

CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *status)
{
    const sc_real *real = sc_real_find();
    const CUresult result = real->cuGetProcAddress_v2(symbol, function, version, flags, status);

    exchange(real, result, symbol, function);
    return result;
}
