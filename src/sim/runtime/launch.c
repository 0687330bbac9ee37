/* SPDX-License-Identifier: MIT
 * launch.c - kernel launches. The stub that nvcc makes launches by its own address or by the handle
 * that __cudaGetKernel() gave it once. Compiled twice (call.h). */
#include "call.h"
#include "device.h"
#include "module.h"
#include "nvcc.h"

typedef struct configuration {
    dim3 grid;
    dim3 block;
    size_t shared_bytes;
    cudaStream_t stream;
} configuration;

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
        error = simrt_error(SIMRT_DRIVER.cuLaunchKernel(
            (CUfunction)kernel, config->grid.x, config->grid.y, config->grid.z, config->block.x,
            config->block.y, config->block.z, (unsigned)config->shared_bytes, config->stream,
            arguments, NULL));
    return error;
}

SIMRT_API cudaError_t SIMRT_TWIN(__cudaLaunchKernel)(cudaKernel_t kernel, dim3 grid, dim3 block,
                                                     void **arguments, size_t shared_bytes,
                                                     cudaStream_t stream)
{
    cudaError_t error = simrt_enter(SIMRT_CALL(SIMRT_TWIN(__cudaLaunchKernel)), SIMRT_CONTEXT);

    if (error == cudaSuccess && kernel == NULL) /* its __cudaGetKernel() failed */
        error = cudaErrorInvalidResourceHandle;
    if (error == cudaSuccess)
        error = launch(kernel, &(configuration){grid, block, shared_bytes, stream}, arguments);
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block,
                                       void **arguments, size_t shared_bytes, cudaStream_t stream)
{
    cudaError_t error = simrt_enter(SIMRT_CALL(cudaLaunchKernel), SIMRT_CONTEXT);
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
            SIMRT_DRIVER.cuLaunchKernelEx(&extended, (CUfunction)kernel, arguments, NULL));
    return error;
}

SIMRT_API cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function,
                                          void **arguments)
{
    cudaError_t error = simrt_enter(SIMRT_CALL(cudaLaunchKernelExC), SIMRT_CONTEXT);
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
    cudaError_t error = simrt_enter(SIMRT_CALL(cudaLaunchCooperativeKernel), SIMRT_CONTEXT);
    configuration config = {grid, block, shared_bytes, stream};
    CUkernel kernel = NULL;

    if (error == cudaSuccess)
        error = simrt_module_find_kernel(function, &kernel);
    if (error == cudaSuccess)
        error = check(&config);
    if (error == cudaSuccess)
        error = simrt_error(SIMRT_DRIVER.cuLaunchCooperativeKernel(
            (CUfunction)kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z,
            (unsigned)shared_bytes, stream, arguments));
    return simrt_leave(error);
}
