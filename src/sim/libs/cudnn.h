/* SPDX-License-Identifier: MIT
 * cudnn.h - what the parts of the cuDNN stand-in share. Types are declared as cuDNN's ABI has them,
 * since its header comes with the library. */
#ifndef SIMLIB_CUDNN_H
#define SIMLIB_CUDNN_H

#include "library.h"

#define SIMCUDNN_DIMS      8
#define SIMCUDNN_BAD_PARAM 2000

/* Gives a tensor descriptor its type and extent, as cudnnSetTensorNdDescriptor() does. */
int simcudnn_set_tensor(uintptr_t descriptor, int type, int dims, const int *extent,
                        const int *strides);

/* Bytes of one element of a cudnnDataType_t. */
size_t simcudnn_type_bytes(int type);

#endif
