/* SPDX-License-Identifier: MIT */
#include "range.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "device.h"
#include "ledger.h"
#include "physical.h"
#include "pointer.h"
#include "settings.h"
#include "stream.h"

#define HOST_PAGE  4096
#define MOST_UNITS ((size_t)1 << 28)

/* What a unit holds after its mapping has gone. */
static struct sim_mapping gone;

static unsigned long long last_id;

static size_t unit(void)
{
    return sim_settings()->granule;
}

static bool whole_units(uint64_t bytes)
{
    return bytes % unit() == 0;
}

CUresult sim_range_new_locked(size_t bytes, size_t align, uintptr_t wanted, uintptr_t *address)
{
    struct sim_range *range;
    size_t count;

    if (bytes == 0 || bytes % HOST_PAGE != 0 || (align & (align - 1)) != 0 ||
        wanted % HOST_PAGE != 0)
        return CUDA_ERROR_INVALID_VALUE;
    count = bytes / unit() + (bytes % unit() > 0);
    range =
        count > MOST_UNITS ? NULL : calloc(1, sizeof *range + count * sizeof(struct sim_mapping *));
    if (!range)
        return CUDA_ERROR_OUT_OF_MEMORY;
    range->bytes = bytes;
    range->unit_count = count;
    range->address =
        sim_space_reserve_locked(range, bytes, align > unit() ? align : unit(), wanted);
    if (range->address == 0) {
        free(range);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *address = range->address;
    return CUDA_SUCCESS;
}

CUresult sim_range_free_locked(uintptr_t address, size_t bytes)
{
    struct sim_range *range = sim_space_range_locked(address);

    if (!range || range->address != address || range->bytes != bytes || range->mapped > 0)
        return CUDA_ERROR_INVALID_VALUE;
    sim_space_release_locked(address, bytes);
    free(range);
    return CUDA_SUCCESS;
}

static size_t unit_of(const struct sim_range *range, uintptr_t address)
{
    return (address - range->address) / unit();
}

/* The range that all of these bytes are in, whole units of it; NULL: none. */
static struct sim_range *range_of(uintptr_t address, size_t bytes)
{
    struct sim_range *range = sim_space_range_locked(address);

    return range && bytes > 0 && whole_units(address) && whole_units(bytes) &&
                   bytes <= range->bytes - (address - range->address)
               ? range
               : NULL;
}

struct sim_mapping *sim_range_find_locked(uintptr_t address)
{
    const struct sim_range *range = sim_space_range_locked(address);
    struct sim_mapping *mapping;

    if (!range || address - range->address >= range->bytes)
        return NULL;
    mapping = range->units[unit_of(range, address)];
    return mapping == &gone ? NULL : mapping;
}

enum sim_place sim_range_look_locked(const struct sim_range *range, uintptr_t address,
                                     struct sim_block **block)
{
    struct sim_mapping *mapping = NULL;

    if (address - range->address < range->bytes)
        mapping = range->units[unit_of(range, address)];
    if (!mapping)
        return SIM_PLACE_NEVER;
    if (mapping == &gone)
        return SIM_PLACE_FREED;
    *block = &mapping->block;
    return SIM_PLACE_BLOCK;
}

static bool show(uintptr_t address, size_t bytes, const struct sim_physical *physical)
{
    return mmap(sim_pointer(address), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                physical->file, (off_t)physical->offset) != MAP_FAILED;
}

/* Memory of nobody's: whoever is still at it does no harm. */
static void hide(uintptr_t address, size_t bytes)
{
    (void)mmap(sim_pointer(address), bytes, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

static void fill_units(struct sim_range *range, uintptr_t address, size_t bytes,
                       struct sim_mapping *mapping)
{
    size_t first = unit_of(range, address);

    for (size_t i = first; i < first + bytes / unit(); i++)
        range->units[i] = mapping;
}

CUresult sim_range_map_locked(uintptr_t address, size_t bytes, struct sim_physical *physical)
{
    struct sim_range *range = range_of(address, bytes);
    struct sim_mapping *mapping;

    if (!range || bytes > physical->bytes)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < bytes; i += unit())
        if (sim_range_find_locked(address + i))
            return CUDA_ERROR_INVALID_VALUE;
    mapping = calloc(1, sizeof *mapping);
    if (!mapping || !show(address, bytes, physical)) {
        free(mapping);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *mapping = (struct sim_mapping){.block = {.device = physical->device,
                                              .address = address,
                                              .bytes = bytes,
                                              .kind = SIM_MAPPED_MEMORY,
                                              .id = ++last_id},
                                    .range = range,
                                    .physical = physical};
    fill_units(range, address, bytes, mapping);
    range->mapped += bytes;
    sim_physical_map_locked(physical);
    sim_ledger_mapped(address, bytes);
    return CUDA_SUCCESS;
}

/* Are these bytes a row of whole mappings? */
static bool whole_mappings(uintptr_t address, size_t bytes)
{
    const struct sim_mapping *mapping;
    size_t done = 0;

    if (!range_of(address, bytes))
        return false;
    while (done < bytes) {
        mapping = sim_range_find_locked(address + done);
        if (!mapping || mapping->block.address != address + done)
            return false;
        done += mapping->block.bytes;
    }
    return done == bytes;
}

static void unmap(struct sim_mapping *mapping)
{
    struct sim_block *block = &mapping->block;

    sim_streams_condemn_locked(block->address, block->bytes);
    sim_ledger_unmapped(block->address, block->bytes);
    hide(block->address, block->bytes);
    fill_units(mapping->range, block->address, block->bytes, &gone);
    mapping->range->mapped -= block->bytes;
    sim_physical_unmap_locked(mapping->physical);
    free(mapping);
}

CUresult sim_range_unmap_locked(uintptr_t address, size_t bytes)
{
    if (!whole_mappings(address, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t done = 0, step; done < bytes; done += step) {
        struct sim_mapping *mapping = sim_range_find_locked(address + done);

        step = mapping->block.bytes;
        unmap(mapping);
    }
    return CUDA_SUCCESS;
}

static void set(uint32_t *devices, uint32_t bit, bool on)
{
    *devices = on ? *devices | bit : *devices & ~bit;
}

CUresult sim_range_set_access_locked(uintptr_t address, size_t bytes,
                                     const struct sim_device *device, CUmemAccess_flags flags)
{
    uint32_t bit = 1u << device->ordinal;

    if (!whole_mappings(address, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t done = 0; done < bytes;) {
        struct sim_mapping *mapping = sim_range_find_locked(address + done);

        set(&mapping->readers, bit, flags != CU_MEM_ACCESS_FLAGS_PROT_NONE);
        set(&mapping->writers, bit, flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
        done += mapping->block.bytes;
    }
    return CUDA_SUCCESS;
}

int sim_range_access_locked(uintptr_t address, const struct sim_device *device)
{
    const struct sim_mapping *mapping = sim_range_find_locked(address);
    uint32_t bit = 1u << device->ordinal;

    if (!mapping)
        return -1;
    if (mapping->writers & bit)
        return CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return mapping->readers & bit ? CU_MEM_ACCESS_FLAGS_PROT_READ : CU_MEM_ACCESS_FLAGS_PROT_NONE;
}

const char *sim_range_check_locked(const struct sim_touch *touch, const struct sim_device *device)
{
    int least = touch->writes ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_READ;
    uintptr_t end = touch->address + touch->bytes;
    const char *kind = NULL;

    for (uintptr_t at = touch->address; at < end && !kind;) {
        const struct sim_mapping *mapping = sim_range_find_locked(at);
        struct sim_block *block = NULL;

        if (!mapping && sim_space_look_locked(at, &block) == SIM_PLACE_FREED)
            kind = "use-after-free";
        else if (!mapping)
            kind = "out-of-bounds";
        else if (sim_range_access_locked(at, device) < least)
            kind = "no-access";
        else
            at = mapping->block.address + mapping->block.bytes;
    }
    return kind;
}
