/* SPDX-License-Identifier: MIT
 * memory.c - device and pinned host memory. */
#include "abi.h"
#include "call.h"
#include "judge.h"
#include "pointer.h"
#include "sample.h"

#include <string.h>

static cudaError_t allocate(void **pointer, size_t bytes)
{
    CUdeviceptr found = 0;
    cudaError_t error;

    if (pointer == NULL)
        return cudaErrorInvalidValue;
    if (bytes == 0) { /* a success without memory, and no business of the driver's */
        *pointer = NULL;
        return cudaSuccess;
    }
    error = simrt_error(simrt_driver_table.cuMemAlloc(&found, bytes));
    if (error == cudaSuccess) {
        *pointer = simrt_pointer(found);
        simrt_sample_allocated(*pointer, bytes);
        simrt_judge_allocated(*pointer, bytes);
    }
    return error;
}

SIMRT_API cudaError_t cudaMalloc(void **pointer, size_t bytes)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaMalloc, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = allocate(pointer, bytes);
    return simrt_leave(error);
}

/* Like cudaMalloc, a success without memory where nothing is asked for. */
static cudaError_t allocate_pitched(void **pointer, size_t *pitch, size_t width, size_t height)
{
    CUdeviceptr found = 0;
    size_t apart = 0;
    cudaError_t error = cudaSuccess;

    if (pointer == NULL || pitch == NULL)
        return cudaErrorInvalidValue;
    if (width > 0 && height > 0)
        error = simrt_error(simrt_driver_table.cuMemAllocPitch(&found, &apart, width, height, 4));
    if (error != cudaSuccess)
        return error;
    *pointer = simrt_pointer(found);
    *pitch = apart;
    if (found != 0) {
        simrt_sample_allocated(*pointer, apart * height);
        simrt_judge_allocated(*pointer, apart * height);
    }
    return cudaSuccess;
}

SIMRT_API cudaError_t cudaMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaMallocPitch, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = allocate_pitched(pointer, pitch, width, height);
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaMalloc3D(struct cudaPitchedPtr *pitched, struct cudaExtent extent)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaMalloc3D, SIMRT_CONTEXT);
    struct cudaPitchedPtr made = {.xsize = extent.width, .ysize = extent.height};
    size_t rows = 0;

    if (error == cudaSuccess && pitched == NULL)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess && __builtin_mul_overflow(extent.height, extent.depth, &rows))
        error = cudaErrorMemoryAllocation;
    if (error == cudaSuccess)
        error = allocate_pitched(&made.ptr, &made.pitch, extent.width, rows);
    if (error == cudaSuccess)
        *pitched = made;
    return simrt_leave(error);
}

/* Managed memory is no device's, so the sampler, which compares with what a device has mapped, does
 * not count it. */
static cudaError_t allocate_managed(void **pointer, size_t bytes, unsigned flags)
{
    CUdeviceptr found = 0;
    cudaError_t error =
        pointer == NULL || bytes == 0
            ? cudaErrorInvalidValue
            : simrt_error(simrt_driver_table.cuMemAllocManaged(&found, bytes, flags));

    if (error == cudaSuccess) {
        *pointer = simrt_pointer(found);
        simrt_judge_allocated(*pointer, bytes);
    }
    return error;
}

SIMRT_API cudaError_t cudaMallocManaged(void **pointer, size_t bytes, unsigned int flags)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaMallocManaged, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = allocate_managed(pointer, bytes, flags);
    return simrt_leave(error);
}

static cudaError_t advise(enum simrt_call call, const void *pointer, size_t bytes,
                          enum cudaMemoryAdvise advice, struct cudaMemLocation location)
{
    cudaError_t error = simrt_enter(call, SIMRT_CONTEXT);
    CUmemLocation place = {.type = (CUmemLocationType)location.type, .id = location.id};

    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuMemAdvise(simrt_address(pointer), bytes,
                                                           (CUmem_advise)advice, place));
    return simrt_leave(error);
}

