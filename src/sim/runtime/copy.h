/* SPDX-License-Identifier: MIT
 * copy.h - the copies behind cudaMemcpy() and cudaMemcpyAsync(), for copies to and from symbols
 * too. Inline, since they belong to the twin whose file includes them (call.h).
 *
 * The synchronous ones wait as the driver's do: a copy between devices does not wait for itself,
 * one from pageable memory returns when the source may be reused. A kind names the sides; the
 * driver finds them from the addresses for cudaMemcpyDefault and between two host ranges. */
#ifndef SIMRT_COPY_H
#define SIMRT_COPY_H

#include "call.h"
#include "pointer.h"

static inline CUresult simrt_copy_kind(void *to, const void *from, size_t bytes,
                                       enum cudaMemcpyKind kind)
{
    switch (kind) {
    case cudaMemcpyHostToDevice:
        return SIMRT_DRIVER.cuMemcpyHtoD(simrt_address(to), from, bytes);
    case cudaMemcpyDeviceToHost:
        return SIMRT_DRIVER.cuMemcpyDtoH(to, simrt_address(from), bytes);
    case cudaMemcpyDeviceToDevice:
        return SIMRT_DRIVER.cuMemcpyDtoD(simrt_address(to), simrt_address(from), bytes);
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault:
        break;
    }
    return SIMRT_DRIVER.cuMemcpy(simrt_address(to), simrt_address(from), bytes);
}

static inline CUresult simrt_copy_kind_async(void *to, const void *from, size_t bytes,
                                             enum cudaMemcpyKind kind, cudaStream_t stream)
{
    switch (kind) {
    case cudaMemcpyHostToDevice:
        return SIMRT_DRIVER.cuMemcpyHtoDAsync(simrt_address(to), from, bytes, stream);
    case cudaMemcpyDeviceToHost:
        return SIMRT_DRIVER.cuMemcpyDtoHAsync(to, simrt_address(from), bytes, stream);
    case cudaMemcpyDeviceToDevice:
        return SIMRT_DRIVER.cuMemcpyDtoDAsync(simrt_address(to), simrt_address(from), bytes,
                                              stream);
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault:
        break;
    }
    return SIMRT_DRIVER.cuMemcpyAsync(simrt_address(to), simrt_address(from), bytes, stream);
}

static inline cudaError_t simrt_copy_check(enum cudaMemcpyKind kind)
{
    return (unsigned)kind > cudaMemcpyDefault ? cudaErrorInvalidMemcpyDirection : cudaSuccess;
}

/* No bytes: success, whatever the pointers. cudaErrorInvalidMemcpyDirection for a kind that does
 * not exist. */
static inline cudaError_t simrt_copy(void *to, const void *from, size_t bytes,
                                     enum cudaMemcpyKind kind)
{
    cudaError_t error = simrt_copy_check(kind);

    if (error == cudaSuccess && bytes > 0)
        error = simrt_error(simrt_copy_kind(to, from, bytes, kind));
    return error;
}

static inline cudaError_t simrt_copy_async(void *to, const void *from, size_t bytes,
                                           enum cudaMemcpyKind kind, cudaStream_t stream)
{
    cudaError_t error = simrt_copy_check(kind);

    if (error == cudaSuccess && bytes > 0)
        error = simrt_error(simrt_copy_kind_async(to, from, bytes, kind, stream));
    return error;
}

#endif
