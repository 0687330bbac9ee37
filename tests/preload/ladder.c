/* SPDX-License-Identifier: MIT
 * A rung: adds its own digit to what the next object's ladder() answers. */
#include <dlfcn.h>
#include <stdint.h>

__attribute__((visibility("default"))) int ladder(void);

int ladder(void)
{
    int (*next)(void) = (int (*)(void))(uintptr_t)dlsym(RTLD_NEXT, "ladder");

    return RUNG + (next != 0 ? next() : 0);
}
