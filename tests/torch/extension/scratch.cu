/* SPDX-License-Identifier: MIT
 * scratch.cu - a custom operation for PyTorch that takes its workspace from cudaMalloc in every
 * backward pass, as some do.
 *
 * Loaded by ctypes; PyTorch is not needed to build it. */
#include <cuda_runtime.h>

static __global__ void scale(float *out, const float *in, float *scratch, size_t count)
{
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;

    if (i < count) {
        scratch[i] = in[i] * 2;
        out[i] = scratch[i];
    }
}

/* out = 2 in, by way of `bytes` of scratch. Answers the runtime's error. */
extern "C" int scratch_scale(float *out, const float *in, size_t count, size_t bytes,
                             cudaStream_t stream)
{
    float *scratch;
    cudaError_t result = cudaMalloc((void **)&scratch, bytes);

    if (result != cudaSuccess)
        return result;
    scale<<<(unsigned)((count + 255) / 256), 256, 0, stream>>>(out, in, scratch, count);
    result = cudaGetLastError();
    cudaFree(scratch);
    return result;
}
