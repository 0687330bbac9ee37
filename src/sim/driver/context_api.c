/* SPDX-License-Identifier: MIT
 * context_api.c - context management of the driver API. */
#include "api.h"
#include "capture.h"
#include "context.h"
#include "device.h"
#include "lock.h"
#include "pool.h"
#include "stream.h"

/* What cuCtxGetApiVersion has answered for every context made since CUDA 3.2. */
#define API_VERSION 3020

static CUresult create(enum sim_call call, CUcontext *pctx, unsigned flags, CUdevice dev)
{
    CUresult status = sim_enter_ready(call);
    struct sim_device *device;
    struct sim_context *context;

    if (status != CUDA_SUCCESS)
        return status;
    if (!pctx || !sim_context_flags_valid(flags))
        return CUDA_ERROR_INVALID_VALUE;
    device = sim_device_find(dev);
    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    sim_lock();
    context = sim_context_new_locked(device, flags, false);
    sim_unlock();
    if (!context)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (!sim_context_push(context)) {
        sim_lock();
        sim_context_end_and_unlock(context);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *pctx = (CUcontext)context;
    return CUDA_SUCCESS;
}

CUresult cuCtxCreate(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
    return create(CALL_cuCtxCreate, pctx, flags, dev);
}

CUresult cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
    return create(CALL_cuCtxCreate_v2, pctx, flags, dev);
}

/* Execution affinity needs MPS; without it the parameters are refused. */
CUresult cuCtxCreate_v3(CUcontext *pctx, CUexecAffinityParam *paramsArray, int numParams,
                        unsigned int flags, CUdevice dev)
{
    if (paramsArray || numParams != 0) {
        CUresult status = sim_enter_ready(CALL_cuCtxCreate_v3);

        return status == CUDA_SUCCESS ? CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY : status;
    }
    return create(CALL_cuCtxCreate_v3, pctx, flags, dev);
}

CUresult cuCtxCreate_v4(CUcontext *pctx, CUctxCreateParams *ctxCreateParams, unsigned int flags,
                        CUdevice dev)
{
    if (ctxCreateParams && (ctxCreateParams->numExecAffinityParams != 0 ||
                            ctxCreateParams->execAffinityParams || ctxCreateParams->cigParams)) {
        CUresult status = sim_enter_ready(CALL_cuCtxCreate_v4);

        return status == CUDA_SUCCESS ? CUDA_ERROR_NOT_SUPPORTED : status;
    }
    return create(CALL_cuCtxCreate_v4, pctx, flags, dev);
}

static CUresult destroy(enum sim_call call, CUcontext ctx)
{
    CUresult status = sim_enter_ready(call);
    struct sim_context *context;

    if (status != CUDA_SUCCESS)
        return status;
    context = sim_context_find(ctx);
    if (!context || context->primary)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (sim_context_current() == context)
        (void)sim_context_pop();
    sim_lock();
    sim_context_end_and_unlock(context);
    return CUDA_SUCCESS;
}

CUresult cuCtxDestroy(CUcontext ctx)
{
    return destroy(CALL_cuCtxDestroy, ctx);
}

CUresult cuCtxDestroy_v2(CUcontext ctx)
{
    return destroy(CALL_cuCtxDestroy_v2, ctx);
}

/* The older way to share a context: whoever attaches detaches, and the last one destroys it. The
 * primary one is retained and released instead. */
CUresult cuCtxAttach(CUcontext *pctx, unsigned int flags)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(CALL_cuCtxAttach, &context);

    if (status != CUDA_SUCCESS)
        return status;
    if (!pctx || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (context->primary)
        return CUDA_ERROR_INVALID_CONTEXT;
    sim_lock();
    context->attached++;
    sim_unlock();
    *pctx = (CUcontext)context;
    return CUDA_SUCCESS;
}

