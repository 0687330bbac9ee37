/* SPDX-License-Identifier: MIT
 * Another tool that stands in for the loader's functions: for dlsym, which it counts and passes
 * on by a jump, or, with BLIND, for dlvsym, which it breaks. */
#define EXPORT __attribute__((visibility("default")))

#ifdef BLIND
EXPORT void *dlvsym(void *handle, const char *name, const char *version);

void *dlvsym(void *handle, const char *name, const char *version)
{
    (void)handle;
    (void)name;
    (void)version;
    return 0;
}
#else
#include <dlfcn.h>
#include <stdint.h>

typedef void *dlsym_type(void *handle, const char *name);

EXPORT dlsym_type dlsym;
EXPORT int meddler_calls(void);

static int calls;

void *dlsym(void *handle, const char *name)
{
    static dlsym_type *volatile next;

    calls++;
    if (next == 0) {
        void *found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");

        next = (dlsym_type *)(uintptr_t)found;
    }
    return next(handle, name);
}

int meddler_calls(void)
{
    return calls;
}
#endif
