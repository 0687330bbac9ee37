/* SPDX-License-Identifier: MIT
 * cudnn.c - what cuDNN answers about itself, and the one kind of descriptor that is read back. */
#include "cudnn.h"

#include <string.h>

typedef struct tensor {
    int type, dims;
    int extent[SIMCUDNN_DIMS], strides[SIMCUDNN_DIMS];
} tensor;

SIMLIB_API size_t cudnnGetVersion(void);
SIMLIB_API size_t cudnnGetCudartVersion(void);
SIMLIB_API size_t cudnnGetMaxDeviceVersion(void);
SIMLIB_API void cudnnGetLastErrorString(char *message, size_t bytes);
SIMLIB_API int cudnnSetTensorNdDescriptor(uintptr_t descriptor, int type, int dims,
                                          const int *extent, const int *strides);
SIMLIB_API int cudnnGetTensorNdDescriptor(uintptr_t descriptor, int wanted, int *type, int *dims,
                                          int *extent, int *strides);

size_t cudnnGetVersion(void)
{
    simlib_ok(SIMLIB_cudnnGetVersion);
    return SIMLIB_VERSION;
}

size_t cudnnGetCudartVersion(void)
{
    simlib_ok(SIMLIB_cudnnGetCudartVersion);
    return 13000;
}

size_t cudnnGetMaxDeviceVersion(void)
{
    simlib_ok(SIMLIB_cudnnGetMaxDeviceVersion);
    return 1290;
}

void cudnnGetLastErrorString(char *message, size_t bytes)
{
    const char *text = simlib_text(SIMLIB_cudnnGetLastErrorString);
    size_t length = strlen(text);

    if (!message || bytes == 0)
        return;
    length = length < bytes ? length : bytes - 1;
    memcpy(message, text, length);
    message[length] = '\0';
}

size_t simcudnn_type_bytes(int type)
{
    switch (type) {
    case 1:  /* double */
    case 10: /* int64 */
        return 8;
    case 2: /* half */
    case 9: /* bfloat16 */
        return 2;
    case 0: /* float */
    case 4: /* int32 */
        return 4;
    default:
        return 1;
    }
}

int simcudnn_set_tensor(uintptr_t descriptor, int type, int dims, const int *extent,
                        const int *strides)
{
    tensor *set = simlib_data(descriptor, sizeof *set, NULL);

    if (!set || dims < 1 || dims > SIMCUDNN_DIMS || !extent || !strides)
        return SIMCUDNN_BAD_PARAM;
    set->type = type;
    set->dims = dims;
    memcpy(set->extent, extent, (size_t)dims * sizeof *extent);
    memcpy(set->strides, strides, (size_t)dims * sizeof *strides);
    return SIMLIB_SUCCESS;
}

int cudnnSetTensorNdDescriptor(uintptr_t descriptor, int type, int dims, const int *extent,
                               const int *strides)
{
    simlib_ok(SIMLIB_cudnnSetTensorNdDescriptor);
    return simcudnn_set_tensor(descriptor, type, dims, extent, strides);
}

int cudnnGetTensorNdDescriptor(uintptr_t descriptor, int wanted, int *type, int *dims, int *extent,
                               int *strides)
{
    const tensor *set = simlib_data(descriptor, sizeof *set, NULL);
    int given;

    simlib_ok(SIMLIB_cudnnGetTensorNdDescriptor);
    if (!set || wanted < 1)
        return SIMCUDNN_BAD_PARAM;
    given = wanted < set->dims ? wanted : set->dims;
    if (type)
        *type = set->type;
    if (dims)
        *dims = set->dims;
    if (extent)
        memcpy(extent, set->extent, (size_t)given * sizeof *extent);
    if (strides)
        memcpy(strides, set->strides, (size_t)given * sizeof *strides);
    return SIMLIB_SUCCESS;
}