CUresult cuCtxDetach(CUcontext ctx)
{
    CUresult status = sim_enter_ready(CALL_cuCtxDetach);
    struct sim_context *context;

    if (status != CUDA_SUCCESS)
        return status;
    context = sim_context_find(ctx);
    if (!context || context->primary || context != sim_context_current())
        return CUDA_ERROR_INVALID_CONTEXT;
    sim_lock();
    if (context->attached > 0) {
        context->attached--;
        sim_unlock();
        return CUDA_SUCCESS;
    }
    (void)sim_context_pop();
    sim_context_end_and_unlock(context);
    return CUDA_SUCCESS;
}

static CUresult push(enum sim_call call, CUcontext ctx)
{
    CUresult status = sim_enter_ready(call);
    struct sim_context *context;

    if (status != CUDA_SUCCESS)
        return status;
    context = sim_context_find(ctx);
    if (!context)
        return CUDA_ERROR_INVALID_CONTEXT;
    return sim_context_push(context) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuCtxPushCurrent(CUcontext ctx)
{
    return push(CALL_cuCtxPushCurrent, ctx);
}

CUresult cuCtxPushCurrent_v2(CUcontext ctx)
{
    return push(CALL_cuCtxPushCurrent_v2, ctx);
}

static CUresult pop(enum sim_call call, CUcontext *pctx)
{
    CUresult status = sim_enter_ready(call);
    struct sim_context *context;

    if (status != CUDA_SUCCESS)
        return status;
    context = sim_context_pop();
    if (!context)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (pctx)
        *pctx = (CUcontext)context;
    return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent(CUcontext *pctx)
{
    return pop(CALL_cuCtxPopCurrent, pctx);
}

CUresult cuCtxPopCurrent_v2(CUcontext *pctx)
{
    return pop(CALL_cuCtxPopCurrent_v2, pctx);
}

CUresult cuCtxSetCurrent(CUcontext ctx)
{
    CUresult status = sim_enter_ready(CALL_cuCtxSetCurrent);
    struct sim_context *context;

    if (status != CUDA_SUCCESS)
        return status;
    context = sim_context_find(ctx);
    if (ctx && !context)
        return CUDA_ERROR_INVALID_CONTEXT;
    sim_context_replace(context);
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *pctx)
{
    CUresult status = sim_enter_ready(CALL_cuCtxGetCurrent);

    if (status != CUDA_SUCCESS)
        return status;
    if (!pctx)
        return CUDA_ERROR_INVALID_VALUE;
    *pctx = (CUcontext)sim_context_current();
    return CUDA_SUCCESS;
}

/* Enters a call about `ctx`, or about the current context where that is NULL. A sticky error does
 * not matter to a question. */
static CUresult enter_about(enum sim_call call, CUcontext ctx, struct sim_context **context)
{
    CUresult status = sim_enter_ready(call);

    if (status != CUDA_SUCCESS)
        return status;
    *context = ctx ? sim_context_find(ctx) : sim_context_current();
    if (!*context)
        return CUDA_ERROR_INVALID_CONTEXT;
    return (*context)->alive ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

static CUresult get_device(enum sim_call call, CUdevice *device, CUcontext ctx)
{
    struct sim_context *context;
    CUresult status = enter_about(call, ctx, &context);

    if (status != CUDA_SUCCESS)
        return status;
    if (!device)
        return CUDA_ERROR_INVALID_VALUE;
    *device = context->device->ordinal;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device)
{
    return get_device(CALL_cuCtxGetDevice, device, NULL);
}

CUresult cuCtxGetDevice_v2(CUdevice *device, CUcontext ctx)
{
    return get_device(CALL_cuCtxGetDevice_v2, device, ctx);
}

static CUresult synchronise(enum sim_call call, CUcontext ctx)
{
    struct sim_context *context;
    CUresult status = enter_about(call, ctx, &context);

    if (status != CUDA_SUCCESS)
        return status;
    sim_lock();
    status = sim_capture_ask_context_locked(context);
    if (status == CUDA_SUCCESS)
        sim_context_drain_locked(context);
    sim_pools_settle_locked();
    sim_unlock();
    return status == CUDA_SUCCESS ? (CUresult)context->sticky : status;
}

CUresult cuCtxSynchronize(void)
{
    return synchronise(CALL_cuCtxSynchronize, NULL);
}

CUresult cuCtxSynchronize_v2(CUcontext ctx)
{
    return synchronise(CALL_cuCtxSynchronize_v2, ctx);
}

CUresult cuCtxGetFlags(unsigned int *flags)
{
    struct sim_context *context;
    CUresult status = enter_about(CALL_cuCtxGetFlags, NULL, &context);

    if (status != CUDA_SUCCESS)
        return status;
    if (!flags)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = context->flags;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetFlags(unsigned int flags)
{
    struct sim_context *context;
    CUresult status = enter_about(CALL_cuCtxSetFlags, NULL, &context);

    if (status != CUDA_SUCCESS)
        return status;
    if (!sim_context_flags_valid(flags))
        return CUDA_ERROR_INVALID_VALUE;
    context->flags = flags;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetId(CUcontext ctx, unsigned long long *ctxId)
{
    struct sim_context *context;
    CUresult status = enter_about(CALL_cuCtxGetId, ctx, &context);

    if (status != CUDA_SUCCESS)
        return status;
    if (!ctxId)
        return CUDA_ERROR_INVALID_VALUE;
    *ctxId = context->id;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetApiVersion(CUcontext ctx, unsigned int *version)
{
    struct sim_context *context;
    CUresult status = enter_about(CALL_cuCtxGetApiVersion, ctx, &context);

    if (status != CUDA_SUCCESS)
        return status;
    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    *version = API_VERSION;
    return CUDA_SUCCESS;
}

static bool limit_known(CUlimit limit)
{
    return limit >= 0 && limit < CU_LIMIT_MAX && limit < SIM_LIMITS;
}

CUresult cuCtxGetLimit(size_t *pvalue, CUlimit limit)
{
    struct sim_context *context;
    CUresult status = enter_about(CALL_cuCtxGetLimit, NULL, &context);

    if (status != CUDA_SUCCESS)
        return status;
    if (!pvalue)
        return CUDA_ERROR_INVALID_VALUE;
    if (!limit_known(limit))
        return CUDA_ERROR_UNSUPPORTED_LIMIT;
    *pvalue = context->limits[limit];
    return CUDA_SUCCESS;
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value)
{
    struct sim_context *context;
    CUresult status = enter_about(CALL_cuCtxSetLimit, NULL, &context);

    if (status != CUDA_SUCCESS)
        return status;
    if (!limit_known(limit))
        return CUDA_ERROR_UNSUPPORTED_LIMIT;
    context->limits[limit] = value;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCacheConfig(CUfunc_cache *pconfig)
{
    struct sim_context *context;
    CUresult status = enter_about(CALL_cuCtxGetCacheConfig, NULL, &context);

    if (status != CUDA_SUCCESS)
        return status;
    if (!pconfig)
        return CUDA_ERROR_INVALID_VALUE;
    *pconfig = context->cache_config;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCacheConfig(CUfunc_cache config)
{
    struct sim_context *context;
    CUresult status = enter_about(CALL_cuCtxSetCacheConfig, NULL, &context);

    if (status == CUDA_SUCCESS)
        context->cache_config = config;
    return status;
}

CUresult cuCtxGetSharedMemConfig(CUsharedconfig *pConfig)
{
    struct sim_context *context;
    CUresult status = enter_about(CALL_cuCtxGetSharedMemConfig, NULL, &context);

    if (status != CUDA_SUCCESS)
        return status;
    if (!pConfig)
        return CUDA_ERROR_INVALID_VALUE;
    *pConfig = context->shared_config;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetSharedMemConfig(CUsharedconfig config)
{
    struct sim_context *context;
    CUresult status = enter_about(CALL_cuCtxSetSharedMemConfig, NULL, &context);

    if (status == CUDA_SUCCESS)
        context->shared_config = config;
    return status;
}

CUresult cuCtxGetStreamPriorityRange(int *leastPriority, int *greatestPriority)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(CALL_cuCtxGetStreamPriorityRange, &context);

    if (status != CUDA_SUCCESS)
        return status;
    if (leastPriority)
        *leastPriority = SIM_PRIORITY_LEAST;
    if (greatestPriority)
        *greatestPriority = SIM_PRIORITY_GREATEST;
    return CUDA_SUCCESS;
}
