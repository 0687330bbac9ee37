/* SPDX-License-Identifier: MIT
 * device.c - see device.h. */
#include "device.h"

#include "call.h"
#include "sample.h"

#include <pthread.h>

typedef struct device {
    CUcontext primary;   /* written under `lock`, before `active` is set */
    _Atomic bool active; /* retained, and not reset since */
    _Atomic int sticky;
    _Atomic unsigned resets;
    simrt_limits limits;
} device;

static device devices[SIMRT_MAX_DEVICES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Counts resets: what a thread remembers about its context is only good within one generation. */
static _Atomic unsigned generation;

static _Thread_local struct {
    int selected; /* cudaSetDevice()'s, the one to use while no context is current */
    int ordinal;  /* device of `context` */
    CUcontext context;
    unsigned generation;
} self;

int simrt_device_current(void)
{
    return self.ordinal;
}

const simrt_limits *simrt_device_limits(void)
{
    return &devices[self.ordinal].limits;
}

unsigned simrt_device_resets(void)
{
    return atomic_load(&devices[self.ordinal].resets);
}

void simrt_device_mark_sticky(cudaError_t error)
{
    atomic_store(&devices[self.ordinal].sticky, (int)error);
}

cudaError_t simrt_device_sticky(void)
{
    return (cudaError_t)atomic_load(&devices[self.ordinal].sticky);
}

static cudaError_t find_handle(int ordinal, CUdevice *handle)
{
    if (ordinal < 0 || ordinal >= SIMRT_MAX_DEVICES)
        return cudaErrorInvalidDevice;
    return simrt_error(simrt_driver_table.cuDeviceGet(handle, ordinal));
}

static cudaError_t read_limits(CUdevice handle, simrt_limits *limits)
{
    const struct {
        CUdevice_attribute attribute;
        int *value;
    } wanted[] = {
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &limits->block_threads},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, &limits->block[0]},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, &limits->block[1]},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, &limits->block[2]},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, &limits->grid[0]},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, &limits->grid[1]},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, &limits->grid[2]},
    };
    CUresult result = CUDA_SUCCESS;

    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]) && result == CUDA_SUCCESS; i++)
        result =
            simrt_driver_table.cuDeviceGetAttribute(wanted[i].value, wanted[i].attribute, handle);
    return simrt_error(result);
}

/* Retains the device's primary context unless that is done. */
static cudaError_t activate(int ordinal)
{
    device *target;
    CUdevice handle;
    cudaError_t error = find_handle(ordinal, &handle);

    if (error != cudaSuccess)
        return error;
    target = &devices[ordinal];
    pthread_mutex_lock(&lock);
    if (!atomic_load(&target->active)) {
        error = read_limits(handle, &target->limits);
        if (error == cudaSuccess)
            error =
                simrt_error(simrt_driver_table.cuDevicePrimaryCtxRetain(&target->primary, handle));
        if (error == cudaSuccess)
            atomic_store(&target->active, true);
    }
    pthread_mutex_unlock(&lock);
    return error;
}

cudaError_t simrt_device_context(int ordinal, CUcontext *context)
{
    cudaError_t error = activate(ordinal);

    if (error == cudaSuccess)
        *context = devices[ordinal].primary;
    return error;
}

static void remember(CUcontext context, int ordinal)
{
    self.context = context;
    self.ordinal = ordinal;
    self.generation = atomic_load(&generation);
}

/* Makes the device's primary context the thread's. */
static cudaError_t use(int ordinal)
{
    cudaError_t error = activate(ordinal);

    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuCtxSetCurrent(devices[ordinal].primary));
    if (error == cudaSuccess)
        remember(devices[ordinal].primary, ordinal);
    return error;
}

/* The device whose primary context this was before a reset, or -1. */
static int find_stale(CUcontext context)
{
    for (int i = 0; i < SIMRT_MAX_DEVICES; i++)
        if (devices[i].primary == context && !atomic_load(&devices[i].active))
            return i;
    return -1;
}

