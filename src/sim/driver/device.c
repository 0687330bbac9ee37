/* SPDX-License-Identifier: MIT */
#include "device.h"

#include "internal.h"
#include "lock.h"
#include "pool.h"
#include "process.h"
#include "settings.h"

#define MAX_DEVICES 16
#define LARGE       (1u << 20)
#define SMALL_UNIT  512u

static struct sim_device devices[MAX_DEVICES];
static int device_count;
static uint64_t total_peak;

CUresult sim_devices_start_locked(void)
{
    const struct sim_settings *settings = sim_settings();

    if (settings->devices == 0)
        return CUDA_ERROR_NO_DEVICE;
    for (int i = 0; i < (int)settings->devices; i++)
        devices[i] = (struct sim_device){.ordinal = i, .memory = settings->memory};
    device_count = (int)settings->devices;
    return CUDA_SUCCESS;
}

struct sim_device *sim_device_find(CUdevice ordinal)
{
    return ordinal >= 0 && ordinal < device_count ? &devices[ordinal] : NULL;
}

int sim_device_count(void)
{
    return device_count;
}

CUresult sim_device_of(const CUmemLocation *location, struct sim_device **device)
{
    if (location->type != CU_MEM_LOCATION_TYPE_DEVICE)
        return CUDA_ERROR_INVALID_VALUE;
    *device = sim_device_find(location->id);
    return *device ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

static uint64_t round_up(uint64_t bytes, uint64_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

static uint64_t sum_mapped(uint64_t large, uint64_t small)
{
    return large + round_up(small, sim_settings()->granule);
}

uint64_t sim_device_mapped_locked(const struct sim_device *device)
{
    return sum_mapped(device->large, device->small);
}

uint64_t sim_devices_peak_locked(void)
{
    return total_peak;
}

static uint64_t total_mapped(void)
{
    uint64_t total = 0;

    for (int i = 0; i < device_count; i++)
        total += sim_device_mapped_locked(&devices[i]);
    return total;
}

static bool take(struct sim_device *device, size_t bytes)
{
    uint64_t large = device->large;
    uint64_t small = device->small;
    uint64_t mapped, total;

    if (bytes > device->memory)
        return false;
    if (bytes >= LARGE)
        large += round_up(bytes, sim_settings()->granule);
    else
        small += round_up(bytes, SMALL_UNIT);
    mapped = sum_mapped(large, small);
    if (mapped > device->memory)
        return false;
    device->large = large;
    device->small = small;
    if (mapped > device->peak)
        device->peak = mapped;
    if (mapped > device->most)
        device->most = mapped;
    total = total_mapped();
    if (total > total_peak)
        total_peak = total;
    return true;
}

bool sim_device_take_locked(struct sim_device *device, size_t bytes)
{
    if (take(device, bytes))
        return true;
    sim_pools_make_room_locked(device);
    return take(device, bytes);
}

void sim_device_give_locked(struct sim_device *device, size_t bytes)
{
    if (bytes >= LARGE)
        device->large -= round_up(bytes, sim_settings()->granule);
    else
        device->small -= round_up(bytes, SMALL_UNIT);
}

bool sim_device_attribute(const struct sim_device *device, CUdevice_attribute attribute, int *value)
{
    const int answers[CU_DEVICE_ATTRIBUTE_MAX] = {
#define ATTRIBUTE(name, number) [CU_DEVICE_ATTRIBUTE_##name] = (number),
#include "device.def"
#undef ATTRIBUTE
    };

    if (attribute < 1 || attribute >= CU_DEVICE_ATTRIBUTE_MAX)
        return false;
    *value = answers[attribute];
    return true;
}

__attribute__((visibility("default"))) void simcuda_mapped_bytes(int device, uint64_t *now,
                                                                 uint64_t *most)
{
    struct sim_device *found = sim_process_forked() ? NULL : sim_device_find(device);

    if (!found) {
        *now = *most = 0;
        return;
    }
    sim_lock();
    *now = sim_device_mapped_locked(found);
    *most = found->most > *now ? found->most : *now;
    found->most = *now;
    sim_unlock();
}
