/* SPDX-License-Identifier: MIT
 * before_13.c - what programs built by nvcc 11 and 12 call and libcudart 13 exports no more: the
 * cudaThread* family, old names of the cudaDevice* one; cudaEventElapsedTime_v2, as CUDA 12.8 calls
 * it; and registering the texture and surface references of CUDA 11, which happens before main().
 * A program that then binds one is told that it is not supported. */
#include "call.h"
#include "device.h"
#include "event.h"

cudaError_t cudaThreadSynchronize(void);
cudaError_t cudaThreadExit(void);
cudaError_t cudaThreadGetLimit(size_t *value, enum cudaLimit limit);
cudaError_t cudaThreadSetLimit(enum cudaLimit limit, size_t value);
cudaError_t cudaThreadGetCacheConfig(enum cudaFuncCache *config);
cudaError_t cudaThreadSetCacheConfig(enum cudaFuncCache config);
cudaError_t cudaEventElapsedTime_v2(float *milliseconds, cudaEvent_t start, cudaEvent_t end);
void __cudaRegisterTexture(void **handle, const void *variable, const void **device,
                           const char *name, int dimensions, int normalized, int external);
void __cudaRegisterSurface(void **handle, const void *variable, const void **device,
                           const char *name, int dimensions, int external);

SIMRT_API cudaError_t cudaThreadSynchronize(void)
{
    return simrt_device_synchronize(SIMRT_CALL_cudaThreadSynchronize);
}

SIMRT_API cudaError_t cudaThreadExit(void)
{
    return simrt_device_reset(SIMRT_CALL_cudaThreadExit);
}

SIMRT_API cudaError_t cudaThreadGetLimit(size_t *value, enum cudaLimit limit)
{
    return simrt_device_get_limit(SIMRT_CALL_cudaThreadGetLimit, value, limit);
}

SIMRT_API cudaError_t cudaThreadSetLimit(enum cudaLimit limit, size_t value)
{
    return simrt_device_set_limit(SIMRT_CALL_cudaThreadSetLimit, limit, value);
}

SIMRT_API cudaError_t cudaThreadGetCacheConfig(enum cudaFuncCache *config)
{
    return simrt_device_get_cache_config(SIMRT_CALL_cudaThreadGetCacheConfig, config);
}

SIMRT_API cudaError_t cudaThreadSetCacheConfig(enum cudaFuncCache config)
{
    return simrt_device_set_cache_config(SIMRT_CALL_cudaThreadSetCacheConfig, config);
}

SIMRT_API cudaError_t cudaEventElapsedTime_v2(float *milliseconds, cudaEvent_t start,
                                              cudaEvent_t end)
{
    return simrt_event_elapsed_time(SIMRT_CALL_cudaEventElapsedTime_v2, milliseconds, start, end);
}

SIMRT_API void __cudaRegisterTexture(void **handle, const void *variable, const void **device,
                                     const char *name, int dimensions, int normalized, int external)
{
    (void)handle;
    (void)variable;
    (void)device;
    (void)name;
    (void)dimensions;
    (void)normalized;
    (void)external;
    simrt_count(SIMRT_CALL___cudaRegisterTexture);
}

SIMRT_API void __cudaRegisterSurface(void **handle, const void *variable, const void **device,
                                     const char *name, int dimensions, int external)
{
    (void)handle;
    (void)variable;
    (void)device;
    (void)name;
    (void)dimensions;
    (void)external;
    simrt_count(SIMRT_CALL___cudaRegisterSurface);
}
