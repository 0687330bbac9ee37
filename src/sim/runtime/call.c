/* SPDX-License-Identifier: MIT
 * call.c - see call.h. */
#include "call.h"

#include "device.h"
#include "module.h"
#include "sample.h"

#include <pthread.h>

static _Atomic bool unloading;
static _Atomic bool forked;

static _Thread_local cudaError_t last_error;

bool simrt_is_alive(void)
{
    return !atomic_load(&unloading) && !atomic_load(&forked);
}

static cudaError_t prepare(enum simrt_need need)
{
    cudaError_t error = cudaSuccess;

    if (atomic_load(&unloading))
        return cudaErrorCudartUnloading;
    if (need == SIMRT_NOTHING)
        return cudaSuccess;
    if (atomic_load(&forked))
        return cudaErrorInitializationError;
    if (need == SIMRT_BOUND)
        return simrt_bind();
    error = simrt_bind_initialised();
    if (error == cudaSuccess && need == SIMRT_CONTEXT)
        error = simrt_device_enter();
    return error;
}

cudaError_t simrt_enter(enum simrt_call call, enum simrt_need need)
{
    simrt_count(call);
    return prepare(need);
}

cudaError_t simrt_leave(cudaError_t error)
{
    if (error != cudaSuccess) {
        last_error = error;
        if (simrt_error_is_sticky(error))
            simrt_device_mark_sticky(error);
    }
    return error;
}

SIMRT_API cudaError_t cudaGetLastError(void)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaGetLastError, SIMRT_NOTHING);

    if (error == cudaSuccess)
        error = simrt_device_sticky();
    if (error == cudaSuccess)
        error = last_error;
    last_error = cudaSuccess;
    return error;
}

SIMRT_API cudaError_t cudaPeekAtLastError(void)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaPeekAtLastError, SIMRT_NOTHING);

    if (error == cudaSuccess)
        error = simrt_device_sticky();
    return error == cudaSuccess ? last_error : error;
}

/* The driver's threads do not exist in the child and its contexts are of no use there; a child of a
 * parent that never touched the driver may use CUDA as if it had started afresh. Only the registry
 * can be in use before that (another thread opening a library of kernels), so only its lock is
 * carried across. */
static void fork_child(void)
{
    simrt_module_unlock();
    if (simrt_bind_touched()) {
        atomic_store(&forked, true);
        simrt_sample_abandon();
    }
}

__attribute__((constructor)) static void load(void)
{
    pthread_atfork(simrt_module_lock, simrt_module_unlock, fork_child);
}

__attribute__((destructor)) static void unload(void)
{
    atomic_store(&unloading, true);
    simrt_sample_flush();
}
