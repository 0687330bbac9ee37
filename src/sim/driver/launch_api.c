/* SPDX-License-Identifier: MIT
 * launch_api.c - kernel launches of the driver API.
 *
 * A launch copies the argument bytes it knows the sizes of (those of a registered kernel) when it
 * is enqueued, and asks the kernel what it will touch; that is judged when it runs, and then the
 * registered host function does the kernel's work. */
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "context.h"
#include "kernel.h"
#include "launch.h"
#include "lock.h"
#include "memory.h"
#include "module.h"
#include "report.h"
#include "settings.h"
#include "stream.h"

#define ARGUMENT_ALIGN 16

struct launch_op {
    struct sim_op op;
    struct sim_registration *kernel; /* NULL: it does nothing */
    simcuda_launch launch;
    void **arguments;           /* into the bytes behind it */
    struct sim_touch touches[]; /* none of an unregistered kernel, else room for the most */
};

/* What a caller asked for. */
struct launch_call {
    enum sim_call call;
    struct sim_kernel_call kernel;
    CUstream stream;
    bool per_thread;
};

static size_t align_up(size_t bytes, size_t align)
{
    return (bytes + align - 1) / align * align;
}

/* The alignment of an argument of which only the size is known. */
static size_t natural_align(size_t bytes)
{
    size_t align = bytes & (~bytes + 1);

    return align == 0 ? 1 : align < ARGUMENT_ALIGN ? align : ARGUMENT_ALIGN;
}

static void ask_touches(struct launch_op *launch)
{
    const struct sim_registration *kernel = launch->kernel;
    simcuda_range ranges[SIMCUDA_MAX_RANGES];
    unsigned count = kernel->access(&launch->launch, launch->arguments, ranges);

    if (count > SIMCUDA_MAX_RANGES)
        count = SIMCUDA_MAX_RANGES;
    for (unsigned i = 0; i < count; i++)
        launch->touches[i] = (struct sim_touch){(uintptr_t)ranges[i].address, ranges[i].bytes,
                                                ranges[i].writes != 0};
    launch->op.what = kernel->name;
    launch->op.touches = launch->touches;
    launch->op.touch_count = count;
}

static void run_launch(struct sim_op *op, const struct sim_claim *claims)
{
    const struct launch_op *launch = (struct launch_op *)op;

    (void)claims;
    if (!launch->kernel || !launch->kernel->access)
        sim_report_unchecked();
    if (launch->kernel)
        launch->kernel->function(&launch->launch, launch->arguments);
    sim_spend_ns(sim_settings()->kernel_ns);
}

static void release_launch(struct sim_op *op)
{
    struct launch_op *launch = (struct launch_op *)op;

    if (launch->kernel)
        sim_registration_put(launch->kernel);
    free(launch);
}

/* The packed parameter buffer of `extra`, and its size; NULL: malformed. */
static const unsigned char *packed_parameters(void **extra, size_t *bytes)
{
    const unsigned char *buffer = NULL;

    *bytes = 0;
    for (size_t i = 0; extra[i] != CU_LAUNCH_PARAM_END; i += 2)
        if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            buffer = extra[i + 1];
        else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE)
            *bytes = *(const size_t *)extra[i + 1];
        else
            return NULL;
    return buffer;
}

/* Copies the caller's arguments behind launch->arguments. */
static CUresult copy_arguments(struct launch_op *launch, const struct sim_kernel_call *call,
                               unsigned char *to)
{
    const struct sim_registration *kernel = launch->kernel;
    const unsigned char *packed = NULL;
    size_t packed_bytes = 0, offset = 0;

    if (kernel->count == 0)
        return CUDA_SUCCESS;
    if (!call->parameters) {
        packed = call->extra ? packed_parameters(call->extra, &packed_bytes) : NULL;
        if (!packed)
            return CUDA_ERROR_INVALID_VALUE;
    }
    for (unsigned i = 0; i < kernel->count; i++) {
        size_t bytes = kernel->argument_bytes[i];
        const void *from = packed ? NULL : call->parameters[i];

        if (packed) {
            offset = align_up(offset, natural_align(bytes));
            if (offset > packed_bytes || bytes > packed_bytes - offset)
                return CUDA_ERROR_INVALID_VALUE;
            from = packed + offset;
            offset += bytes;
        }
        if (!from)
            return CUDA_ERROR_INVALID_VALUE;
        memcpy(to, from, bytes);
        launch->arguments[i] = to;
        to += align_up(bytes, ARGUMENT_ALIGN);
    }
    return CUDA_SUCCESS;
}

static CUresult new_launch(const struct sim_kernel_call *call, const char *name,
                           struct sim_op **out)
{
    struct sim_registration *kernel = sim_registration_get(name);
    size_t pointers = kernel ? align_up(kernel->count * sizeof(void *), ARGUMENT_ALIGN) : 0;
    size_t touches = kernel && kernel->access ? SIMCUDA_MAX_RANGES : 0;
    size_t head =
        align_up(sizeof(struct launch_op) + touches * sizeof(struct sim_touch), ARGUMENT_ALIGN);
    size_t bytes = 0;
    struct launch_op *launch;
    CUresult status;

