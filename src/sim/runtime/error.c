/* SPDX-License-Identifier: MIT
 * error.c - see error.h. */
#include "error.h"

#include "call.h"

typedef struct error_row {
    cudaError_t error;
    bool sticky;
    const char *name;
    const char *text;
} error_row;

static const error_row rows[] = {
#define ERROR(name, text, sticky) {name, sticky, #name, text},
#include "error.def"
#undef ERROR
};

static const error_row *find(int value)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if ((int)rows[i].error == value)
            return &rows[i];
    return NULL;
}

cudaError_t simrt_error(CUresult result)
{
    const error_row *row;

    if (result == CUDA_SUCCESS)
        return cudaSuccess;
    row = find((int)result);
    return row == NULL ? cudaErrorUnknown : row->error;
}

bool simrt_error_is_sticky(cudaError_t error)
{
    const error_row *row = find((int)error);

    return row != NULL && row->sticky;
}

SIMRT_API const char *cudaGetErrorName(cudaError_t error)
{
    const error_row *row = find((int)error);

    simrt_count(SIMRT_CALL_cudaGetErrorName);
    return row == NULL ? "unrecognized error code" : row->name;
}

SIMRT_API const char *cudaGetErrorString(cudaError_t error)
{
    const error_row *row = find((int)error);

    simrt_count(SIMRT_CALL_cudaGetErrorString);
    return row == NULL ? "unrecognized error code" : row->text;
}
