/* SPDX-License-Identifier: MIT
 * resolve_api.c - cuGetProcAddress in its two exported spellings.
 *
 * The first (CUDA 11.3) has no status to report, so what cannot be found is an error; for the
 * second (CUDA 12) it is a success with a NULL pointer and the reason in *symbolStatus. Asked for
 * "cuGetProcAddress", they answer with the spelling of the version named, like for any other
 * function. */
#include "api.h"
#include "resolve.h"
#include "settings.h"

#define STREAM_FLAGS                                                                               \
    ((cuuint64_t)CU_GET_PROC_ADDRESS_LEGACY_STREAM |                                               \
     (cuuint64_t)CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)

static CUresult resolve(enum sim_call call, const char *symbol, void **pfn, int version,
                        cuuint64_t flags, enum sim_resolved *result)
{
    CUresult status = sim_enter(call);

    if (status != CUDA_SUCCESS)
        return status;
    if (!symbol || !pfn || (flags & ~STREAM_FLAGS) != 0 || flags == STREAM_FLAGS || version < 0 ||
        version > (int)sim_settings()->version)
        return CUDA_ERROR_INVALID_VALUE;
    *result = sim_resolve(symbol, version,
                          (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0, pfn);
    return CUDA_SUCCESS;
}

CUresult cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags)
{
    enum sim_resolved result = SIM_RESOLVED;
    CUresult status = resolve(CALL_cuGetProcAddress, symbol, pfn, cudaVersion, flags, &result);

    return status == CUDA_SUCCESS && result != SIM_RESOLVED ? CUDA_ERROR_NOT_FOUND : status;
}

CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *symbolStatus)
{
    enum sim_resolved result = SIM_RESOLVED;
    CUresult status = resolve(CALL_cuGetProcAddress_v2, symbol, pfn, cudaVersion, flags, &result);

    if (status == CUDA_SUCCESS && symbolStatus)
        *symbolStatus = result == SIM_RESOLVED       ? CU_GET_PROC_ADDRESS_SUCCESS
                        : result == SIM_UNKNOWN_NAME ? CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND
                                                     : CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    return status;
}
