/* SPDX-License-Identifier: MIT */
#include "context.h"

#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "lock.h"
#include "memory.h"
#include "pool.h"
#include "stream.h"

#define STACK_DEPTH 64

static struct sim_context *contexts;
static uint64_t last_id;

static _Thread_local struct {
    struct sim_context *items[STACK_DEPTH];
    unsigned depth;
} stack;

struct sim_context *sim_context_current(void)
{
    return stack.depth > 0 ? stack.items[stack.depth - 1] : NULL;
}

CUresult sim_context_usable(struct sim_context **context)
{
    struct sim_context *current = sim_context_current();

    if (!current)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!atomic_load(&current->alive))
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    *context = current;
    return (CUresult)atomic_load(&current->sticky);
}

CUresult sim_error(struct sim_context *context, CUresult status)
{
    switch (status) {
    case CUDA_ERROR_CONTAINED:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_TENSOR_MEMORY_LEAK:
    case CUDA_ERROR_MPS_CLIENT_TERMINATED:
    case CUDA_ERROR_EXTERNAL_DEVICE:
        if (context && atomic_load(&context->alive))
            atomic_store(&context->sticky, (int)status);
        break;
    default:
        break;
    }
    return status;
}

struct sim_context *sim_context_find(CUcontext handle)
{
    struct sim_context *context;

    sim_lock();
    context = sim_handle_find_locked(handle, SIM_CONTEXT);
    sim_unlock();
    return context && atomic_load(&context->alive) ? context : NULL;
}

bool sim_context_push(struct sim_context *context)
{
    if (stack.depth == STACK_DEPTH)
        return false;
    stack.items[stack.depth++] = context;
    atomic_fetch_add(&context->stacked, 1);
    return true;
}

struct sim_context *sim_context_pop(void)
{
    struct sim_context *context = sim_context_current();

    if (context) {
        stack.depth--;
        atomic_fetch_sub(&context->stacked, 1);
    }
    return context;
}

void sim_context_replace(struct sim_context *context)
{
    (void)sim_context_pop();
    if (context)
        (void)sim_context_push(context);
}

static void reset(struct sim_context *context, unsigned flags)
{
    static const size_t limits[SIM_LIMITS] = {
        [CU_LIMIT_STACK_SIZE] = 1024,
        [CU_LIMIT_PRINTF_FIFO_SIZE] = 7u << 20,
        [CU_LIMIT_MALLOC_HEAP_SIZE] = 8u << 20,
        [CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH] = 2,
        [CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048,
        [CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64,
    };

    context->id = ++last_id;
    context->flags = flags;
    context->cache_config = CU_FUNC_CACHE_PREFER_NONE;
    context->shared_config = CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE;
    memcpy(context->limits, limits, sizeof limits);
    atomic_store(&context->sticky, CUDA_SUCCESS);
    atomic_store(&context->alive, true);
}

/* A dead context of the device that nobody and nothing knows any more; NULL: none. */
static struct sim_context *find_unused(const struct sim_device *device)
{
    struct sim_context *context = contexts;

    while (context &&
           (context->primary || context->device != device || context->alive || context->ending ||
            context->stacked > 0 || context->streams || context->blocks))
        context = context->next;
    return context;
}

/* A made context's struct once more. */
static struct sim_context *make_again(struct sim_context *context, unsigned flags)
{
    context->legacy = sim_stream_new_locked(context, SIM_STREAM_LEGACY, 0, 0);
    if (!context->legacy)
        return NULL;
    context->attached = 0;
    reset(context, flags);
    return context;
}

struct sim_context *sim_context_new_locked(struct sim_device *device, unsigned flags, bool primary)
{
    struct sim_context *context = primary ? NULL : find_unused(device);

    if (context)
        return make_again(context, flags);
    context = calloc(1, sizeof *context);
    if (!context)
        return NULL;
    context->object.kind = SIM_CONTEXT;
    context->device = device;
    context->primary = primary;
    context->legacy = sim_stream_new_locked(context, SIM_STREAM_LEGACY, 0, 0);
    if (!context->legacy)
        goto free_context;
    if (!sim_handle_add_locked(&context->object))
        goto close_stream;
    reset(context, flags);
    context->next = contexts;
    contexts = context;
    return context;

close_stream:
    sim_stream_close_locked(context->legacy);
free_context:
    free(context);
    return NULL;
}

void sim_context_revive_locked(struct sim_context *context, unsigned flags)
{
    while (context->ending)
        sim_wait_locked();
    if (!context->alive)
        reset(context, flags);
}

void sim_context_end_and_unlock(struct sim_context *context)
{
    struct sim_block *blocks;

    if (!atomic_exchange(&context->alive, false)) {
        sim_unlock();
        return;
    }
    context->ending = true;
    sim_context_drain_locked(context);
    sim_handle_close_all_locked(context);
    sim_streams_end_locked(context);
    sim_pools_end_locked(context);
    blocks = sim_memory_end_locked(context);
    context->ending = false;
    sim_progress_locked();
    sim_unlock();
    sim_memory_discard(blocks);
}

struct sim_context *sim_contexts_locked(void)
{
    return contexts;
}

bool sim_context_flags_valid(unsigned flags)
{
    unsigned schedule = flags & CU_CTX_SCHED_MASK;

    return (flags & ~(unsigned)CU_CTX_FLAGS_MASK) == 0 &&
           (schedule == CU_CTX_SCHED_AUTO || schedule == CU_CTX_SCHED_SPIN ||
            schedule == CU_CTX_SCHED_YIELD || schedule == CU_CTX_SCHED_BLOCKING_SYNC);
}
