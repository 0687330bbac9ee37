/* SPDX-License-Identifier: MIT */
#include "captures.h"

#include <pthread.h>

CUcontext context;
struct things things;

CUstream captured(CUstreamCaptureMode mode, unsigned flags)
{
    CUstream stream;

    context = start();
    OK(cuStreamCreate(&stream, flags));
    OK(cuStreamBeginCapture(stream, mode));
    return stream;
}

bool is_invalid(CUstream stream)
{
    CUstreamCaptureStatus status;

    OK(cuStreamIsCapturing(stream, &status));
    return status == CU_STREAM_CAPTURE_STATUS_INVALIDATED;
}

void expect_invalid(CUstream stream)
{
    CUgraph graph = (CUgraph)1;

    ck_assert_msg(is_invalid(stream), "the capture is still valid");
    ANSWERS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));
    ck_assert_ptr_null(graph);
}

void expect_valid(CUstream stream)
{
    CUgraph graph;

    ck_assert_msg(!is_invalid(stream), "the capture has been invalidated");
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphDestroy(graph));
}

void make_things(void)
{
    start();
    OK(cuMemAlloc(&things.device, 512));
    OK(cuMemAllocManaged(&things.managed, 512, CU_MEM_ATTACH_GLOBAL));
    OK(cuMemAllocHost(&things.pinned, 512));
    OK(cuEventCreate(&things.event, CU_EVENT_DEFAULT));
    OK(cuModuleLoadData(&things.module, "an image"));
}

struct other {
    CUresult (*call)(void);
    CUstreamCaptureMode mode;
    CUresult result;
};

static void *run_other(void *argument)
{
    struct other *other = argument;
    CUstreamCaptureMode mode = other->mode;

    OK(cuCtxSetCurrent(context));
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    ck_assert_int_eq(mode, CU_STREAM_CAPTURE_MODE_GLOBAL); /* what a thread begins with */
    other->result = other->call();
    return NULL;
}

CUresult elsewhere(CUresult (*call)(void), CUstreamCaptureMode mode)
{
    struct other other = {call, mode, CUDA_SUCCESS};
    pthread_t thread;

    ck_assert_int_eq(pthread_create(&thread, NULL, run_other, &other), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    return other.result;
}

CUresult alloc(void)
{
    CUdeviceptr address;

    return cuMemAlloc(&address, 512);
}
