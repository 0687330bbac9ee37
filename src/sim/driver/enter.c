/* SPDX-License-Identifier: MIT */
#include "api.h"
#include "capture.h"
#include "context.h"
#include "process.h"
#include "unsupported.h"

CUresult sim_enter(enum sim_call call)
{
    CUresult status;

    sim_process_start();
    if (sim_process_forked())
        return CUDA_ERROR_NOT_INITIALIZED;
    status = (CUresult)sim_calls_enter(call);
    return status == CUDA_SUCCESS ? status : sim_error(sim_context_current(), status);
}

CUresult sim_enter_ready(enum sim_call call)
{
    CUresult status = sim_enter(call);

    if (status != CUDA_SUCCESS)
        return status;
    if (!sim_process_initialised())
        return CUDA_ERROR_NOT_INITIALIZED;
    return sim_process_worker() ? CUDA_ERROR_NOT_PERMITTED : CUDA_SUCCESS;
}

CUresult sim_enter_context(enum sim_call call, struct sim_context **context)
{
    CUresult status = sim_enter_ready(call);

    return status == CUDA_SUCCESS ? sim_context_usable(context) : status;
}

CUresult sim_enter_unsafe(enum sim_call call, struct sim_context **context)
{
    CUresult status = sim_enter_context(call, context);

    return status == CUDA_SUCCESS ? sim_capture_unsafe() : status;
}

int sim_unsupported(enum sim_call call)
{
    CUresult status;

    sim_calls_unsupported(call);
    status = sim_enter(call);
    return (int)(status == CUDA_SUCCESS ? CUDA_ERROR_NOT_SUPPORTED : status);
}
