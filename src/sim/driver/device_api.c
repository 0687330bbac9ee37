/* SPDX-License-Identifier: MIT
 * device_api.c - start-up and device management of the driver API. */
#include <stdio.h>
#include <string.h>

#include "api.h"
#include "device.h"
#include "process.h"
#include "settings.h"

CUresult cuInit(unsigned int Flags)
{
    CUresult status = sim_enter(CALL_cuInit);

    if (status != CUDA_SUCCESS)
        return status;
    return Flags != 0 ? CUDA_ERROR_INVALID_VALUE : sim_process_initialise();
}

CUresult cuDriverGetVersion(int *driverVersion)
{
    CUresult status = sim_enter(CALL_cuDriverGetVersion);

    if (status != CUDA_SUCCESS)
        return status;
    if (!driverVersion)
        return CUDA_ERROR_INVALID_VALUE;
    *driverVersion = (int)sim_settings()->version;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
    CUresult status = sim_enter_ready(CALL_cuDeviceGetCount);

    if (status != CUDA_SUCCESS)
        return status;
    if (!count)
        return CUDA_ERROR_INVALID_VALUE;
    *count = sim_device_count();
    return CUDA_SUCCESS;
}

/* Enters a call about `ordinal` that writes to `out`. */
static CUresult enter_device(enum sim_call call, const void *out, CUdevice ordinal,
                             struct sim_device **device)
{
    CUresult status = sim_enter_ready(call);

    if (status != CUDA_SUCCESS)
        return status;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    *device = sim_device_find(ordinal);
    return *device ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    struct sim_device *found;
    CUresult status = enter_device(CALL_cuDeviceGet, device, ordinal, &found);

    if (status == CUDA_SUCCESS)
        *device = found->ordinal;
    return status;
}

CUresult cuDeviceGetName(char *name, int len, CUdevice dev)
{
    struct sim_device *device;
    CUresult status = enter_device(CALL_cuDeviceGetName, name, dev, &device);

    if (status != CUDA_SUCCESS)
        return status;
    if (len <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    snprintf(name, (size_t)len, "Simulated GPU sm_%d", (int)sim_settings()->cc);
    return CUDA_SUCCESS;
}

static void make_uuid(const struct sim_device *device, CUuuid *uuid)
{
    memcpy(uuid->bytes, "simulated-gpu", 13);
    uuid->bytes[13] = uuid->bytes[14] = 0;
    uuid->bytes[15] = (char)device->ordinal;
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
    struct sim_device *device;
    CUresult status = enter_device(CALL_cuDeviceGetUuid, uuid, dev, &device);

    if (status == CUDA_SUCCESS)
        make_uuid(device, uuid);
    return status;
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
    struct sim_device *device;
    CUresult status = enter_device(CALL_cuDeviceGetUuid_v2, uuid, dev, &device);

    if (status == CUDA_SUCCESS)
        make_uuid(device, uuid);
    return status;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
    struct sim_device *device;
    CUresult status = enter_device(CALL_cuDeviceTotalMem_v2, bytes, dev, &device);

    if (status == CUDA_SUCCESS)
        *bytes = device->memory;
    return status;
}

CUresult cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev)
{
    struct sim_device *device;
    CUresult status = enter_device(CALL_cuDeviceGetAttribute, pi, dev, &device);

    if (status != CUDA_SUCCESS)
        return status;
    return sim_device_attribute(device, attrib, pi) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice dev)
{
    struct sim_device *device;
    CUresult status =
        enter_device(CALL_cuDeviceComputeCapability, major && minor ? major : NULL, dev, &device);

    if (status != CUDA_SUCCESS)
        return status;
    *major = (int)(sim_settings()->cc / 10);
    *minor = (int)(sim_settings()->cc % 10);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetProperties(CUdevprop *prop, CUdevice dev)
{
    struct sim_device *device;
    CUresult status = enter_device(CALL_cuDeviceGetProperties, prop, dev, &device);

    if (status != CUDA_SUCCESS)
        return status;
#define GET(field, name) (void)sim_device_attribute(device, CU_DEVICE_ATTRIBUTE_##name, &(field))
    GET(prop->maxThreadsPerBlock, MAX_THREADS_PER_BLOCK);
    GET(prop->maxThreadsDim[0], MAX_BLOCK_DIM_X);
    GET(prop->maxThreadsDim[1], MAX_BLOCK_DIM_Y);
    GET(prop->maxThreadsDim[2], MAX_BLOCK_DIM_Z);
    GET(prop->maxGridSize[0], MAX_GRID_DIM_X);
    GET(prop->maxGridSize[1], MAX_GRID_DIM_Y);
    GET(prop->maxGridSize[2], MAX_GRID_DIM_Z);
    GET(prop->sharedMemPerBlock, MAX_SHARED_MEMORY_PER_BLOCK);
    GET(prop->totalConstantMemory, TOTAL_CONSTANT_MEMORY);
    GET(prop->SIMDWidth, WARP_SIZE);
    GET(prop->memPitch, MAX_PITCH);
    GET(prop->regsPerBlock, MAX_REGISTERS_PER_BLOCK);
    GET(prop->clockRate, CLOCK_RATE);
    GET(prop->textureAlign, TEXTURE_ALIGNMENT);
#undef GET
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char *pciBusId, int len, CUdevice dev)
{
    struct sim_device *device;
    CUresult status = enter_device(CALL_cuDeviceGetPCIBusId, pciBusId, dev, &device);

    if (status != CUDA_SUCCESS)
        return status;
    if (len < 13) /* "0000:01:00.0" and its end */
        return CUDA_ERROR_INVALID_VALUE;
    snprintf(pciBusId, (size_t)len, "0000:%02X:00.0", (unsigned)device->ordinal + 1);
    return CUDA_SUCCESS;
}

/* Accepts domain:bus:device.function, domain:bus:device and bus:device.function, as the real one
 * does. */
CUresult cuDeviceGetByPCIBusId(CUdevice *dev, const char *pciBusId)
{
    CUresult status = sim_enter_ready(CALL_cuDeviceGetByPCIBusId);
    unsigned domain = 0, bus = 0, slot = 0, function = 0;

    if (status != CUDA_SUCCESS)
        return status;
    if (!dev || !pciBusId)
        return CUDA_ERROR_INVALID_VALUE;
    if (sscanf(pciBusId, "%x:%x:%x.%x", &domain, &bus, &slot, &function) < 3) {
        domain = 0;
        if (sscanf(pciBusId, "%x:%x.%x", &bus, &slot, &function) != 3)
            return CUDA_ERROR_INVALID_VALUE;
    }
    if (domain != 0 || slot != 0 || function != 0 || bus == 0 || (int)bus > sim_device_count())
        return CUDA_ERROR_INVALID_DEVICE;
    *dev = (CUdevice)bus - 1;
    return CUDA_SUCCESS;
}
