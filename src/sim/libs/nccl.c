/* SPDX-License-Identifier: MIT
 * nccl.c - communicators of NCCL, whose ranks do not meet: each hears itself in place of the
 * others. A collective takes its place on its stream, and what it would receive are its own bytes:
 * the sum of a reduction is its own part, and all parts of a gathering are. A gathering may also be
 * a group of broadcasts of one size, each from another rank. */
#include "library.h"

#include <cuda.h>
#include <cudaTypedefs.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define BAD_ARGUMENT 4
#define BAD_USAGE    5

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
SIMLIB_API int ncclGroupStart(void);
SIMLIB_API int ncclGroupEnd(void);
SIMLIB_API int ncclAllReduce(const char *from, char *to, size_t count, int type, int op,
                             uintptr_t handle, CUstream stream);
SIMLIB_API int ncclBroadcast(const char *from, char *to, size_t count, int type, int root,
                             uintptr_t handle, CUstream stream);
SIMLIB_API int ncclReduce(const char *from, char *to, size_t count, int type, int op, int root,
                          uintptr_t handle, CUstream stream);
SIMLIB_API int ncclAllGather(const char *from, char *to, size_t count, int type, uintptr_t handle,
                             CUstream stream);
SIMLIB_API int ncclReduceScatter(const char *from, char *to, size_t count, int type, int op,
                                 uintptr_t handle, CUstream stream);

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

static size_t type_bytes(int type)
{
    static const unsigned char bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

    return (size_t)type < sizeof bytes ? bytes[type] : 0;
}

/* Enqueues a copy, unless it is one to where it comes from. */
static int copy(char *to, const char *from, size_t bytes, CUstream stream)
{
    static _Atomic(PFN_cuMemcpyDtoDAsync_v3020) known;
    PFN_cuMemcpyDtoDAsync_v3020 enqueue = known;

    if (bytes == 0 || to == from)
        return SIMLIB_SUCCESS;
    if (!enqueue)
        known = enqueue = (PFN_cuMemcpyDtoDAsync_v3020)simlib_driver("cuMemcpyDtoDAsync", 3020);
    if (!enqueue || enqueue((CUdeviceptr)to, (CUdeviceptr)from, bytes, stream) != CUDA_SUCCESS)
        return SIMLIB_FAILED;
    return SIMLIB_SUCCESS;
}

/* The kernel of a collective behind its copies. */
static int finish(enum simlib_call call, int status, CUstream stream)
{
    return status == SIMLIB_SUCCESS ? simlib_work_on(call, (uintptr_t)stream) : status;
}

int ncclAllReduce(const char *from, char *to, size_t count, int type, int op, uintptr_t handle,
                  CUstream stream)
{
    (void)op;
    (void)handle;
    return finish(SIMLIB_ncclAllReduce, copy(to, from, count * type_bytes(type), stream), stream);
}

/* The broadcasts of the group that the calling thread has begun. */
static _Thread_local struct group {
    unsigned depth;
    const char *own; /* what this rank sends to the others, and how much */
    size_t bytes;
    unsigned awaited;
    struct {
        char *to;
        size_t bytes;
        CUstream stream;
    } others[64]; /* what it would receive; what does not fit stays as it is */
} group;

static int broadcast(bool is_root, const char *from, char *to, size_t bytes, CUstream stream)
{
    if (is_root) {
        group.own = from;
        group.bytes = bytes;
        return copy(to, from, bytes, stream);
    }
    if (group.depth > 0 && group.awaited < sizeof group.others / sizeof *group.others) {
        group.others[group.awaited].to = to;
        group.others[group.awaited].bytes = bytes;
        group.others[group.awaited++].stream = stream;
    }
    return SIMLIB_SUCCESS;
}

int ncclGroupStart(void)
{
    simlib_ok(SIMLIB_ncclGroupStart);
    if (group.depth++ == 0) {
        group.own = NULL;
        group.awaited = 0;
    }
    return SIMLIB_SUCCESS;
}

int ncclGroupEnd(void)
{
    int status = simlib_ok(SIMLIB_ncclGroupEnd);

    if (group.depth == 0)
        return BAD_USAGE;
    if (--group.depth > 0)
        return status;
    for (unsigned i = 0; group.own && i < group.awaited && status == SIMLIB_SUCCESS; i++)
        if (group.others[i].bytes == group.bytes)
            status = copy(group.others[i].to, group.own, group.bytes, group.others[i].stream);
    return status;
}

int ncclBroadcast(const char *from, char *to, size_t count, int type, int root, uintptr_t handle,
                  CUstream stream)
{
    const communicator *in = simlib_data(handle, sizeof *in, NULL);
    int status = BAD_ARGUMENT;

    if (in)
        status = broadcast(in->rank == root, from, to, count * type_bytes(type), stream);
    return finish(SIMLIB_ncclBroadcast, status, stream);
}

int ncclReduce(const char *from, char *to, size_t count, int type, int op, int root,
               uintptr_t handle, CUstream stream)
{
    const communicator *in = simlib_data(handle, sizeof *in, NULL);
    int status = in ? SIMLIB_SUCCESS : BAD_ARGUMENT;

    (void)op;
    if (in && in->rank == root)
        status = copy(to, from, count * type_bytes(type), stream);
    return finish(SIMLIB_ncclReduce, status, stream);
}

int ncclAllGather(const char *from, char *to, size_t count, int type, uintptr_t handle,
                  CUstream stream)
{
    const communicator *in = simlib_data(handle, sizeof *in, NULL);
    int status = in ? SIMLIB_SUCCESS : BAD_ARGUMENT;
    size_t bytes = count * type_bytes(type);

    for (int i = 0; in && i < in->ranks && status == SIMLIB_SUCCESS; i++)
        status = copy(to + (size_t)i * bytes, from, bytes, stream);
    return finish(SIMLIB_ncclAllGather, status, stream);
}

int ncclReduceScatter(const char *from, char *to, size_t count, int type, int op, uintptr_t handle,
                      CUstream stream)
{
    const communicator *in = simlib_data(handle, sizeof *in, NULL);
    int status = in ? SIMLIB_SUCCESS : BAD_ARGUMENT;
    size_t bytes = count * type_bytes(type);

    (void)op;
    if (in)
        status = copy(to, from + (size_t)in->rank * bytes, bytes, stream);
    return finish(SIMLIB_ncclReduceScatter, status, stream);
}