    for (unsigned i = 0; kernel && i < kernel->count; i++)
        bytes += align_up(kernel->argument_bytes[i], ARGUMENT_ALIGN);
    launch = malloc(head + pointers + bytes);
    if (!launch) {
        if (kernel)
            sim_registration_put(kernel);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    launch->op = (struct sim_op){
        .run = run_launch, .release = release_launch, .node = CU_GRAPH_NODE_TYPE_KERNEL};
    launch->kernel = kernel;
    launch->launch = call->launch;
    launch->arguments = (void **)((unsigned char *)launch + head);
    status = kernel ? copy_arguments(launch, call, (unsigned char *)launch + head + pointers)
                    : CUDA_SUCCESS;
    if (status != CUDA_SUCCESS)
        release_launch(&launch->op);
    else
        *out = &launch->op;
    if (status == CUDA_SUCCESS && touches > 0)
        ask_touches(launch);
    return status;
}

static bool geometry_valid(const simcuda_launch *launch)
{
    const unsigned *grid = launch->grid;
    const unsigned *block = launch->block;

    if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0 || grid[0] > 2147483647u || grid[1] > 65535 ||
        grid[2] > 65535)
        return false;
    if (block[0] == 0 || block[1] == 0 || block[2] == 0 || block[0] > 1024 || block[1] > 1024 ||
        block[2] > 64)
        return false;
    return (size_t)block[0] * block[1] * block[2] <= 1024;
}

/* The function's name, copied, since the module may be unloaded; why it cannot be launched
 * otherwise. */
static CUresult name_of(const struct sim_kernel_call *call, char **name)
{
    const struct sim_function *function;
    CUresult status = CUDA_SUCCESS;

    sim_lock();
    function = sim_function_find_locked(call->function);
    if (!function)
        status = CUDA_ERROR_INVALID_HANDLE;
    else if (!geometry_valid(&call->launch) ||
             call->launch.shared_bytes > (unsigned)function->most_dynamic_shared)
        status = CUDA_ERROR_INVALID_VALUE;
    else
        *name = strdup(function->name);
    sim_unlock();
    return status == CUDA_SUCCESS && !*name ? CUDA_ERROR_OUT_OF_MEMORY : status;
}

CUresult sim_launch_new(const struct sim_kernel_call *call, struct sim_op **op)
{
    char *name = NULL;
    CUresult status;

    if (call->parameters && call->extra)
        return CUDA_ERROR_INVALID_VALUE;
    status = name_of(call, &name);
    if (status == CUDA_SUCCESS)
        status = new_launch(call, name, op);
    free(name);
    return status;
}

static CUresult launch(const struct launch_call *call)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(call->call, &context);
    struct sim_op *op = NULL;

    if (status == CUDA_SUCCESS)
        status = sim_launch_new(&call->kernel, &op);
    if (status != CUDA_SUCCESS)
        return status;
    sim_spend_ns(sim_settings()->launch_ns);
    return sim_enqueue(context, call->stream, call->per_thread, op, false);
}

#define LAUNCH(name, thread)                                                                       \
    CUresult name(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,                      \
                  unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY,           \
                  unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream,           \
                  void **kernelParams, void **extra)                                               \
    {                                                                                              \
        const simcuda_launch geometry = {                                                          \
            {gridDimX, gridDimY, gridDimZ}, {blockDimX, blockDimY, blockDimZ}, sharedMemBytes};    \
                                                                                                   \
        return launch(&(struct launch_call){.call = CALL_##name,                                   \
                                            .kernel = {f, geometry, kernelParams, extra},          \
                                            .stream = hStream,                                     \
                                            .per_thread = (thread)});                              \
    }

#define COOPERATIVE(name, thread)                                                                  \
    CUresult name(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,                      \
                  unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY,           \
                  unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream,           \
                  void **kernelParams)                                                             \
    {                                                                                              \
        const simcuda_launch geometry = {                                                          \
            {gridDimX, gridDimY, gridDimZ}, {blockDimX, blockDimY, blockDimZ}, sharedMemBytes};    \
                                                                                                   \
        return launch(&(struct launch_call){.call = CALL_##name,                                   \
                                            .kernel = {f, geometry, kernelParams, NULL},           \
                                            .stream = hStream,                                     \
                                            .per_thread = (thread)});                              \
    }

LAUNCH(cuLaunchKernel, false)
LAUNCH(cuLaunchKernel_ptsz, true)
COOPERATIVE(cuLaunchCooperativeKernel, false)
COOPERATIVE(cuLaunchCooperativeKernel_ptsz, true)

/* Attributes ask for placement and overlap that make no difference here. */
static CUresult launch_ex(enum sim_call call, const CUlaunchConfig *config, CUfunction f,
                          void **parameters, void **extra, bool per_thread)
{
    struct launch_call what = {.call = call,
                               .kernel = {.function = f, .parameters = parameters, .extra = extra},
                               .per_thread = per_thread};

    if (config) /* without one the geometry is 0, which is refused */
        what.kernel.launch =
            (simcuda_launch){{config->gridDimX, config->gridDimY, config->gridDimZ},
                             {config->blockDimX, config->blockDimY, config->blockDimZ},
                             config->sharedMemBytes};
    if (config)
        what.stream = config->hStream;
    return launch(&what);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **kernelParams,
                          void **extra)
{
    return launch_ex(CALL_cuLaunchKernelEx, config, f, kernelParams, extra, false);
}

CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction f, void **kernelParams,
                               void **extra)
{
    return launch_ex(CALL_cuLaunchKernelEx_ptsz, config, f, kernelParams, extra, true);
}
