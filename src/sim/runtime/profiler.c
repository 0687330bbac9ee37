/* SPDX-License-Identifier: MIT
 * profiler.c - starting and stopping a profiler that is not there, which succeeds. */
#include "call.h"

SIMRT_API cudaError_t cudaProfilerStart(void);
SIMRT_API cudaError_t cudaProfilerStop(void);

cudaError_t cudaProfilerStart(void)
{
    return simrt_leave(simrt_enter(SIMRT_CALL_cudaProfilerStart, SIMRT_CONTEXT));
}

cudaError_t cudaProfilerStop(void)
{
    return simrt_leave(simrt_enter(SIMRT_CALL_cudaProfilerStop, SIMRT_CONTEXT));
}
