/* SPDX-License-Identifier: MIT
 * managed.c - managed memory in streams: where it should be, and whose it is. Compiled twice
 * (call.h). */
#include "abi.h"
#include "call.h"
#include "pointer.h"

SIMRT_API cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void *pointer, size_t bytes,
                                               unsigned int flags)
{
    cudaError_t error = simrt_enter(SIMRT_CALL(cudaStreamAttachMemAsync), SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = simrt_error(
            SIMRT_DRIVER.cuStreamAttachMemAsync(stream, simrt_address(pointer), bytes, flags));
    return simrt_leave(error);
}

static cudaError_t prefetch(enum simrt_call call, const void *pointer, size_t bytes,
                            CUmemLocation location, unsigned flags, cudaStream_t stream)
{
    cudaError_t error = simrt_enter(call, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = simrt_error(SIMRT_DRIVER.cuMemPrefetchAsync(simrt_address(pointer), bytes, location,
                                                            flags, stream));
    return simrt_leave(error);
}

static CUmemLocation place(struct cudaMemLocation location)
{
    return (CUmemLocation){.type = (CUmemLocationType)location.type, .id = location.id};
}

#if SIMRT_VERSION >= 13000
SIMRT_API cudaError_t cudaMemPrefetchAsync(const void *pointer, size_t bytes,
                                           struct cudaMemLocation location, unsigned int flags,
                                           cudaStream_t stream)
{
    return prefetch(SIMRT_CALL(cudaMemPrefetchAsync), pointer, bytes, place(location), flags,
                    stream);
}
#else
/* Until CUDA 13 a device, or cudaCpuDeviceId; the location under another name. */
cudaError_t simrt_prefetch(const void *pointer, size_t bytes, int device, cudaStream_t stream)
    SIMRT_AS(SIMRT_TWIN(cudaMemPrefetchAsync));
cudaError_t simrt_prefetch_2(const void *pointer, size_t bytes, struct cudaMemLocation location,
                             unsigned int flags, cudaStream_t stream)
    SIMRT_AS(SIMRT_TWIN(cudaMemPrefetchAsync_v2));

SIMRT_API cudaError_t simrt_prefetch(const void *pointer, size_t bytes, int device,
                                     cudaStream_t stream)
{
    struct cudaMemLocation location = {.type = cudaMemLocationTypeHost};

    if (device != cudaCpuDeviceId)
        location = (struct cudaMemLocation){.type = cudaMemLocationTypeDevice, .id = device};
    return prefetch(SIMRT_CALL(cudaMemPrefetchAsync), pointer, bytes, place(location), 0, stream);
}

SIMRT_API cudaError_t simrt_prefetch_2(const void *pointer, size_t bytes,
                                       struct cudaMemLocation location, unsigned int flags,
                                       cudaStream_t stream)
{
    return prefetch(SIMRT_CALL(SIMRT_TWIN(cudaMemPrefetchAsync_v2)), pointer, bytes,
                    place(location), flags, stream);
}
#endif
