/* SPDX-License-Identifier: MIT
 * property.c - what a program can ask about a device without using it: properties, attributes, PCI
 * addresses, versions, peers (there are none: simulated devices reach each other through the host).
 */
#include "call.h"

#include <string.h>

static CUresult read_attributes(struct cudaDeviceProp *properties, CUdevice handle)
{
    CUresult result = CUDA_SUCCESS;
    int value = 0;

/* An attribute the driver does not know is a property the device does not have: it stays 0. */
#define PROPERTY(field, attribute)                                                                 \
    result =                                                                                       \
        simrt_driver_table.cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_##attribute, handle);  \
    if (result == CUDA_SUCCESS)                                                                    \
        properties->field = (__typeof__(properties->field))value;
#include "property.def"
#undef PROPERTY
    return simrt_driver_table.cuDeviceGetAttribute(
        &value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, handle);
}

static cudaError_t read_properties(struct cudaDeviceProp *properties, int ordinal)
{
    struct cudaDeviceProp found;
    CUdevice handle;
    CUresult result = simrt_driver_table.cuDeviceGet(&handle, ordinal);

    memset(&found, 0, sizeof(found));
    if (result == CUDA_SUCCESS)
        result = simrt_driver_table.cuDeviceGetName(found.name, sizeof(found.name), handle);
    if (result == CUDA_SUCCESS)
        result = simrt_driver_table.cuDeviceTotalMem(&found.totalGlobalMem, handle);
    if (result == CUDA_SUCCESS)
        result = read_attributes(&found, handle);
    if (result != CUDA_SUCCESS)
        return simrt_error(result);
    (void)simrt_driver_table.cuDeviceGetUuid((CUuuid *)&found.uuid, handle);
    *properties = found;
    return cudaSuccess;
}

SIMRT_API cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int ordinal)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaGetDeviceProperties, SIMRT_INITIALISED);

    if (error == cudaSuccess)
        error = properties == NULL ? cudaErrorInvalidValue : read_properties(properties, ordinal);
    return simrt_leave(error);
}

/* The runtime's attributes have the driver's values. */
SIMRT_API cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int ordinal)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaDeviceGetAttribute, SIMRT_INITIALISED);
    CUdevice handle;

    if (error == cudaSuccess && value == NULL)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuDeviceGet(&handle, ordinal));
    if (error == cudaSuccess)
        error = simrt_error(
            simrt_driver_table.cuDeviceGetAttribute(value, (CUdevice_attribute)attribute, handle));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaDeviceGetPCIBusId(char *text, int bytes, int ordinal)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaDeviceGetPCIBusId, SIMRT_INITIALISED);
    CUdevice handle;

    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuDeviceGet(&handle, ordinal));
    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuDeviceGetPCIBusId(text, bytes, handle));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaDeviceGetByPCIBusId(int *ordinal, const char *text)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaDeviceGetByPCIBusId, SIMRT_INITIALISED);
    CUdevice handle = 0;

    if (error == cudaSuccess && (ordinal == NULL || text == NULL))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuDeviceGetByPCIBusId(&handle, text));
    if (error == cudaSuccess)
        *ordinal = (int)handle;
    return simrt_leave(error);
}

/* 0 where no driver is loaded, and no error: it is how a program finds that out. */
SIMRT_API cudaError_t cudaDriverGetVersion(int *version)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaDriverGetVersion, SIMRT_NOTHING);
    int found = 0;

    if (error == cudaSuccess && version == NULL)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess && simrt_bind() == cudaSuccess)
        error = simrt_error(simrt_driver_table.cuDriverGetVersion(&found));
    if (error == cudaSuccess)
        *version = found;
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaRuntimeGetVersion(int *version)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaRuntimeGetVersion, SIMRT_NOTHING);

    if (error == cudaSuccess && version == NULL)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        *version = CUDART_VERSION;
    return simrt_leave(error);
}

static cudaError_t check_pair(int ordinal, int peer)
{
    CUdevice handle;
    CUresult result = simrt_driver_table.cuDeviceGet(&handle, ordinal);

    if (result == CUDA_SUCCESS)
        result = simrt_driver_table.cuDeviceGet(&handle, peer);
    return simrt_error(result);
}

SIMRT_API cudaError_t cudaDeviceCanAccessPeer(int *can, int ordinal, int peer)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaDeviceCanAccessPeer, SIMRT_INITIALISED);

    if (error == cudaSuccess)
        error = can == NULL ? cudaErrorInvalidValue : check_pair(ordinal, peer);
    if (error == cudaSuccess)
        *can = 0;
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaDeviceEnablePeerAccess, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = flags != 0 ? cudaErrorInvalidValue : check_pair(0, peer);
    return simrt_leave(error == cudaSuccess ? cudaErrorPeerAccessUnsupported : error);
}

SIMRT_API cudaError_t cudaDeviceDisablePeerAccess(int peer)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaDeviceDisablePeerAccess, SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = check_pair(0, peer);
    return simrt_leave(error == cudaSuccess ? cudaErrorPeerAccessNotEnabled : error);
}
