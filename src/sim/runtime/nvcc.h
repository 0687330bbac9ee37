/* SPDX-License-Identifier: MIT
 * nvcc.h - the functions that nvcc's generated code calls. No public header declares them for C;
 * these declarations follow what crt/host_runtime.h and crt/device_functions.h declare for that
 * code. */
#ifndef SIMRT_NVCC_H
#define SIMRT_NVCC_H

#include <cuda_runtime_api.h>

/* What a __cudaRegisterFatBinary() argument points to. */
typedef struct simrt_fat_binary {
    int magic;
    int version;
    const void *image;
    void *file_or_list;
} simrt_fat_binary;

void **__cudaRegisterFatBinary(void *binary);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *stub, char *device_stub, const char *name,
                            int thread_limit, uint3 *thread_id, uint3 *block_id, dim3 *block,
                            dim3 *grid, int *warp_size);
void __cudaRegisterVar(void **handle, char *stub, char *device_stub, const char *name, int external,
                       size_t bytes, int constant, int global);
void __cudaRegisterManagedVar(void **handle, void **stub, char *device_stub, const char *name,
                              int external, size_t bytes, int constant, int global);
char __cudaInitModule(void **handle);

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes,
                                     struct CUstream_st *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes, void *stream);
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *function);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments,
                               size_t shared_bytes, cudaStream_t stream);
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments,
                                    size_t shared_bytes, cudaStream_t stream);

#endif
