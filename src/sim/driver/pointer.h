/* SPDX-License-Identifier: MIT
 * pointer.h - an address, which CUDA's driver API keeps in an integer, as the pointer it is here.
 */
#ifndef SC_SIM_POINTER_H
#define SC_SIM_POINTER_H

#include <stdint.h>

static inline void *sim_pointer(uintptr_t address)
{
    return (void *)address; /* NOLINT(performance-no-int-to-ptr): that is what it is */
}

#endif