/* The thread's context is not the one it had at its last call, or somebody reset a device since. */
static cudaError_t adopt(CUcontext current)
{
    CUdevice handle = 0;
    cudaError_t error;
    int stale;

    if (current == NULL)
        return use(self.selected);
    stale = find_stale(current);
    if (stale >= 0)
        return use(stale);
    error = simrt_error(simrt_driver_table.cuCtxGetDevice(&handle));
    if (error == cudaSuccess)
        error = activate((int)handle); /* for its limits; CUdevice is the ordinal */
    if (error == cudaSuccess)
        remember(current, (int)handle);
    return error;
}

cudaError_t simrt_device_enter(void)
{
    CUcontext current = NULL;
    cudaError_t error = simrt_error(simrt_driver_table.cuCtxGetCurrent(&current));

    if (error == cudaSuccess &&
        (current == NULL || current != self.context || self.generation != atomic_load(&generation)))
        error = adopt(current);
    return error == cudaSuccess ? simrt_device_sticky() : error;
}

SIMRT_API cudaError_t cudaGetDeviceCount(int *count)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaGetDeviceCount, SIMRT_INITIALISED);
    int found = 0;

    if (error == cudaSuccess)
        error = count == NULL ? cudaErrorInvalidValue
                              : simrt_error(simrt_driver_table.cuDeviceGetCount(&found));
    if (error == cudaSuccess && found == 0)
        error = cudaErrorNoDevice;
    if (error == cudaSuccess)
        *count = found;
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaSetDevice(int ordinal)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaSetDevice, SIMRT_INITIALISED);

    if (error == cudaSuccess)
        error = use(ordinal);
    if (error == cudaSuccess)
        self.selected = ordinal;
    return simrt_leave(error);
}

/* The device of the thread's context, or the one it would get; makes none. */
static cudaError_t find_current(int *ordinal)
{
    CUcontext current = NULL;
    CUdevice handle = 0;
    cudaError_t error = simrt_error(simrt_driver_table.cuCtxGetCurrent(&current));
    int stale;

    if (error != cudaSuccess)
        return error;
    if (current == NULL) {
        *ordinal = self.selected;
        return find_handle(self.selected, &handle);
    }
    stale = find_stale(current);
    if (stale < 0)
        error = simrt_error(simrt_driver_table.cuCtxGetDevice(&handle));
    if (error == cudaSuccess)
        *ordinal = stale < 0 ? (int)handle : stale;
    return error;
}

SIMRT_API cudaError_t cudaGetDevice(int *ordinal)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaGetDevice, SIMRT_INITIALISED);

    if (error == cudaSuccess)
        error = ordinal == NULL ? cudaErrorInvalidValue : find_current(ordinal);
    return simrt_leave(error);
}

static cudaError_t set_flags(int ordinal, unsigned flags)
{
    const unsigned known = cudaDeviceMask;
    CUdevice handle;
    cudaError_t error;

    if ((flags & ~known) != 0)
        return cudaErrorInvalidValue;
    error = find_handle(ordinal, &handle);
    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuDevicePrimaryCtxSetFlags(
            handle,
            flags &
                ~(unsigned)cudaDeviceMapHost)); /* always possible, no flag of the driver's now */
    return error;
}

SIMRT_API cudaError_t cudaInitDevice(int ordinal, unsigned int device_flags, unsigned int flags)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaInitDevice, SIMRT_INITIALISED);

    if (error == cudaSuccess && (flags & ~(unsigned)cudaInitDeviceFlagsAreValid) != 0)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess && (flags & cudaInitDeviceFlagsAreValid) != 0)
        error = set_flags(ordinal, device_flags);
    if (error == cudaSuccess)
        error = activate(ordinal);
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaSetDeviceFlags(unsigned int flags)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaSetDeviceFlags, SIMRT_INITIALISED);
    int ordinal = 0;

    if (error == cudaSuccess)
        error = find_current(&ordinal);
    if (error == cudaSuccess)
        error = set_flags(ordinal, flags);
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaGetDeviceFlags(unsigned int *flags)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaGetDeviceFlags, SIMRT_INITIALISED);
    CUdevice handle = 0;
    unsigned found = 0;
    int ordinal = 0;
    int active = 0;

    if (error == cudaSuccess && flags == NULL)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = find_current(&ordinal);
    if (error == cudaSuccess)
        error = find_handle(ordinal, &handle);
    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuDevicePrimaryCtxGetState(handle, &found, &active));
    if (error == cudaSuccess)
        *flags = found | cudaDeviceMapHost;
    return simrt_leave(error);
}