#if SIMRT_VERSION >= 13000
SIMRT_API cudaError_t cudaMemAdvise(const void *pointer, size_t bytes, enum cudaMemoryAdvise advice,
                                    struct cudaMemLocation location)
{
    return advise(SIMRT_CALL_cudaMemAdvise, pointer, bytes, advice, location);
}
#else
/* Until CUDA 13 a device, or cudaCpuDeviceId; the location under another name. */
cudaError_t simrt_advise(const void *pointer, size_t bytes, enum cudaMemoryAdvise advice,
                         int device) SIMRT_AS(cudaMemAdvise);
cudaError_t simrt_advise_2(const void *pointer, size_t bytes, enum cudaMemoryAdvise advice,
                           struct cudaMemLocation location) SIMRT_AS(cudaMemAdvise_v2);

SIMRT_API cudaError_t simrt_advise(const void *pointer, size_t bytes, enum cudaMemoryAdvise advice,
                                   int device)
{
    struct cudaMemLocation location = {.type = cudaMemLocationTypeHost};

    if (device != cudaCpuDeviceId)
        location = (struct cudaMemLocation){.type = cudaMemLocationTypeDevice, .id = device};
    return advise(SIMRT_CALL_cudaMemAdvise, pointer, bytes, advice, location);
}

SIMRT_API cudaError_t simrt_advise_2(const void *pointer, size_t bytes,
                                     enum cudaMemoryAdvise advice, struct cudaMemLocation location)
{
    return advise(SIMRT_CALL_cudaMemAdvise_v2, pointer, bytes, advice, location);
}
#endif

/* The sampler and the judge let go of the address first: once the driver has it, another thread may
 * be given it. */
static cudaError_t release(void *pointer)
{
    simrt_sample_record *record = simrt_sample_freeing(pointer);
    simcuda_allocation *allocation = simrt_judge_freeing(pointer);
    cudaError_t error = simrt_error(simrt_driver_table.cuMemFree(simrt_address(pointer)));

    simrt_judge_freed(allocation, error == cudaSuccess);
    simrt_sample_freed(record, error == cudaSuccess);
    return error;
}

SIMRT_API cudaError_t cudaFree(void *pointer)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaFree, SIMRT_CONTEXT);

    if (error == cudaSuccess && pointer != NULL)
        error = release(pointer);
    return simrt_leave(error);
}

static cudaError_t allocate_host(void **pointer, size_t bytes, unsigned flags)
{
    const unsigned known = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
    void *found = NULL;
    cudaError_t error = cudaSuccess;

    if (pointer == NULL || (flags & ~known) != 0)
        return cudaErrorInvalidValue;
    if (bytes > 0)
        error = simrt_error(simrt_driver_table.cuMemHostAlloc(&found, bytes, flags));
    if (error == cudaSuccess) {
        *pointer = found;
        simrt_judge_allocated(found, bytes);
    }
    return error;
}

SIMRT_API cudaError_t cudaMallocHost(void **pointer, size_t bytes)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaMallocHost, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = allocate_host(pointer, bytes, cudaHostAllocDefault);
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaHostAlloc(void **pointer, size_t bytes, unsigned int flags)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaHostAlloc, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = allocate_host(pointer, bytes, flags);
    return simrt_leave(error);
}

static cudaError_t release_host(void *pointer)
{
    simcuda_allocation *allocation = simrt_judge_freeing(pointer);
    cudaError_t error = simrt_error(simrt_driver_table.cuMemFreeHost(pointer));

    simrt_judge_freed(allocation, error == cudaSuccess);
    return error;
}

