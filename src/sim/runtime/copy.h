/* SPDX-License-Identifier: MIT
 * copy.h - the copies behind cudaMemcpy() and cudaMemcpyAsync(), for copies to and from symbols. */
#ifndef SIMRT_COPY_H
#define SIMRT_COPY_H

#include <cuda_runtime_api.h>

/* No bytes: success, whatever the pointers. cudaErrorInvalidMemcpyDirection for a kind that does
 * not exist. */
cudaError_t simrt_copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind);
cudaError_t simrt_copy_async(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                             cudaStream_t stream);

#endif
