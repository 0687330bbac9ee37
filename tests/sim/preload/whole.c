/* SPDX-License-Identifier: MIT
 * whole.c - whole programs whose captures and contexts a cache must not disturb: whole PROGRAM.
 *
 * Each first repeats a step often enough for any set of shapes to be fixed, then does what it is
 * named for in the middle of more such steps, and prints every answer it got. What it prints does
 * not depend on addresses, so a run under a cache must print the same as one without. Every buffer
 * is filled and read back: one that is not the program's any more would show here, or in the
 * simulator's report. Knows nothing of shapecache. */
#include <cuda.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFERS = 6, STEPS = 30 };

static CUcontext primary;

static void say(const char *what, CUresult answer)
{
    const char *name = "?";

    (void)cuGetErrorName(answer, &name);
    printf("%s: %s\n", what, name);
}

static void must(CUresult answer, const char *what)
{
    if (answer == CUDA_SUCCESS)
        return;
    say(what, answer);
    exit(1);
}

#define MUST(call) must(call, #call)

static size_t size_of(int i)
{
    return (size_t)(i + 1) << 17;
}

/* Is the buffer ours to write and to read? In the thread's own stream: the legacy one may be
 * captured. */
static bool is_usable(CUdeviceptr buffer, size_t bytes, unsigned char value)
{
    unsigned char back[3] = {0};

    MUST(cuMemsetD8Async(buffer, value, bytes, CU_STREAM_PER_THREAD));
    MUST(cuMemcpyDtoHAsync(&back[0], buffer, 1, CU_STREAM_PER_THREAD));
    MUST(cuMemcpyDtoHAsync(&back[1], buffer + bytes / 2, 1, CU_STREAM_PER_THREAD));
    MUST(cuMemcpyDtoHAsync(&back[2], buffer + bytes - 1, 1, CU_STREAM_PER_THREAD));
    MUST(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    return back[0] == value && back[1] == value && back[2] == value;
}

/* Allocates one step's buffers, all different from one another; the first failure is the answer. */
static CUresult take(CUdeviceptr *buffers)
{
    CUresult answer = CUDA_SUCCESS;

    memset(buffers, 0, BUFFERS * sizeof *buffers);
    for (int i = 0; i < BUFFERS && answer == CUDA_SUCCESS; i++)
        answer = cuMemAlloc(&buffers[i], size_of(i));
    for (int i = 0; i < BUFFERS && answer == CUDA_SUCCESS; i++)
        if (!is_usable(buffers[i], size_of(i), (unsigned char)(i + 1)))
            printf("buffer %d is not usable\n", i);
    return answer;
}

/* Frees what there is; the first failure is the answer. */
static CUresult give(CUdeviceptr *buffers)
{
    CUresult answer = CUDA_SUCCESS;

    for (int i = 0; i < BUFFERS; i++)
        if (buffers[i] != 0 && answer == CUDA_SUCCESS) {
            answer = cuMemFree(buffers[i]);
            if (answer == CUDA_SUCCESS)
                buffers[i] = 0;
        }
    return answer;
}

static void steps(int count)
{
    CUdeviceptr buffers[BUFFERS];

    for (int step = 0; step < count; step++) {
        MUST(take(buffers));
        MUST(give(buffers));
    }
}

static void start(void)
{
    MUST(cuInit(0));
    MUST(cuDevicePrimaryCtxRetain(&primary, 0));
    MUST(cuCtxSetCurrent(primary));
    steps(STEPS);
}

/* The other thread of a capture: it frees what was allocated before, allocates and frees, and keeps
 * something for later. */
struct other {
    CUdeviceptr old[BUFFERS], kept[BUFFERS];
    CUresult answers[4];
};

static void *run_other(void *argument)
{
    struct other *other = argument;
    CUdeviceptr buffers[BUFFERS];

    MUST(cuCtxSetCurrent(primary));
    other->answers[0] = give(other->old);
    other->answers[1] = take(buffers);
    other->answers[2] = give(buffers);
    other->answers[3] = take(other->kept);
    (void)give(buffers);
    return NULL;
}

static void work_elsewhere(struct other *other)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, run_other, other) != 0)
        exit(2);
    pthread_join(thread, NULL);
    for (int i = 0; i < 4; i++)
        say("other thread", other->answers[i]);
}

