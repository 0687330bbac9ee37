/* SPDX-License-Identifier: MIT
 * device.h - the simulated GPUs: identity, attributes, and how much of their memory is mapped.
 *
 * A driver maps pages, so a device's memory is counted in mapped bytes: an allocation of 1 MiB and
 * more takes whole granules; smaller ones take multiples of 512 bytes out of granules they share,
 * so that their sum is rounded up. sum_mapped() of device.c is that rule and the only place that
 * knows it. The devices exist from cuInit until exit; their byte counts are guarded by the lock. */
#ifndef SC_SIM_DEVICE_H
#define SC_SIM_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "api.h"

struct sim_context;

struct sim_device {
    int ordinal;
    unsigned primary_flags;
    uint64_t memory;             /* size, bytes */
    uint64_t large, small;       /* rounded bytes of live allocations of either class */
    uint64_t peak;               /* most mapped bytes ever */
    uint64_t most;               /* most mapped bytes since simcuda_mapped_bytes() was last asked */
    struct sim_context *primary; /* NULL until first retained; one struct for good */
};

CUresult sim_devices_start_locked(void);

/* NULL: no such device. */
struct sim_device *sim_device_find(CUdevice ordinal);
int sim_device_count(void);

/* The device that a place of memory names. */
CUresult sim_device_of(const CUmemLocation *location, struct sim_device **device);

/* Takes `bytes` from the device's memory, of which its pools give up what they need not keep; false
 * if that does not fit. */
bool sim_device_take_locked(struct sim_device *device, size_t bytes);
void sim_device_give_locked(struct sim_device *device, size_t bytes);

/* Mapped bytes now. */
uint64_t sim_device_mapped_locked(const struct sim_device *device);

/* Most mapped bytes of all devices together at one time. */
uint64_t sim_devices_peak_locked(void);

/* False: CUDA knows no such attribute. */
bool sim_device_attribute(const struct sim_device *device, CUdevice_attribute attribute,
                          int *value);

#endif
