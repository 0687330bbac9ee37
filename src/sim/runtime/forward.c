/* SPDX-License-Identifier: MIT
 * forward.c - simcuda_kernel() for a program that is linked with libcudart alone: the driver has
 * the real one. */
#include "call.h"

SIMRT_API int simcuda_kernel(const char *name, simcuda_function function,
                             const size_t *argument_bytes, unsigned count, simcuda_access access)
{
    if (!simrt_is_alive() || simrt_bind() != cudaSuccess || simrt_simulator_table.kernel == NULL)
        return 1;
    return simrt_simulator_table.kernel(name, function, argument_bytes, count, access);
}