/* Launches the graph and tells whether it did what was captured. */
static void replay(CUgraph graph, CUdeviceptr target, CUstream stream)
{
    unsigned char back = 0;
    CUgraphExec exec;

    MUST(cuGraphInstantiate(&exec, graph, 0));
    MUST(cuMemsetD8Async(target, 0, 4096, stream));
    MUST(cuGraphLaunch(exec, stream));
    MUST(cuMemcpyDtoHAsync(&back, target + 4095, 1, stream));
    MUST(cuStreamSynchronize(stream));
    printf("the graph wrote %u\n", back);
    MUST(cuGraphExecDestroy(exec));
    MUST(cuGraphDestroy(graph));
}

static void capture(CUstreamCaptureMode mode, unsigned flags)
{
    struct other other = {{0}, {0}, {CUDA_SUCCESS}};
    CUstreamCaptureStatus status;
    CUdeviceptr target;
    CUgraph graph = NULL;
    CUstream stream;
    CUresult answer;

    start();
    MUST(cuMemAlloc(&target, 4096));
    MUST(cuStreamCreate(&stream, flags));
    for (int round = 0; round < 3; round++) {
        if (round == 0)
            MUST(take(other.old));
        MUST(cuStreamBeginCapture(stream, mode));
        MUST(cuMemsetD8Async(target, 42, 2048, stream));
        work_elsewhere(&other);
        answer = cuMemsetD8Async(target + 2048, 43, 2048, stream);
        say("captured work", answer);
        MUST(cuStreamIsCapturing(stream, &status));
        printf("status %d\n", (int)status);
        answer = cuStreamEndCapture(stream, &graph);
        say("end", answer);
        if (answer == CUDA_SUCCESS)
            replay(graph, target, stream);
        if (other.old[0] == 0) {
            memcpy(other.old, other.kept, sizeof other.old);
            memset(other.kept, 0, sizeof other.kept);
        }
        steps(3);
    }
    MUST(give(other.old));
    MUST(cuMemFree(target));
    steps(STEPS);
}

/* Allocates and frees inside its own capture, which a relaxed one allows. */
static void capture_own(void)
{
    CUdeviceptr before[BUFFERS], inside[BUFFERS], target;
    CUgraph graph = NULL;
    CUstream stream;

    start();
    MUST(cuMemAlloc(&target, 4096));
    MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int round = 0; round < 3; round++) {
        MUST(take(before));
        MUST(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
        say("free", give(before));
        say("allocate", take(inside));
        MUST(cuMemsetD8Async(target, 42, 4096, stream));
        MUST(cuStreamEndCapture(stream, &graph));
        say("free", give(inside));
        replay(graph, target, stream);
        steps(3);
    }
    steps(STEPS);
}

/* Contexts come, hold the same shapes, and go in the middle, some with their buffers. */
static void contexts(void)
{
    CUdeviceptr kept[BUFFERS], lost[BUFFERS];
    CUcontext made;

    start();
    MUST(take(kept));
    for (int round = 0; round < 4; round++) {
        MUST(cuCtxCreate(&made, NULL, 0, 0));
        steps(STEPS);
        MUST(take(lost));
        if (round % 2 == 1)
            MUST(give(lost));
        MUST(cuCtxDestroy(made));
        if (round % 2 == 0)
            say("free of what went with its context", cuMemFree(lost[0]));
        MUST(cuCtxSetCurrent(primary));
        steps(5);
    }
    MUST(give(kept));
    steps(STEPS);
}

/* The primary context is the same handle after a reset or a last release, with none of its memory.
 */
static void resets(void)
{
    CUdeviceptr lost[BUFFERS];

    start();
    for (int round = 0; round < 4; round++) {
        MUST(take(lost));
        if (round % 2 == 0)
            MUST(cuDevicePrimaryCtxReset(0));
        MUST(cuDevicePrimaryCtxRelease(0));
        say("allocate in a dead context", cuMemAlloc(&lost[1], size_of(1)));
        MUST(cuDevicePrimaryCtxRetain(&primary, 0));
        MUST(cuCtxSetCurrent(primary));
        say("free of what went with its context", cuMemFree(lost[0]));
        steps(round % 2 == 0 ? 2 : STEPS);
    }
}

