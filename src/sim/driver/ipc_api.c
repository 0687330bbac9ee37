/* SPDX-License-Identifier: MIT
 * ipc_api.c - handles by which other processes would name an allocation.
 *
 * They are as unique as the allocation, so a program can pass and compare them; opening one is not
 * modelled. */
#include <string.h>
#include <unistd.h>

#include "context.h"
#include "device.h"
#include "lock.h"
#include "memory.h"

CUresult cuIpcGetMemHandle(CUipcMemHandle *pHandle, CUdeviceptr dptr)
{
    struct sim_context *context;
    CUresult status = sim_enter_context(CALL_cuIpcGetMemHandle, &context);
    struct {
        pid_t pid;
        int device;
        unsigned long long id;
        uintptr_t address;
        size_t bytes;
    } name = {0};
    const struct sim_block *block;
    bool found;

    _Static_assert(sizeof name <= sizeof(CUipcMemHandle), "the name fits");
    if (status != CUDA_SUCCESS)
        return status;
    if (!pHandle)
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    block = sim_memory_find_locked((uintptr_t)dptr);
    found = block && block->kind == SIM_DEVICE_MEMORY && !block->freeing;
    if (found) {
        name.device = block->context->device->ordinal;
        name.id = block->id;
        name.address = block->address;
        name.bytes = block->bytes;
    }
    sim_unlock();
    if (!found)
        return CUDA_ERROR_INVALID_VALUE;
    name.pid = getpid();
    memset(pHandle, 0, sizeof *pHandle);
    memcpy(pHandle, &name, sizeof name);
    return CUDA_SUCCESS;
}
