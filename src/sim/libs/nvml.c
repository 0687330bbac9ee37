/* SPDX-License-Identifier: MIT
 * nvml.c - the devices as NVML counts them: a handle is the device's number and one. */
#include "library.h"

#include <cuda.h>
#include <cudaTypedefs.h>

#define NOT_FOUND 6

SIMLIB_API int nvmlDeviceGetCount(unsigned *count);
SIMLIB_API int nvmlDeviceGetCount_v2(unsigned *count);
SIMLIB_API int nvmlDeviceGetHandleByIndex(unsigned index, uintptr_t *device);
SIMLIB_API int nvmlDeviceGetHandleByIndex_v2(unsigned index, uintptr_t *device);
SIMLIB_API int nvmlDeviceGetHandleByPciBusId(const char *bus, uintptr_t *device);
SIMLIB_API int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, uintptr_t *device);
SIMLIB_API int nvmlSystemGetCudaDriverVersion(int *version);
SIMLIB_API int nvmlSystemGetCudaDriverVersion_v2(int *version);

static int count_devices(unsigned *count)
{
    PFN_cuDeviceGetCount_v2000 get =
        (PFN_cuDeviceGetCount_v2000)simlib_driver("cuDeviceGetCount", 2000);
    int found = 0;

    if (!count)
        return SIMLIB_INVALID;
    if (!get || get(&found) != CUDA_SUCCESS)
        return SIMLIB_FAILED;
    *count = (unsigned)found;
    return SIMLIB_SUCCESS;
}

int nvmlDeviceGetCount(unsigned *count)
{
    simlib_ok(SIMLIB_nvmlDeviceGetCount);
    return count_devices(count);
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    simlib_ok(SIMLIB_nvmlDeviceGetCount_v2);
    return count_devices(count);
}

static int by_index(unsigned index, uintptr_t *device)
{
    unsigned count = 0;
    int status = count_devices(&count);

    if (status != SIMLIB_SUCCESS)
        return status;
    if (index >= count || !device)
        return SIMLIB_INVALID;
    *device = (uintptr_t)index + 1;
    return SIMLIB_SUCCESS;
}

int nvmlDeviceGetHandleByIndex(unsigned index, uintptr_t *device)
{
    simlib_ok(SIMLIB_nvmlDeviceGetHandleByIndex);
    return by_index(index, device);
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, uintptr_t *device)
{
    simlib_ok(SIMLIB_nvmlDeviceGetHandleByIndex_v2);
    return by_index(index, device);
}

static int by_bus(const char *bus, uintptr_t *device)
{
    PFN_cuDeviceGetByPCIBusId_v4010 get =
        (PFN_cuDeviceGetByPCIBusId_v4010)simlib_driver("cuDeviceGetByPCIBusId", 4010);
    CUdevice found;

    if (!bus || !device)
        return SIMLIB_INVALID;
    if (!get || get(&found, bus) != CUDA_SUCCESS)
        return NOT_FOUND;
    *device = (uintptr_t)found + 1;
    return SIMLIB_SUCCESS;
}

int nvmlDeviceGetHandleByPciBusId(const char *bus, uintptr_t *device)
{
    simlib_ok(SIMLIB_nvmlDeviceGetHandleByPciBusId);
    return by_bus(bus, device);
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, uintptr_t *device)
{
    simlib_ok(SIMLIB_nvmlDeviceGetHandleByPciBusId_v2);
    return by_bus(bus, device);
}

static int driver_version(int *version)
{
    PFN_cuDriverGetVersion_v2020 get =
        (PFN_cuDriverGetVersion_v2020)simlib_driver("cuDriverGetVersion", 2020);

    if (!version)
        return SIMLIB_INVALID;
    return get && get(version) == CUDA_SUCCESS ? SIMLIB_SUCCESS : SIMLIB_FAILED;
}

int nvmlSystemGetCudaDriverVersion(int *version)
{
    simlib_ok(SIMLIB_nvmlSystemGetCudaDriverVersion);
    return driver_version(version);
}

int nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    simlib_ok(SIMLIB_nvmlSystemGetCudaDriverVersion_v2);
    return driver_version(version);
}