static void *give_without_a_context(void *argument)
{
    CUcontext current = (CUcontext)1;

    MUST(give(argument));
    MUST(cuCtxGetCurrent(&current));
    printf("a thread without a context has %s\n", current ? "one now" : "none still");
    return NULL;
}

/* Frees while another context is current, or none. */
static void frees(void)
{
    CUdeviceptr buffers[BUFFERS], freed;
    CUcontext made, current;
    pthread_t thread;

    start();
    MUST(cuCtxCreate(&made, NULL, 0, 0));
    MUST(cuCtxSetCurrent(primary));
    for (int round = 0; round < 8; round++) {
        MUST(take(buffers));
        freed = buffers[0];
        if (round % 2 == 0) {
            MUST(cuCtxPushCurrent(made));
            MUST(give(buffers));
            MUST(cuCtxPopCurrent(&current));
            printf("the current context is %s\n", current == made ? "the same" : "another");
        } else {
            if (pthread_create(&thread, NULL, give_without_a_context, buffers) != 0)
                exit(2);
            pthread_join(thread, NULL);
        }
        say("second free", cuMemFree(freed));
        steps(5);
    }
    steps(STEPS);
}

/* Asks another allocator of the driver's for so much; what it gave is given back. */

static CUresult ask_physical(size_t bytes)
{
    const CUmemAllocationProp properties = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
    };
    CUmemGenericAllocationHandle handle;
    CUresult answer = cuMemCreate(&handle, bytes, &properties, 0);

    if (answer == CUDA_SUCCESS)
        MUST(cuMemRelease(handle));
    return answer;
}

static CUresult ask_in_order(size_t bytes)
{
    CUdeviceptr buffer;
    CUresult answer = cuMemAllocAsync(&buffer, bytes, CU_STREAM_PER_THREAD);

    if (answer != CUDA_SUCCESS)
        return answer;
    if (!is_usable(buffer, bytes, 7))
        puts("what was allocated in stream order is not usable");
    MUST(cuMemFreeAsync(buffer, CU_STREAM_PER_THREAD));
    MUST(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    return answer;
}

static CUresult ask_pool(size_t bytes)
{
    CUmemoryPool pool;
    CUdeviceptr buffer;
    CUresult answer;

    MUST(cuDeviceGetMemPool(&pool, 0));
    answer = cuMemAllocFromPoolAsync(&buffer, bytes, pool, CU_STREAM_PER_THREAD);
    if (answer != CUDA_SUCCESS)
        return answer;
    MUST(cuMemFreeAsync(buffer, CU_STREAM_PER_THREAD));
    MUST(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    return answer;
}

/* On a device of 8 MiB, of which a cache may keep 4. */
static void others(void)
{
    static CUresult (*const ask[])(size_t) = {ask_physical, ask_in_order, ask_pool};

    start();
    for (size_t i = 0; i < sizeof ask / sizeof *ask; i++) {
        say("6 MiB of 8", ask[i]((size_t)6 << 20));
        steps(STEPS);
        say("10 MiB of 8", ask[i]((size_t)10 << 20));
        steps(2 * STEPS);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        CUstreamCaptureMode mode;
        unsigned flags;
    } captures[] = {
        {"capture-thread-local", CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_NON_BLOCKING},
        {"capture-thread-local-blocking", CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_DEFAULT},
        {"capture-relaxed", CU_STREAM_CAPTURE_MODE_RELAXED, CU_STREAM_NON_BLOCKING},
        {"capture-global", CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_NON_BLOCKING},
    };
    const char *name = argc == 2 ? argv[1] : "";

    if (strcmp(name, "capture-own") == 0)
        capture_own();
    else if (strcmp(name, "contexts") == 0)
        contexts();
    else if (strcmp(name, "resets") == 0)
        resets();
    else if (strcmp(name, "frees") == 0)
        frees();
    else if (strcmp(name, "others") == 0)
        others();
    else
        for (size_t i = 0; i < sizeof captures / sizeof *captures; i++)
            if (strcmp(name, captures[i].name) == 0)
                capture(captures[i].mode, captures[i].flags);
    puts("done");
    return 0;
}
