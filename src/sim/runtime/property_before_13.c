/* SPDX-License-Identifier: MIT
 * property_before_13.c - cudaGetDeviceProperties() with the structures of CUDA 11 and 12. CUDA 12
 * has both: its header calls the second cudaGetDeviceProperties_v2, and a program that looks the
 * plain name up gets the first. */
#include "abi.h"
#include "call.h"
#include "property.h"

#include <string.h>

struct properties_11 {
    char name[256];
    cudaUUID_t uuid;
    char luid[8];
    unsigned int luidDeviceNodeMask;
    size_t totalGlobalMem, sharedMemPerBlock;
    int regsPerBlock, warpSize;
    size_t memPitch;
    int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate;
    size_t totalConstMem;
    int major, minor;
    size_t textureAlignment, texturePitchAlignment;
    int deviceOverlap, multiProcessorCount, kernelExecTimeoutEnabled, integrated, canMapHostMemory,
        computeMode, maxTexture1D, maxTexture1DMipmap, maxTexture1DLinear, maxTexture2D[2],
        maxTexture2DMipmap[2], maxTexture2DLinear[3], maxTexture2DGather[2], maxTexture3D[3],
        maxTexture3DAlt[3], maxTextureCubemap, maxTexture1DLayered[2], maxTexture2DLayered[3],
        maxTextureCubemapLayered[2], maxSurface1D, maxSurface2D[2], maxSurface3D[3],
        maxSurface1DLayered[2], maxSurface2DLayered[3], maxSurfaceCubemap,
        maxSurfaceCubemapLayered[2];
    size_t surfaceAlignment;
    int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver,
        asyncEngineCount, unifiedAddressing, memoryClockRate, memoryBusWidth, l2CacheSize,
        persistingL2CacheMaxSize, maxThreadsPerMultiProcessor, streamPrioritiesSupported,
        globalL1CacheSupported, localL1CacheSupported;
    size_t sharedMemPerMultiprocessor;
    int regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID,
        hostNativeAtomicSupported, singleToDoublePrecisionPerfRatio, pageableMemoryAccess,
        concurrentManagedAccess, computePreemptionSupported, canUseHostPointerForRegisteredMem,
        cooperativeLaunch, cooperativeMultiDeviceLaunch;
    size_t sharedMemPerBlockOptin;
    int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost,
        maxBlocksPerMultiProcessor, accessPolicyMaxWindowSize;
    size_t reservedSharedMemPerBlock;
};

struct properties_12 {
    struct properties_11 begin;
    int hostRegisterSupported, sparseCudaArraySupported, hostRegisterReadOnlySupported,
        timelineSemaphoreInteropSupported, memoryPoolsSupported, gpuDirectRDMASupported;
    unsigned int gpuDirectRDMAFlushWritesOptions;
    int gpuDirectRDMAWritesOrdering;
    unsigned int memoryPoolSupportedHandleTypes;
    int deferredMappingCudaArraySupported, ipcEventSupported, clusterLaunch,
        unifiedFunctionPointers, reserved[63];
};

_Static_assert(sizeof(struct properties_11) == 728, "as in CUDA 11.8's header");
_Static_assert(sizeof(struct properties_12) == 1032, "as in CUDA 12.9's header");

cudaError_t simrt_get_properties_11(struct properties_11 *properties, int ordinal)
    SIMRT_AS(cudaGetDeviceProperties);
cudaError_t simrt_get_properties_12(struct properties_12 *properties, int ordinal)
    SIMRT_AS(cudaGetDeviceProperties_v2);

static void fill_11(struct properties_11 *properties, const struct cudaDeviceProp *latest,
                    CUdevice handle)
{
    memset(properties, 0, sizeof(*properties));
    memcpy(properties->name, latest->name, sizeof(properties->name));
    properties->uuid = latest->uuid;
    properties->totalGlobalMem = latest->totalGlobalMem;
#define PROPERTY(member, attribute) properties->member = latest->member;
#define PROPERTY_BEFORE_13(member, attribute)                                                      \
    properties->member = simrt_property_attribute(handle, CU_DEVICE_ATTRIBUTE_##attribute);
#include "property.def"
}

static void fill_12(struct properties_12 *properties, const struct cudaDeviceProp *latest,
                    CUdevice handle)
{
    memset(properties, 0, sizeof(*properties));
    fill_11(&properties->begin, latest, handle);
#define PROPERTY_SINCE_12(member, attribute) properties->member = latest->member;
#include "property.def"
}

static cudaError_t read_latest(struct cudaDeviceProp *latest, int ordinal, CUdevice *handle)
{
    cudaError_t error = simrt_property_read(latest, ordinal);

    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuDeviceGet(handle, ordinal));
    return error;
}

SIMRT_API cudaError_t simrt_get_properties_11(struct properties_11 *properties, int ordinal)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaGetDeviceProperties, SIMRT_INITIALISED);
    struct cudaDeviceProp latest;
    CUdevice handle = 0;

    if (error == cudaSuccess)
        error = properties == NULL ? cudaErrorInvalidValue : read_latest(&latest, ordinal, &handle);
    if (error == cudaSuccess)
        fill_11(properties, &latest, handle);
    return simrt_leave(error);
}

SIMRT_API cudaError_t simrt_get_properties_12(struct properties_12 *properties, int ordinal)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaGetDeviceProperties_v2, SIMRT_INITIALISED);
    struct cudaDeviceProp latest;
    CUdevice handle = 0;

    if (error == cudaSuccess)
        error = properties == NULL ? cudaErrorInvalidValue : read_latest(&latest, ordinal, &handle);
    if (error == cudaSuccess)
        fill_12(properties, &latest, handle);
    return simrt_leave(error);
}
