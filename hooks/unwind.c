/* SPDX-License-Identifier: MIT */
#include "unwind.h"
#include "bootstrap.h"
#include "glibc.h"
#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

typedef int backtrace_type(void **frames, int most);

enum { ABSENT = 1 }; /* no function has this address */

static _Atomic(uintptr_t) known; /* its backtrace function, or ABSENT; 0: not looked for yet */

static uintptr_t look(void)
{
    void *library = dlopen("libunwind.so.8", RTLD_LAZY | RTLD_LOCAL);
    void *found = library != NULL ? sc_dlsym_libc()(library, "unw_backtrace") : NULL;
    const uintptr_t address = found != NULL ? (uintptr_t)found : ABSENT;

    if (found == NULL)
        (void)dlerror();
    atomic_store_explicit(&known, address, memory_order_release);
    return address;
}

size_t sc_unwind(const void **frames, size_t most)
{
    uintptr_t address = atomic_load_explicit(&known, memory_order_acquire);
    backtrace_type *backtrace;
    int count;

    if (address == 0)
        address = look();
    if (address == ABSENT)
        return 0;
    memcpy(&backtrace, &address, sizeof(backtrace));
    count = backtrace((void **)frames, most < INT_MAX ? (int)most : INT_MAX);
    return count > 0 ? (size_t)count : 0;
}
