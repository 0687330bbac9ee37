/* SPDX-License-Identifier: MIT
 * property.c - what a program can ask about a device without using it: attributes, PCI addresses,
 * versions, peers (there are none: simulated devices reach each other through the host). */
#include "property.h"

#include "call.h"

#include <string.h>

int simrt_property_attribute(CUdevice handle, CUdevice_attribute attribute)
{
    int value = 0;
    CUresult result = simrt_driver_table.cuDeviceGetAttribute(&value, attribute, handle);

    return result == CUDA_SUCCESS ? value : 0;
}

cudaError_t simrt_property_read(struct cudaDeviceProp *properties, int ordinal)
{
    CUdevice handle = 0;
    CUresult result = simrt_driver_table.cuDeviceGet(&handle, ordinal);

    memset(properties, 0, sizeof(*properties));
    if (result == CUDA_SUCCESS)
        result =
            simrt_driver_table.cuDeviceGetName(properties->name, sizeof(properties->name), handle);
    if (result == CUDA_SUCCESS)
        result = simrt_driver_table.cuDeviceTotalMem(&properties->totalGlobalMem, handle);
    if (result != CUDA_SUCCESS)
        return simrt_error(result);
    (void)simrt_driver_table.cuDeviceGetUuid((CUuuid *)&properties->uuid, handle);
#define PROPERTY(member, attribute)                                                                \
    properties->member = (__typeof__(properties->member))simrt_property_attribute(                 \
        handle, CU_DEVICE_ATTRIBUTE_##attribute);
#define PROPERTY_SINCE_12 PROPERTY
#define PROPERTY_SINCE_13 PROPERTY
#include "property.def"
    return cudaSuccess;
}

#if SIMRT_VERSION >= 13000
SIMRT_API cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int ordinal)
{
    cudaError_t error = simrt_enter(SIMRT_CALL_cudaGetDeviceProperties, SIMRT_INITIALISED);
    struct cudaDeviceProp found;

    if (error == cudaSuccess)
        error = properties == NULL ? cudaErrorInvalidValue : simrt_property_read(&found, ordinal);
    if (error == cudaSuccess)
        *properties = found;
    return simrt_leave(error);
}
#endif

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
        *version = SIMRT_VERSION;
    return simrt_leave(error);
}