SIMRT_API cudaError_t cudaFreeHost(void *pointer)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaFreeHost, SIMRT_CONTEXT);

    if (error == cudaSuccess && pointer != NULL)
        error = release_host(pointer);
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaHostRegister(void *pointer, size_t bytes, unsigned int flags)
{
    const unsigned known = cudaHostRegisterPortable | cudaHostRegisterMapped |
                           cudaHostRegisterIoMemory | cudaHostRegisterReadOnly;
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaHostRegister, SIMRT_CONTEXT);

    if (error == cudaSuccess && (pointer == NULL || bytes == 0 || (flags & ~known) != 0))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuMemHostRegister(pointer, bytes, flags));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaHostUnregister(void *pointer)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaHostUnregister, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuMemHostUnregister(pointer));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned int flags)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaHostGetDevicePointer, SIMRT_CONTEXT);
    CUdeviceptr found = 0;

    if (error == cudaSuccess && (device == NULL || flags != 0))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuMemHostGetDevicePointer(&found, host, flags));
    if (error == cudaSuccess)
        *device = simrt_pointer(found);
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaHostGetFlags(unsigned int *flags, void *host)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaHostGetFlags, SIMRT_CONTEXT);
    unsigned found = 0;

    if (error == cudaSuccess)
        error = flags == NULL ? cudaErrorInvalidValue
                              : simrt_error(simrt_driver_table.cuMemHostGetFlags(&found, host));
    if (error == cudaSuccess)
        *flags = found;
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaMemGetInfo, SIMRT_CONTEXT);
    size_t free_now = 0;
    size_t total = 0;

    if (error == cudaSuccess)
        error = free_bytes == NULL || total_bytes == NULL
                    ? cudaErrorInvalidValue
                    : simrt_error(simrt_driver_table.cuMemGetInfo(&free_now, &total));
    if (error == cudaSuccess) {
        *free_bytes = free_now;
        *total_bytes = total;
    }
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *pointer)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaIpcGetMemHandle, SIMRT_CONTEXT);
    CUipcMemHandle found;

    _Static_assert(sizeof(found) == sizeof(*handle), "the driver's handle is the runtime's");
    if (error == cudaSuccess)
        error =
            handle == NULL
                ? cudaErrorInvalidValue
                : simrt_error(simrt_driver_table.cuIpcGetMemHandle(&found, simrt_address(pointer)));
    if (error == cudaSuccess)
        memcpy(handle, &found, sizeof(found));
    return simrt_leave(error);
}

static enum cudaMemoryType memory_type(unsigned type, unsigned managed)
{
    if (managed != 0)
        return cudaMemoryTypeManaged;
    switch (type) {
    case CU_MEMORYTYPE_HOST:
        return cudaMemoryTypeHost;
    case CU_MEMORYTYPE_DEVICE:
        return cudaMemoryTypeDevice;
    default:
        return cudaMemoryTypeUnregistered;
    }
}

/* Memory CUDA knows nothing of is no error: it is unregistered host memory. */
static cudaError_t read_attributes(struct cudaPointerAttributes *attributes, const void *pointer)
{
    unsigned type = 0;
    unsigned managed = 0;
    int ordinal = cudaInvalidDeviceId;
    CUdeviceptr device = 0;
    void *host = NULL;
    CUpointer_attribute wanted[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE,    CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
        CU_POINTER_ATTRIBUTE_HOST_POINTER,
    };
    void *values[] = {&type, &managed, &ordinal, &device, &host};
    struct cudaPointerAttributes found;
    cudaError_t error;

    if (attributes == NULL)
        return cudaErrorInvalidValue;
    error = simrt_error(simrt_driver_table.cuPointerGetAttributes(
        sizeof(wanted) / sizeof(wanted[0]), wanted, values, simrt_address(pointer)));
    if (error != cudaSuccess)
        return error;
    found = (struct cudaPointerAttributes){
        .type = memory_type(type, managed),
        .device = ordinal,
        .devicePointer = simrt_pointer(device),
        .hostPointer = host,
    };
    if (found.type == cudaMemoryTypeUnregistered) {
        found.device = cudaInvalidDeviceId;
        found.devicePointer = NULL;
        found.hostPointer = (void *)pointer;
    }
    memcpy(attributes, &found, SIMRT_POINTER_ATTRIBUTES_BYTES);
    return cudaSuccess;
}

SIMRT_API cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes,
                                               const void *pointer)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaPointerGetAttributes, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = read_attributes(attributes, pointer);
    return simrt_leave(error);
}

/* A description, not memory; here because it returns no error code, which every name that is not
 * modelled does. */
SIMRT_API struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                                             enum cudaChannelFormatKind kind)
{
    simrt_count(SIMRT_CALL_cudaCreateChannelDesc);
    return (struct cudaChannelFormatDesc){x, y, z, w, kind};
}
