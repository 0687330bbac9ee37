/* SPDX-License-Identifier: MIT
 * property.h - a device's properties, for every version's cudaGetDeviceProperties(). */
#ifndef SIMRT_PROPERTY_H
#define SIMRT_PROPERTY_H

#include <cuda.h>
#include <cuda_runtime_api.h>

/* What CUDA 13 has of them. Needs the driver initialised. */
cudaError_t simrt_property_read(struct cudaDeviceProp *properties, int ordinal);

/* 0 when the driver does not know the attribute: the device has not what it is about. */
int simrt_property_attribute(CUdevice handle, CUdevice_attribute attribute);

#endif
