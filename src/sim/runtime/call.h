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
 * A function that works in a stream exists twice, under its own name and under that with _ptds or
 * _ptsz, which a program compiled for per-thread default streams calls. Their files (SC_TWINS in
 * CMakeLists.txt) are compiled twice, the second time as such a program is: CUDA's header then
 * renames the functions, SIMRT_CALL(cudaFoo) is the index of the name in force, and SIMRT_DRIVER
 * the driver's functions that belong to it.
 *
 * After this object's destructor every call answers cudaErrorCudartUnloading; in a child forked
 * after the driver was initialised, cudaErrorInitializationError, before any lock is touched. */
#ifndef SIMRT_CALL_H
#define SIMRT_CALL_H

#include "api.h"
#include "bind.h"
#include "counters.h"
#include "error.h"

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define SIMRT_DRIVER     simrt_per_thread_table
#define SIMRT_TWIN(name) name##_ptsz /* for a name that the header does not know to rename */
#else
#define SIMRT_DRIVER     simrt_driver_table
#define SIMRT_TWIN(name) name
#endif
#define SIMRT_CALL(name)        SIMRT_CALL_PASTED(name)
#define SIMRT_CALL_PASTED(name) SIMRT_CALL_##name

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
