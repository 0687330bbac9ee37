/* SPDX-License-Identifier: MIT
 * profiler_api.c - starting and stopping a profiler that is not there, which succeeds. */
#include "context.h"

__attribute__((visibility("default"))) CUresult cuProfilerStart(void);
__attribute__((visibility("default"))) CUresult cuProfilerStop(void);

CUresult cuProfilerStart(void)
{
    struct sim_context *context;

    return sim_enter_context(CALL_cuProfilerStart, &context);
}

CUresult cuProfilerStop(void)
{
    struct sim_context *context;

    return sim_enter_context(CALL_cuProfilerStop, &context);
}