cudaError_t simrt_device_synchronize(enum simrt_call call)
{
    cudaError_t error = simrt_enter(call, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuCtxSynchronize());
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaDeviceSynchronize(void)
{
    return simrt_device_synchronize(SIMRT_CALL_cudaDeviceSynchronize);
}

static cudaError_t reset(int ordinal)
{
    device *target = &devices[ordinal];
    CUdevice handle;
    cudaError_t error = find_handle(ordinal, &handle);

    if (error != cudaSuccess || !atomic_load(&target->active))
        return error;
    pthread_mutex_lock(&lock);
    error = simrt_error(simrt_driver_table.cuDevicePrimaryCtxReset(handle));
    if (error == cudaSuccess) {
        atomic_store(&target->active, false);
        atomic_store(&target->sticky, 0);
        atomic_fetch_add(&target->resets, 1);
        atomic_fetch_add(&generation, 1);
    }
    pthread_mutex_unlock(&lock);
    return error;
}

cudaError_t simrt_device_reset(enum simrt_call call)
{
    cudaError_t error = simrt_enter(call, SIMRT_INITIALISED);
    int ordinal = 0;

    if (error == cudaSuccess)
        error = find_current(&ordinal);
    if (error == cudaSuccess)
        error = reset(ordinal);
    if (error == cudaSuccess) {
        self.selected = ordinal;
        error = simrt_error(simrt_driver_table.cuCtxSetCurrent(NULL));
        simrt_sample_forget(ordinal);
    }
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaDeviceReset(void)
{
    return simrt_device_reset(SIMRT_CALL_cudaDeviceReset);
}

SIMRT_API cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaDeviceGetStreamPriorityRange, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuCtxGetStreamPriorityRange(least, greatest));
    return simrt_leave(error);
}

cudaError_t simrt_device_get_limit(enum simrt_call call, size_t *value, enum cudaLimit limit)
{
    cudaError_t error = simrt_enter(call, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = value == NULL
                    ? cudaErrorInvalidValue
                    : simrt_error(simrt_driver_table.cuCtxGetLimit(value, (CUlimit)limit));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit limit)
{
    return simrt_device_get_limit(SIMRT_CALL_cudaDeviceGetLimit, value, limit);
}

cudaError_t simrt_device_set_limit(enum simrt_call call, enum cudaLimit limit, size_t value)
{
    cudaError_t error = simrt_enter(call, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuCtxSetLimit((CUlimit)limit, value));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value)
{
    return simrt_device_set_limit(SIMRT_CALL_cudaDeviceSetLimit, limit, value);
}

cudaError_t simrt_device_get_cache_config(enum simrt_call call, enum cudaFuncCache *config)
{
    cudaError_t error = simrt_enter(call, SIMRT_CONTEXT);
    CUfunc_cache found = CU_FUNC_CACHE_PREFER_NONE;

    if (error == cudaSuccess)
        error = config == NULL ? cudaErrorInvalidValue
                               : simrt_error(simrt_driver_table.cuCtxGetCacheConfig(&found));
    if (error == cudaSuccess)
        *config = (enum cudaFuncCache)found;
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache *config)
{
    return simrt_device_get_cache_config(SIMRT_CALL_cudaDeviceGetCacheConfig, config);
}

cudaError_t simrt_device_set_cache_config(enum simrt_call call, enum cudaFuncCache config)
{
    cudaError_t error = simrt_enter(call, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuCtxSetCacheConfig((CUfunc_cache)config));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache config)
{
    return simrt_device_set_cache_config(SIMRT_CALL_cudaDeviceSetCacheConfig, config);
}
