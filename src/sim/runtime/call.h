/* SPDX-License-Identifier: MIT
 * call.h - how every function of libcudart begins and ends.
 *
 *     cudaError_t error = simrt_enter(SIMRT_CALL_cudaFoo, SIMRT_CONTEXT);
 *
 *     if (error == cudaSuccess)
 *         error = ...;
 *     return simrt_leave(error);
 *
 * simrt_enter() counts the call and makes ready what it needs; simrt_leave() records the thread's
 * last error. No function of libcudart calls another exported one: the call would be counted twice,
 * and whoever preloads that name would see a call the program never made.
 *
 * After this object's destructor every call answers cudaErrorCudartUnloading; in a child forked
 * after the driver was initialised, cudaErrorInitializationError, before any lock is touched. */
#ifndef SIMRT_CALL_H
#define SIMRT_CALL_H

#include "api.h"
#include "bind.h"
#include "counters.h"
#include "error.h"

enum simrt_need {
    SIMRT_NOTHING,     /* works without a driver */
    SIMRT_BOUND,       /* a driver is loaded */
    SIMRT_INITIALISED, /* and initialised */
    SIMRT_CONTEXT,     /* and the calling thread has a usable context */
};

cudaError_t simrt_enter(enum simrt_call call, enum simrt_need need);
cudaError_t simrt_leave(cudaError_t error);

/* Whether the driver may still be called: neither unloading nor a forked child. */
bool simrt_is_alive(void);

#endif
