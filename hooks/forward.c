/* SPDX-License-Identifier: MIT */
#include "forward.h"
#include "bootstrap.h"
#include "glibc.h"
#include "objects.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

enum { PROBES = 8 };

/* What the loader is asked for by an object's path, which is too long for the smallest stack that a
 * thread may have: the loader needs most of that. It takes memory from the heap as well. */
static void *with_object(const void *address, void *use(const sc_object *object))
{
    sc_object *object = malloc(sizeof(*object));
    void *handle = NULL;

    if (object != NULL && sc_object_of(address, object))
        handle = use(object);
    free(object);
    return handle;
}

/* Is the object behind `found` a libcudart? Keeps a reference to it either way: its address is
 * about to be used. */
static bool is_cudart(const void *found)
{
    void *handle = with_object(found, sc_object_pin);

    return handle != NULL &&
           sc_object_has_both(found, sc_dlsym_libc()(handle, "cudaRuntimeGetVersion"));
}

static void *find_next(const char *name)
{
    return sc_dlsym_libc()(RTLD_NEXT, name);
}

/* What `object` loads. The program itself has no such handle: dlopen(NULL) is of the whole process,
 * ourselves first. It is taken for the libcudart it was linked with, which is another than the next
 * one where a preload brought that. */
static void *open_closure(const sc_object *object)
{
    char name[NAME_MAX + 1];

    if (object->path[0] != '\0')
        return sc_object_open(object);
    return sc_object_needs(object, "libcudart", name, sizeof(name))
               ? dlopen(name, RTLD_LAZY | RTLD_NOLOAD)
               : NULL;
}

static void *find_in_closure(const char *name, const void *caller)
{
    void *handle = with_object(caller, open_closure);
    void *found = NULL;

    if (handle != NULL) {
        found = sc_dlsym_libc()(handle, name);
        (void)dlclose(handle);
    }
    return found != NULL && is_cudart(found) ? found : NULL;
}

static void *find_loaded(const char *name)
{
    sc_object *object = malloc(sizeof(*object));
    void *handle = NULL;

    if (object != NULL && sc_object_named("libcudart", object))
        handle = sc_object_pin(object);
    free(object);
    return handle != NULL ? sc_dlsym_libc()(handle, name) : NULL;
}

static void *find(const char *name, const void *caller)
{
    void *next;
    void *found;

    if (sc_dlsym_libc() == NULL)
        return NULL;
    next = find_next(name);
    if (next != NULL && !is_cudart(next)) {
        found = next;
    } else {
        found = find_in_closure(name, caller);
        found = found != NULL ? found : next;
        found = found != NULL ? found : find_loaded(name);
    }
    (void)dlerror();
    return found;
}

static void keep(sc_forward *forward, size_t first, uintptr_t caller, void *target)
{
    for (size_t i = 0; i < PROBES; i++) {
        sc_forward_slot *at = &forward->slots[(first + i) % SC_FORWARD_SLOTS];
        uintptr_t empty = 0;

        if (atomic_compare_exchange_strong_explicit(&at->caller, &empty, caller,
                                                    memory_order_relaxed, memory_order_relaxed) ||
            empty == caller) {
            atomic_store_explicit(&at->target, (uintptr_t)target, memory_order_release);
            return;
        }
    }
}

void *sc_forward_find(sc_forward *forward, const void *caller)
{
    const uintptr_t key = (uintptr_t)caller;
    const size_t first = (size_t)((key * 0x9e3779b97f4a7c15u) >> 54);
    void *found;

    for (size_t i = 0; i < PROBES; i++) {
        const sc_forward_slot *at = &forward->slots[(first + i) % SC_FORWARD_SLOTS];
        const uintptr_t holder = atomic_load_explicit(&at->caller, memory_order_relaxed);

        if (holder == key) {
            const uintptr_t target = atomic_load_explicit(&at->target, memory_order_acquire);

            if (target != 0)
                return (void *)target;
            break;
        }
        if (holder == 0)
            break;
    }
    found = find(forward->name, caller);
    if (found != NULL)
        keep(forward, first, key, found);
    return found;
}
