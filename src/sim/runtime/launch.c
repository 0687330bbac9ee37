/* SPDX-License-Identifier: MIT
 * launch.c - kernel launches, and the stub code nvcc makes for <<<>>>.
 *
 * A launch is three calls: the configuration is pushed where <<<>>> stands, popped in the kernel's
 * stub, which then launches by its own address or by the handle that __cudaGetKernel() gave it
 * once. Copying an argument may launch in between, hence a stack. */
#include "call.h"
#include "device.h"
#include "module.h"
#include "nvcc.h"

enum { MAX_PUSHED = 32 };

typedef struct configuration {
    dim3 grid;
    dim3 block;
    size_t shared_bytes;
    cudaStream_t stream;
} configuration;

static _Thread_local struct {
    configuration stack[MAX_PUSHED];
    unsigned depth;
} pushed;

/* Nonzero makes the program skip the launch. */
SIMRT_API unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes,
                                               struct CUstream_st *stream)
{
    cudaError_t error = simrt_enter(SIMRT_CALL___cudaPushCallConfiguration, SIMRT_NOTHING);

    if (error == cudaSuccess && pushed.depth == MAX_PUSHED)
        error = cudaErrorInvalidConfiguration;
    if (error == cudaSuccess)
        pushed.stack[pushed.depth++] = (configuration){grid, block, shared_bytes, stream};
    return (unsigned)simrt_leave(error);
}

SIMRT_API cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes,
                                                 void *stream)
{
    cudaError_t error = simrt_enter(SIMRT_CALL___cudaPopCallConfiguration, SIMRT_NOTHING);

    if (error == cudaSuccess && pushed.depth == 0)
        error = cudaErrorMissingConfiguration;
    if (error == cudaSuccess) {
        const configuration *top = &pushed.stack[--pushed.depth];

        *grid = top->grid;
        *block = top->block;
        *shared_bytes = top->shared_bytes;
        *(cudaStream_t *)stream = top->stream;
    }
    return simrt_leave(error);
}

static bool fits(const dim3 *size, const int most[3])
{
    return size->x >= 1 && size->y >= 1 && size->z >= 1 && size->x <= (unsigned)most[0] &&
           size->y <= (unsigned)most[1] && size->z <= (unsigned)most[2];
}

/* The driver would call these an invalid value, the runtime has a name of its own for them. */
static cudaError_t check(const configuration *config)
{
    const simrt_limits *limits = simrt_device_limits();
    unsigned long long threads =
        (unsigned long long)config->block.x * config->block.y * config->block.z;

    if (!fits(&config->grid, limits->grid) || !fits(&config->block, limits->block) ||
        threads > (unsigned long long)limits->block_threads)
        return cudaErrorInvalidConfiguration;
    return config->shared_bytes > UINT32_MAX ? cudaErrorInvalidValue : cudaSuccess;
}

/* A CUkernel passes for a CUfunction in every launch of the driver. */
static cudaError_t launch(CUkernel kernel, const configuration *config, void **arguments)
{
    cudaError_t error = check(config);

    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuLaunchKernel(
            (CUfunction)kernel, config->grid.x, config->grid.y, config->grid.z, config->block.x,
            config->block.y, config->block.z, (unsigned)config->shared_bytes, config->stream,
            arguments, NULL));
    return error;
}

SIMRT_API cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *function)
{
    cudaError_t error = simrt_enter(SIMRT_CALL___cudaGetKernel, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = simrt_module_find_kernel(function, kernel);
    return simrt_leave(error);
}

SIMRT_API cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block,
                                         void **arguments, size_t shared_bytes, cudaStream_t stream)
{
    cudaError_t error = simrt_enter(SIMRT_CALL___cudaLaunchKernel, SIMRT_CONTEXT);

    if (error == cudaSuccess && kernel == NULL) /* its __cudaGetKernel() failed */
        error = cudaErrorInvalidResourceHandle;
    if (error == cudaSuccess)
        error = launch(kernel, &(configuration){grid, block, shared_bytes, stream}, arguments);
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block,
                                       void **arguments, size_t shared_bytes, cudaStream_t stream)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaLaunchKernel, SIMRT_CONTEXT);
    CUkernel kernel = NULL;

    if (error == cudaSuccess)
        error = simrt_module_find_kernel(function, &kernel);
    if (error == cudaSuccess)
        error = launch(kernel, &(configuration){grid, block, shared_bytes, stream}, arguments);
    return simrt_leave(error);
}

static cudaError_t launch_extended(CUkernel kernel, const cudaLaunchConfig_t *config,
                                   void **arguments)
{
    configuration plain = {config->gridDim, config->blockDim, config->dynamicSmemBytes,
                           config->stream};
    CUlaunchConfig extended = {
        .gridDimX = config->gridDim.x,
        .gridDimY = config->gridDim.y,
        .gridDimZ = config->gridDim.z,
        .blockDimX = config->blockDim.x,
        .blockDimY = config->blockDim.y,
        .blockDimZ = config->blockDim.z,
        .sharedMemBytes = (unsigned)config->dynamicSmemBytes,
        .hStream = config->stream,
        .attrs = (CUlaunchAttribute *)config->attrs, /* the same type in the driver's header */
        .numAttrs = config->numAttrs,
    };
    cudaError_t error;

    if (config->numAttrs == 0)
        return launch(kernel, &plain, arguments);
    error = check(&plain);
    if (error == cudaSuccess)
        error = simrt_error(
            simrt_driver_table.cuLaunchKernelEx(&extended, (CUfunction)kernel, arguments, NULL));
    return error;
}

SIMRT_API cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function,
                                          void **arguments)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaLaunchKernelExC, SIMRT_CONTEXT);
    CUkernel kernel = NULL;

    if (error == cudaSuccess && config == NULL)
        error = cudaErrorInvalidConfiguration;
    if (error == cudaSuccess)
        error = simrt_module_find_kernel(function, &kernel);
    if (error == cudaSuccess)
        error = launch_extended(kernel, config, arguments);
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block,
                                                  void **arguments, size_t shared_bytes,
                                                  cudaStream_t stream)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaLaunchCooperativeKernel, SIMRT_CONTEXT);
    configuration config = {grid, block, shared_bytes, stream};
    CUkernel kernel = NULL;

    if (error == cudaSuccess)
        error = simrt_module_find_kernel(function, &kernel);
    if (error == cudaSuccess)
        error = check(&config);
    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuLaunchCooperativeKernel(
            (CUfunction)kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z,
            (unsigned)shared_bytes, stream, arguments));
    return simrt_leave(error);
}
