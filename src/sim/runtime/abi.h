/* SPDX-License-Identifier: MIT
 * abi.h - what differs between the libcudart that these sources make.
 *
 * SIMRT_VERSION is 11080, 12090 or 13000: what cudaRuntimeGetVersion() answers. CUDA's headers are
 * those of 13 for all three. Of all that is modelled, and of the names with an ABI in more than one
 * version, these are not the same:
 *
 *   cudaDeviceProp             11: the first 80 members; 12: more of them; 13: eight are gone
 *   cudaPointerAttributes      before 13: ends after hostPointer
 *   cudaFuncAttributes         11: ends after preferredShmemCarveout
 *   cudaGetDriverEntryPoint    11: without the status
 *   cudaGraphInstantiate       11: with a node and a text instead of flags
 *   cudaStreamGetCaptureInfo   before 13: the status and the id; newer ones as _v2 and _v3
 *   cudaStreamUpdateCaptureDependencies, cudaGraphGetEdges, cudaGraphNodeGetDependencies,
 *   cudaGraphNodeGetDependentNodes
 *                              before 13: without the edges' data; with it as _v2
 *   cudaMemAdvise, cudaMemPrefetchAsync
 *                              before 13: with a device; with a location as _v2
 *
 * An older one's structure is the beginning of the newer one's, but for cudaDeviceProp
 * (property_before_13.c). What 13 exports no more is in before_13.c. */
#ifndef SIMRT_ABI_H
#define SIMRT_ABI_H

#include <cuda_runtime_api.h>
#include <stddef.h>

enum {
#if SIMRT_VERSION >= 13000
    SIMRT_POINTER_ATTRIBUTES_BYTES = sizeof(struct cudaPointerAttributes),
#else
    SIMRT_POINTER_ATTRIBUTES_BYTES = offsetof(struct cudaPointerAttributes, reserved),
#endif
#if SIMRT_VERSION >= 12000
    SIMRT_FUNCTION_ATTRIBUTES_BYTES = sizeof(struct cudaFuncAttributes),
#else
    SIMRT_FUNCTION_ATTRIBUTES_BYTES = offsetof(struct cudaFuncAttributes, clusterDimMustBeSet),
#endif
};

/* Declares `function`, of another type than CUDA 13's header says, as the exported `name`. */
#define SIMRT_AS(name)         __asm__(SIMRT_QUOTED(name))
#define SIMRT_QUOTED(name)     SIMRT_QUOTED_NOW(name)
#define SIMRT_QUOTED_NOW(name) #name

#endif
