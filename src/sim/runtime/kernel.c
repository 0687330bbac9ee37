/* SPDX-License-Identifier: MIT
 * kernel.c - what a program asks and says about a kernel short of launching it. */
#include "call.h"
#include "device.h"
#include "module.h"

SIMRT_API cudaError_t cudaGetKernel(cudaKernel_t *kernel, const void *function)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaGetKernel, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = kernel == NULL ? cudaErrorInvalidValue : simrt_module_find_kernel(function, kernel);
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaGetFuncBySymbol(cudaFunction_t *found, const void *function)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaGetFuncBySymbol, SIMRT_CONTEXT);
    CUkernel kernel = NULL;
    CUfunction loaded = NULL;

    if (error == cudaSuccess)
        error = found == NULL ? cudaErrorInvalidValue : simrt_module_find_kernel(function, &kernel);
    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuKernelGetFunction(&loaded, kernel));
    if (error == cudaSuccess)
        *found = loaded;
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaFuncGetName(const char **name, const void *function)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaFuncGetName, SIMRT_CONTEXT);
    const char *found = NULL;

    if (error == cudaSuccess && name == NULL)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess) {
        found = simrt_module_find_name(function);
        error = found == NULL ? cudaErrorInvalidDeviceFunction : cudaSuccess;
    }
    if (error == cudaSuccess)
        *name = found;
    return simrt_leave(error);
}
