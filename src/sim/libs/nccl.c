/* SPDX-License-Identifier: MIT
 * nccl.c - communicators of NCCL: who is in them, and nothing more. Ranks of several processes do
 * not meet; a collective takes its place on its stream and moves no bytes. */
#include "library.h"

#include <cuda.h>
#include <cudaTypedefs.h>
#include <string.h>
#include <unistd.h>

#define BAD_ARGUMENT 4

typedef struct unique_id {
    char bytes[128];
} unique_id;

typedef struct communicator {
    int ranks, rank, device;
} communicator;

SIMLIB_API int ncclGetUniqueId(unique_id *id);
SIMLIB_API int ncclCommInitRank(uintptr_t *out, int ranks, unique_id id, int rank);
SIMLIB_API int ncclCommInitRankConfig(uintptr_t *out, int ranks, unique_id id, int rank,
                                      uintptr_t config);
SIMLIB_API int ncclCommInitAll(uintptr_t *out, int ranks, const int *devices);
SIMLIB_API int ncclCommCount(uintptr_t handle, int *count);
SIMLIB_API int ncclCommUserRank(uintptr_t handle, int *rank);
SIMLIB_API int ncclCommCuDevice(uintptr_t handle, int *device);

int ncclGetUniqueId(unique_id *id)
{
    static _Atomic unsigned given;
    unsigned number[2] = {(unsigned)getpid(), ++given};

    simlib_ok(SIMLIB_ncclGetUniqueId);
    if (!id)
        return BAD_ARGUMENT;
    memset(id, 0, sizeof *id);
    memcpy(id, number, sizeof number);
    return SIMLIB_SUCCESS;
}

/* The current device: the one this rank works on. */
static int current_device(void)
{
    PFN_cuCtxGetDevice_v2000 get = (PFN_cuCtxGetDevice_v2000)simlib_driver("cuCtxGetDevice", 2000);
    CUdevice device = 0;

    return get && get(&device) == CUDA_SUCCESS ? device : 0;
}

static int make(enum simlib_call call, uintptr_t *out, communicator what)
{
    communicator *made;
    int status;

    if (what.ranks < 1 || what.rank < 0 || what.rank >= what.ranks)
        return BAD_ARGUMENT;
    status = simlib_create(call, (uintptr_t)out, sizeof *out);
    if (status != SIMLIB_SUCCESS)
        return status;
    made = simlib_data(*out, sizeof *made, NULL);
    if (!made)
        return SIMLIB_FAILED;
    *made = what;
    return SIMLIB_SUCCESS;
}

int ncclCommInitRank(uintptr_t *out, int ranks, unique_id id, int rank)
{
    (void)id;
    return make(SIMLIB_ncclCommInitRank, out, (communicator){ranks, rank, current_device()});
}

int ncclCommInitRankConfig(uintptr_t *out, int ranks, unique_id id, int rank, uintptr_t config)
{
    (void)id;
    (void)config;
    return make(SIMLIB_ncclCommInitRankConfig, out, (communicator){ranks, rank, current_device()});
}

int ncclCommInitAll(uintptr_t *out, int ranks, const int *devices)
{
    int status = out && ranks > 0 ? SIMLIB_SUCCESS : BAD_ARGUMENT;

    for (int i = 0; i < ranks && status == SIMLIB_SUCCESS; i++)
        status = make(SIMLIB_ncclCommInitAll, &out[i],
                      (communicator){ranks, i, devices ? devices[i] : i});
    return status;
}

static int tell(uintptr_t handle, int *out, size_t offset)
{
    const char *known = simlib_data(handle, sizeof(communicator), NULL);

    if (!known || !out)
        return BAD_ARGUMENT;
    memcpy(out, known + offset, sizeof *out);
    return SIMLIB_SUCCESS;
}

int ncclCommCount(uintptr_t handle, int *count)
{
    simlib_ok(SIMLIB_ncclCommCount);
    return tell(handle, count, offsetof(communicator, ranks));
}

int ncclCommUserRank(uintptr_t handle, int *rank)
{
    simlib_ok(SIMLIB_ncclCommUserRank);
    return tell(handle, rank, offsetof(communicator, rank));
}

int ncclCommCuDevice(uintptr_t handle, int *device)
{
    simlib_ok(SIMLIB_ncclCommCuDevice);
    return tell(handle, device, offsetof(communicator, device));
}
