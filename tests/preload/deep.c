/* SPDX-License-Identifier: MIT
 * A library that trains by the driver's own functions. They are found by dlsym, as Taichi does, or
 * with LINKED by the loader. */
#include "check.h"
#include "driver_types.h"

__attribute__((visibility("default"))) int deep_steps(int steps);

#ifdef LINKED
alloc_type cuMemAlloc_v2;
free_type cuMemFree_v2;
device_type cuInit;
retain_type cuDevicePrimaryCtxRetain;
context_type cuCtxSetCurrent;
#define DRIVER(type, name) name
#else
#define DRIVER(type, name) FIND(type, must(dlopen("libcuda.so.1", RTLD_NOW), "libcuda.so.1"), #name)
#endif

enum { KEYS = 8 };

/* 0: all went well. */
int deep_steps(int steps)
{
    alloc_type *alloc = DRIVER(alloc_type, cuMemAlloc_v2);
    free_type *release = DRIVER(free_type, cuMemFree_v2);
    uintptr_t context = 0;
    uint64_t held[KEYS];

    CHECK(DRIVER(device_type, cuInit)(0) == SUCCESS, "there is a driver");
    CHECK(DRIVER(retain_type, cuDevicePrimaryCtxRetain)(&context, 0) == SUCCESS, "and a device");
    CHECK(DRIVER(context_type, cuCtxSetCurrent)(context) == SUCCESS, "whose context is current");
    for (int step = 0; step < steps; step++) {
        for (int key = 0; key < KEYS; key++)
            CHECK(alloc(&held[key], (size_t)(key + 1) << 20) == SUCCESS, "it allocates");
        for (int key = 0; key < KEYS; key++)
            CHECK(release(held[key]) == SUCCESS, "and frees");
    }
    return check_failures;
}
