/* SPDX-License-Identifier: MIT
 * test_threads.c - many threads at once: what each sees must be what it would see alone. */
#include <pthread.h>
#include <string.h>

#include "support.h"

#define THREADS 6
#define STEPS   300

struct worker {
    CUcontext context;
    uint64_t state;
    int number;
    const char *wrong; /* the first thing that was */
};

/* One buffer's life: filled, copied on the device, read back, freed. */
static const char *one_buffer(struct worker *worker, CUstream stream, CUevent event)
{
    unsigned char back[512];
    unsigned char value = (unsigned char)next_random(&worker->state);
    size_t bytes = 1 + next_random(&worker->state) % (3 * MIB);
    size_t seen = bytes < sizeof back ? bytes : sizeof back;
    CUdeviceptr first, second;

    if (cuMemAlloc(&first, bytes) != CUDA_SUCCESS || cuMemAlloc(&second, bytes) != CUDA_SUCCESS)
        return "alloc";
    if (cuMemsetD8Async(first, value, bytes, stream) != CUDA_SUCCESS)
        return "memset";
    if (cuEventRecord(event, stream) != CUDA_SUCCESS ||
        cuStreamWaitEvent(CU_STREAM_PER_THREAD, event, 0) != CUDA_SUCCESS)
        return "event";
    if (cuMemcpyDtoDAsync(second, first, bytes, CU_STREAM_PER_THREAD) != CUDA_SUCCESS)
        return "copy";
    if (cuMemcpyDtoHAsync(back, second + bytes - seen, seen, CU_STREAM_PER_THREAD) != CUDA_SUCCESS)
        return "read";
    for (size_t i = 0; i < seen; i++)
        if (back[i] != value)
            return "bytes";
    if (cuMemFree(first) != CUDA_SUCCESS || cuMemFree(second) != CUDA_SUCCESS)
        return "free";
    return NULL;
}

static void *live(void *argument)
{
    struct worker *worker = argument;
    CUstream stream;
    CUevent event;

    if (cuCtxSetCurrent(worker->context) != CUDA_SUCCESS)
        worker->wrong = "context";
    for (int step = 0; step < STEPS && !worker->wrong; step++) {
        if (step % 50 == 0 &&
            (cuStreamCreate(&stream, step % 100 ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING) ||
             cuEventCreate(&event, CU_EVENT_DISABLE_TIMING)))
            worker->wrong = "create";
        if (!worker->wrong)
            worker->wrong = one_buffer(worker, stream, event);
        if (step % 50 == 49 && (cuStreamDestroy(stream) || cuEventDestroy(event)))
            worker->wrong = "destroy";
    }
    return NULL;
}

START_TEST(threads_with_streams_of_their_own_do_not_disturb_each_other)
{
    pthread_t threads[THREADS];
    struct worker workers[THREADS];
    uint64_t state = seed();
    CUcontext context = start();

    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){context, next_random(&state), i, NULL};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, live, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        ck_assert_msg(!workers[i].wrong, "thread %d: %s", i, workers[i].wrong);
    }
    OK(cuCtxSynchronize());
    ck_assert_uint_eq(mapped(), 0);
}
END_TEST

static void *reset_often(void *argument)
{
    (void)argument;
    for (int i = 0; i < 50; i++) {
        CUcontext context;

        if (cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS ||
            cuDevicePrimaryCtxReset(0) != CUDA_SUCCESS)
            return "reset";
    }
    return NULL;
}

/* Whatever a call meets while its context ends and comes back, it answers with an error and no
 * more. */
START_TEST(a_context_may_end_under_a_thread_that_uses_it)
{
    pthread_t thread;
    void *wrong;

    start();
    pthread_create(&thread, NULL, reset_often, NULL);
    for (int i = 0; i < 2000; i++) {
        CUdeviceptr address;
        CUstream stream;
        unsigned char bytes[64] = {0};

        if (cuMemAlloc(&address, 64) == CUDA_SUCCESS) {
            (void)cuMemcpyHtoDAsync(address, bytes, 64, NULL);
            (void)cuMemFree(address);
        }
        if (cuStreamCreate(&stream, CU_STREAM_DEFAULT) == CUDA_SUCCESS) {
            (void)cuMemsetD8Async(address, 1, 64, stream);
            (void)cuStreamSynchronize(stream);
            (void)cuStreamDestroy(stream);
        }
    }
    pthread_join(thread, &wrong);
    ck_assert_ptr_null(wrong);
    OK(cuDevicePrimaryCtxReset(0));
    {
        CUcontext context;

        OK(cuDevicePrimaryCtxRetain(&context, 0));
        OK(cuCtxSetCurrent(context));
        ck_assert_uint_eq(mapped(), 0);
    }
}
END_TEST

/* One thread's captures, and what it allocates between and, in its own way, during them. */
static const char *capture_once(CUstream stream, CUdeviceptr target, unsigned char value)
{
    unsigned char back = 0;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUdeviceptr other;
    CUgraphExec exec;
    CUgraph graph;

    if (cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) != CUDA_SUCCESS ||
        cuMemsetD8Async(target, value, 64, stream) != CUDA_SUCCESS)
        return "begin";
    if (cuThreadExchangeStreamCaptureMode(&mode) != CUDA_SUCCESS ||
        cuMemAlloc(&other, 1000) != CUDA_SUCCESS || cuMemFree(other) != CUDA_SUCCESS ||
        cuThreadExchangeStreamCaptureMode(&mode) != CUDA_SUCCESS)
        return "alloc";
    if (cuStreamEndCapture(stream, &graph) != CUDA_SUCCESS)
        return "end";
    if (cuGraphInstantiate(&exec, graph, 0) != CUDA_SUCCESS ||
        cuGraphLaunch(exec, stream) != CUDA_SUCCESS ||
        cuMemcpyDtoHAsync(&back, target + 63, 1, stream) != CUDA_SUCCESS || back != value)
        return "launch";
    return cuGraphExecDestroy(exec) || cuGraphDestroy(graph) ? "destroy" : NULL;
}

static void *capture_often(void *argument)
{
    struct worker *worker = argument;
    CUdeviceptr target;
    CUstream stream;

    if (cuCtxSetCurrent(worker->context) || cuMemAlloc(&target, 64) ||
        cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING))
        worker->wrong = "start";
    for (int step = 0; step < STEPS && !worker->wrong; step++)
        worker->wrong = capture_once(stream, target, (unsigned char)next_random(&worker->state));
    return NULL;
}

START_TEST(threads_capture_side_by_side)
{
    pthread_t threads[THREADS];
    struct worker workers[THREADS];
    uint64_t state = seed();
    CUcontext context = start();

    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){context, next_random(&state), i, NULL};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, capture_often, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        ck_assert_msg(!workers[i].wrong, "thread %d: %s", i, workers[i].wrong);
    }
    OK(cuCtxSynchronize());
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {threads_with_streams_of_their_own_do_not_disturb_each_other,
                                  a_context_may_end_under_a_thread_that_uses_it,
                                  threads_capture_side_by_side, NULL};

    return run_tests("threads", tests);
}
