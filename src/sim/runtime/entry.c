/* SPDX-License-Identifier: MIT
 * entry.c - the driver's functions for a program that asks the runtime for them. The question goes
 * to the cuGetProcAddress that the resolver itself gave out, so whoever put his own there answers
 * it. Compiled twice (call.h). */
#include "abi.h"
#include "call.h"

/* Without a flag, the functions that the program's own calls would reach. */
static unsigned long long flags_for(unsigned long long flags)
{
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
    return flags == cudaEnableDefault ? cudaEnablePerThreadDefaultStream : flags;
#else
    return flags;
#endif
}

static cudaError_t find(const char *symbol, void **function, int version, unsigned long long flags,
                        enum cudaDriverEntryPointQueryResult *status)
{
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SUCCESS;
    void *pointer = NULL;
    CUresult result;

    if (symbol == NULL || function == NULL || flags > cudaEnablePerThreadDefaultStream)
        return cudaErrorInvalidValue;
    result = SIMRT_DRIVER.cuGetProcAddress(symbol, &pointer, version, flags_for(flags), &found);
    if (result != CUDA_SUCCESS && found == CU_GET_PROC_ADDRESS_SUCCESS)
        return simrt_error(result);
    *function = found == CU_GET_PROC_ADDRESS_SUCCESS ? pointer : NULL;
    if (status == NULL)
        return simrt_error(result);
    *status = (enum cudaDriverEntryPointQueryResult)found; /* the same three values */
    return cudaSuccess;
}

/* What a question without a version means: our own, or the driver's where that is older, which
 * knows no newer one. */
static int version_for(void)
{
    int version = 0;

    return simrt_driver_table.cuDriverGetVersion(&version) == CUDA_SUCCESS &&
                   version < SIMRT_VERSION
               ? version
               : SIMRT_VERSION;
}

#if SIMRT_VERSION < 12000
cudaError_t simrt_get_entry_point(const char *symbol, void **function, unsigned long long flags)
    SIMRT_AS(cudaGetDriverEntryPoint);

SIMRT_API cudaError_t simrt_get_entry_point(const char *symbol, void **function,
                                            unsigned long long flags)
{
    cudaError_t error = simrt_enter(SIMRT_CALL(cudaGetDriverEntryPoint), SIMRT_BOUND);
    enum cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSuccess;

    if (error == cudaSuccess)
        error = find(symbol, function, version_for(), flags, &status);
    if (error == cudaSuccess && status != cudaDriverEntryPointSuccess)
        error = cudaErrorSymbolNotFound;
    return simrt_leave(error);
}
#else
SIMRT_API cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **function,
                                              unsigned long long flags,
                                              enum cudaDriverEntryPointQueryResult *status)
{
    cudaError_t error = simrt_enter(SIMRT_CALL(cudaGetDriverEntryPoint), SIMRT_BOUND);

    if (error == cudaSuccess)
        error = find(symbol, function, version_for(), flags, status);
    return simrt_leave(error);
}
#endif

SIMRT_API cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **function,
                                                       unsigned int version,
                                                       unsigned long long flags,
                                                       enum cudaDriverEntryPointQueryResult *status)
{
    cudaError_t error = simrt_enter(SIMRT_CALL(cudaGetDriverEntryPointByVersion), SIMRT_BOUND);

    if (error == cudaSuccess)
        error = find(symbol, function, (int)version, flags, status);
    return simrt_leave(error);
}
