/* SPDX-License-Identifier: MIT
 * entry.c - the driver's functions for a program that asks the runtime for them. The question goes
 * to the cuGetProcAddress that the resolver itself gave out, so whoever put his own there answers
 * it. */
#include "call.h"

static cudaError_t find(const char *symbol, void **function, int version, unsigned long long flags,
                        enum cudaDriverEntryPointQueryResult *status)
{
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SUCCESS;
    void *pointer = NULL;
    CUresult result;

    if (symbol == NULL || function == NULL || flags > cudaEnablePerThreadDefaultStream)
        return cudaErrorInvalidValue;
    result = simrt_driver_table.cuGetProcAddress(symbol, &pointer, version, flags, &found);
    if (result != CUDA_SUCCESS && found == CU_GET_PROC_ADDRESS_SUCCESS)
        return simrt_error(result);
    *function = found == CU_GET_PROC_ADDRESS_SUCCESS ? pointer : NULL;
    if (status == NULL)
        return simrt_error(result);
    *status = (enum cudaDriverEntryPointQueryResult)found; /* the same three values */
    return cudaSuccess;
}

SIMRT_API cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **function,
                                              unsigned long long flags,
                                              enum cudaDriverEntryPointQueryResult *status)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaGetDriverEntryPoint, SIMRT_BOUND);

    if (error == cudaSuccess)
        error = find(symbol, function, CUDART_VERSION, flags, status);
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **function,
                                                       unsigned int version,
                                                       unsigned long long flags,
                                                       enum cudaDriverEntryPointQueryResult *status)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaGetDriverEntryPointByVersion, SIMRT_BOUND);

    if (error == cudaSuccess)
        error = find(symbol, function, (int)version, flags, status);
    return simrt_leave(error);
}
