/* SPDX-License-Identifier: MIT
 * device.h - devices, their primary contexts, and which one the calling thread is using.
 *
 * The driver's current context is the truth: a program may set one itself, and the runtime then
 * works in it. Only a thread that has none is given the primary context of the device it selected
 * (0 at first), retained once a process and made current then. After cudaDeviceReset() the next
 * call of any thread retains it anew. A sticky error belongs to a device until it is reset.
 *
 * One lock, for retaining and resetting. Thread-safe. */
#ifndef SIMRT_DEVICE_H
#define SIMRT_DEVICE_H

#include "cudart_names.h"

#include <cuda.h>
#include <cuda_runtime_api.h>

enum { SIMRT_MAX_DEVICES = 64 };

/* What a launch may ask for, read once when the device's context is made. */
typedef struct simrt_limits {
    int block_threads;
    int block[3];
    int grid[3];
} simrt_limits;

/* Makes sure that the thread has a usable context. Returns the device's sticky error if it has one.
 */
cudaError_t simrt_device_enter(void);

/* The thread's device as simrt_device_enter() last found it. */
int simrt_device_current(void);

const simrt_limits *simrt_device_limits(void);

/* The device's primary context, made if need be and not made current: what stands for a device
 * where the driver wants a context. */
cudaError_t simrt_device_context(int ordinal, CUcontext *context);

/* How often the thread's device has been reset: what was allocated on it before the last time is
 * gone. */
unsigned simrt_device_resets(void);

void simrt_device_mark_sticky(cudaError_t error);
cudaError_t simrt_device_sticky(void);

/* cudaDeviceSynchronize() and its like, which exist under two names: whole calls, counted as
 * `call`. */
cudaError_t simrt_device_synchronize(enum simrt_call call);
cudaError_t simrt_device_reset(enum simrt_call call);
cudaError_t simrt_device_get_limit(enum simrt_call call, size_t *value, enum cudaLimit limit);
cudaError_t simrt_device_set_limit(enum simrt_call call, enum cudaLimit limit, size_t value);
cudaError_t simrt_device_get_cache_config(enum simrt_call call, enum cudaFuncCache *config);
cudaError_t simrt_device_set_cache_config(enum simrt_call call, enum cudaFuncCache config);

#endif
