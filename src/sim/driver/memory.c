/* SPDX-License-Identifier: MIT */
#include "memory.h"

#include <stdlib.h>

#include "clock.h"
#include "context.h"
#include "device.h"
#include "internal.h"
#include "ledger.h"
#include "lock.h"
#include "pool.h"
#include "range.h"
#include "space.h"
#include "stream.h"

#define UNIT      512
#define HOST_PAGE 4096

static unsigned long long last_id;
static struct sim_block *registered; /* all of them, linked by `next`; few */

static void link_block(struct sim_block *block)
{
    struct sim_block **list =
        block->kind == SIM_REGISTERED_MEMORY ? &registered : &block->context->blocks;

    block->next = *list;
    if (*list)
        (*list)->previous = block;
    *list = block;
}

static void unlink_block(struct sim_block *block)
{
    struct sim_block **list =
        block->kind == SIM_REGISTERED_MEMORY ? &registered : &block->context->blocks;

    if (block->previous)
        block->previous->next = block->next;
    else
        *list = block->next;
    if (block->next)
        block->next->previous = block->previous;
    block->next = block->previous = NULL;
}

static CUresult place_locked(struct sim_block *block)
{
    struct sim_device *device = block->context->device;
    bool on_device = block->kind == SIM_DEVICE_MEMORY;

    if (!block->context->alive)
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (on_device && !sim_device_take_locked(device, block->bytes))
        return CUDA_ERROR_OUT_OF_MEMORY;
    block->address = sim_space_place_locked(block, block->bytes, on_device ? UNIT : HOST_PAGE);
    if (block->address == 0) {
        if (on_device)
            sim_device_give_locked(device, block->bytes);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    block->id = ++last_id;
    link_block(block);
    return CUDA_SUCCESS;
}

CUresult sim_memory_new(struct sim_context *context, enum sim_memory_kind kind, size_t bytes,
                        unsigned flags, uintptr_t *address)
{
    struct sim_block *block = calloc(1, sizeof *block);
    uintptr_t placed;
    CUresult status;

    if (!block)
        return CUDA_ERROR_OUT_OF_MEMORY;
    block->context = context;
    block->device = context->device;
    block->kind = kind;
    block->bytes = bytes;
    block->flags = flags;
    sim_lock();
    status = place_locked(block);
    placed = block->address;
    sim_unlock(); /* the block may end with its context from here on */
    if (status != CUDA_SUCCESS) {
        free(block);
        return status;
    }
    sim_ledger_mapped(placed, bytes);
    *address = placed;
    return CUDA_SUCCESS;
}

static bool overlaps(const struct sim_block *block, uintptr_t address, size_t bytes)
{
    return address < block->address + block->bytes && block->address < address + bytes;
}

CUresult sim_memory_register(struct sim_context *context, uintptr_t address, size_t bytes,
                             unsigned flags)
{
    struct sim_block *block = calloc(1, sizeof *block);
    CUresult status = CUDA_SUCCESS;

    if (!block)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *block = (struct sim_block){.context = context,
                                .device = context->device,
                                .address = address,
                                .bytes = bytes,
                                .kind = SIM_REGISTERED_MEMORY,
                                .flags = flags};
    sim_lock();
    for (struct sim_block *other = registered; other; other = other->next)
        if (overlaps(other, address, bytes))
            status = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    if (sim_memory_find_locked(address))
        status = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    if (status == CUDA_SUCCESS) {
        block->id = ++last_id;
        link_block(block);
    }
    sim_unlock();
    if (status != CUDA_SUCCESS)
        free(block);
    return status;
}

static struct sim_block *block_of_pool(const struct sim_block *segment, uintptr_t address)
{
    struct sim_piece *piece = sim_piece_find_locked(segment, address);

    return piece ? &piece->block : NULL;
}

struct sim_block *sim_memory_find_locked(uintptr_t address)
{
    struct sim_block *block = NULL;

    if (sim_space_look_locked(address, &block) == SIM_PLACE_BLOCK) {
        if (block->kind == SIM_SEGMENT_MEMORY)
            block = block_of_pool(block, address);
        return block && address - block->address < block->bytes ? block : NULL;
    }
    for (block = registered; block; block = block->next)
        if (address >= block->address && address - block->address < block->bytes)
            return block;
    return NULL;
}

/* Pages go back while the block still holds its addresses, so that nobody else can have them yet.
 */
static void release_block(struct sim_block *block)
{
    if (block->kind != SIM_REGISTERED_MEMORY) {
        sim_ledger_unmapped(block->address, block->bytes);
        sim_space_discard(block->address, block->bytes);
    }
    sim_lock();
    if (block->kind != SIM_REGISTERED_MEMORY)
        sim_space_clear_locked(block->address, block->bytes);
    if (block->kind == SIM_DEVICE_MEMORY)
        sim_device_give_locked(block->context->device, block->bytes);
    sim_unlock();
    free(block);
}

static bool is_of(const struct sim_block *block, enum sim_memory_kind kind)
{
    return block->kind == kind ||
           (kind == SIM_DEVICE_MEMORY &&
            (block->kind == SIM_MANAGED_MEMORY || block->kind == SIM_POOL_MEMORY));
}

CUresult sim_memory_free(uintptr_t address, enum sim_memory_kind kind, uint64_t cost_ns)
{
    struct sim_block *block;
    struct sim_context *context;

    sim_lock();
    block = sim_memory_find_locked(address);
    if (!block || !is_of(block, kind) || block->address != address || block->freeing) {
        sim_unlock();
        return CUDA_ERROR_INVALID_VALUE;
    }
    context = block->context;
    if (context->sticky != CUDA_SUCCESS) {
        sim_unlock();
        return (CUresult)context->sticky;
    }
    block->freeing = true;
    sim_context_drain_locked(context);
    if (block->kind == SIM_POOL_MEMORY) {
        sim_pool_release_locked(block);
        block = NULL;
    } else {
        block->freed = true;
        unlink_block(block);
    }
    sim_unlock();
    sim_spend_ns(cost_ns);
    if (block)
        release_block(block);
    return CUDA_SUCCESS;
}

static bool is_on_device(const struct sim_block *block)
{
    return is_of(block, SIM_DEVICE_MEMORY) || block->kind == SIM_MAPPED_MEMORY ||
           block->kind == SIM_SEGMENT_MEMORY;
}

static enum sim_place look(uintptr_t address, bool *known, bool *device)
{
    struct sim_block *block = NULL;
    enum sim_place place;

    sim_lock();
    place = sim_space_look_locked(address, &block);
    if (!block)
        block = sim_memory_find_locked(address);
    *known = block != NULL;
    *device = block ? is_on_device(block) : place != SIM_PLACE_OUTSIDE;
    sim_unlock();
    return place;
}

bool sim_memory_plausible(uintptr_t address)
{
    bool known, device;

    return look(address, &known, &device) != SIM_PLACE_OUTSIDE || known;
}

bool sim_memory_pageable(uintptr_t address)
{
    return !sim_memory_plausible(address);
}

bool sim_memory_on_device(uintptr_t address)
{
    bool known, device;

    (void)look(address, &known, &device);
    return device;
}

bool sim_memory_synchronises(uintptr_t address)
{
    const struct sim_block *block;
    bool synchronises;

    sim_lock();
    block = sim_memory_find_locked(address);
    synchronises = block && block->sync_memops;
    sim_unlock();
    return synchronises;
}

bool sim_memory_check(const char *what, const struct sim_touch *touch, bool report)
{
    struct sim_block *block = NULL;
    const char *verb = touch->writes ? "writes" : "reads";
    const char *kind = NULL;
    size_t offset = 0, size = 0;

    if (touch->bytes == 0)
        return true;
    sim_lock();
    switch (sim_space_look_locked(touch->address, &block)) {
    case SIM_PLACE_OUTSIDE:
        break;
    case SIM_PLACE_FREED:
        kind = "use-after-free";
        break;
    case SIM_PLACE_NEVER:
        kind = "out-of-bounds";
        break;
    case SIM_PLACE_BLOCK:
        offset = touch->address - block->address;
        size = block->bytes;
        if (block->kind == SIM_MAPPED_MEMORY)
            kind = sim_range_check_locked(touch, sim_stream_running()->object.context->device);
        else if (block->kind == SIM_SEGMENT_MEMORY)
            kind = sim_pool_check_locked(block, touch, sim_ticket_running(),
                                         sim_stream_running()->object.context->device);
        else if (offset > size || touch->bytes > size - offset)
            kind = "out-of-bounds";
        else if (block->freed)
            kind = "use-after-free";
        break;
    }
    sim_unlock();
    if (kind && report && size > 0)
        simcuda_violation(kind, "%s %s %zu bytes at offset %zu of a block of %zu at 0x%zx", what,
                          verb, touch->bytes, offset, size, (size_t)(touch->address - offset));
    else if (kind && report)
        simcuda_violation(kind, "%s %s %zu bytes at 0x%zx", what, verb, touch->bytes,
                          (size_t)touch->address);
    return kind == NULL;
}

/* Moves the context's blocks from one list to another, for the ending context to release. One whose
 * free is on its way out (it waits for this very context) is that call's to release, and from now
 * on no call may free the others. */
static void take_blocks(struct sim_block *list, const struct sim_context *context,
                        struct sim_block **taken)
{
    struct sim_block *next;

    for (struct sim_block *block = list; block; block = next) {
        next = block->next;
        if (block->context != context || block->freeing)
            continue;
        unlink_block(block);
        block->freeing = block->freed = true;
        block->next = *taken;
        *taken = block;
    }
}

struct sim_block *sim_memory_end_locked(struct sim_context *context)
{
    struct sim_block *taken = NULL;

    take_blocks(context->blocks, context, &taken);
    take_blocks(registered, context, &taken);
    return taken;
}

void sim_memory_discard(struct sim_block *blocks)
{
    struct sim_block *next;

    for (struct sim_block *block = blocks; block; block = next) {
        next = block->next;
        release_block(block);
    }
}
