/* SPDX-License-Identifier: MIT
 * error_api.c - names and texts of errors in the driver API. */
#include <stddef.h>

#include "api.h"

static const struct error {
    CUresult code;
    const char *name;
    const char *text;
} errors[] = {
#define ERROR(code, text) {code, #code, text},
#include "error.def"
#undef ERROR
};

static const struct error *find(CUresult code)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].code == code)
            return &errors[i];
    return NULL;
}

CUresult cuGetErrorName(CUresult error, const char **pStr)
{
    CUresult status = sim_enter(CALL_cuGetErrorName);
    const struct error *found = find(error);

    if (status != CUDA_SUCCESS)
        return status;
    if (!pStr)
        return CUDA_ERROR_INVALID_VALUE;
    *pStr = found ? found->name : NULL;
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **pStr)
{
    CUresult status = sim_enter(CALL_cuGetErrorString);
    const struct error *found = find(error);

    if (status != CUDA_SUCCESS)
        return status;
    if (!pStr)
        return CUDA_ERROR_INVALID_VALUE;
    *pStr = found ? found->text : NULL;
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
