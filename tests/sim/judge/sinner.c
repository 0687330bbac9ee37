/* SPDX-License-Identifier: MIT
 * sinner.c - sinner WHAT: a small program that does one thing to memory, mostly a wrong one.
 *
 * Errors of the sin itself are ignored, as careless programs do; all others end it. */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/internal.h"
#include "sim/simcuda.h"

enum { BYTES = 1 << 20, BUFFERS = 3, ROUNDS = 20 };

static void must(int error, const char *what)
{
    if (error != 0) {
        fprintf(stderr, "sinner: %s: error %d\n", what, error);
        exit(EXIT_FAILURE);
    }
}
#define MUST(call) must((int)(call), #call)

static char host[BYTES];

static cudaStream_t new_stream(void)
{
    cudaStream_t stream;

    MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
}

static void *new_memory(size_t bytes)
{
    void *memory;

    MUST(cudaMalloc(&memory, bytes));
    return memory;
}

static void finish(void)
{
    MUST(cudaDeviceSynchronize());
}

/* Memory goes from an owner whose work is in `first` to one whose work is in `second`. Right: what
 * was enqueued before a free is covered by its wait. */
static void hand_over_between(cudaStream_t first, cudaStream_t second)
{
    for (int round = 0; round < ROUNDS; round++) {
        void *memory[BUFFERS];

        for (size_t i = 0; i < BUFFERS; i++) {
            memory[i] = new_memory((i + 1) * BYTES);
            MUST(cudaMemsetAsync(memory[i], 1, BYTES, first));
        }
        for (size_t i = 0; i < BUFFERS; i++)
            MUST(cudaFree(memory[i]));
        for (size_t i = 0; i < BUFFERS; i++) {
            memory[i] = new_memory((i + 1) * BYTES);
            MUST(cudaMemsetAsync(memory[i], 2, BYTES, second));
        }
        MUST(cudaStreamSynchronize(second));
        finish();
        for (size_t i = 0; i < BUFFERS; i++)
            MUST(cudaFree(memory[i]));
    }
}

static void hand_over(void)
{
    cudaStream_t first = new_stream();

    hand_over_between(first, new_stream());
}

/* One stream orders the next owner behind the former without any wait. */
static void hand_over_in_order(void)
{
    cudaStream_t stream = new_stream();

    hand_over_between(stream, stream);
}

/* A free that nothing is allocated after. */
static void let_go(void)
{
    cudaStream_t stream = new_stream();

    for (int i = 0; i < ROUNDS; i++) {
        void *memory = new_memory(BYTES + (size_t)i);

        MUST(cudaMemsetAsync(memory, 1, BYTES, stream));
        MUST(cudaFree(memory));
    }
    finish();
}

static void use_after_free(void)
{
    cudaStream_t stream = new_stream();
    void *memory = new_memory(BYTES);

    MUST(cudaFree(memory));
    (void)cudaMemcpyAsync(memory, host, 64, cudaMemcpyHostToDevice, stream);
    finish();
}

static void out_of_bounds(void)
{
    char *memory = new_memory(1000);

    (void)cudaMemset(memory, 0, 1001);
    (void)cudaMemcpy(host, memory + 996, 5, cudaMemcpyDeviceToHost);
    finish();
    MUST(cudaFree(memory));
}

static void free_twice(void)
{
    void *memory = new_memory(BYTES);
    void *pinned;

    MUST(cudaMallocHost(&pinned, BYTES));
    MUST(cudaFree(memory));
    (void)cudaFree(memory);
    MUST(cudaFreeHost(pinned));
    (void)cudaFreeHost(pinned);
}

static void free_what_is_not(void)
{
    char *memory = new_memory(BYTES);

    (void)cudaFree(memory + 512);
    (void)cudaFree(host);
    MUST(cudaFree(memory));
}

static void leak(void)
{
    for (int i = 1; i <= 3; i++)
        (void)new_memory((size_t)i * 1000);
    MUST(cudaFree(new_memory(BYTES)));
}

static void two_owners(void)
{
    void *first = new_memory(BYTES), *second = new_memory(BYTES);

    MUST(cudaMemset(first, 0, BYTES));
    MUST(cudaDeviceSynchronize()); /* else it may run after the free that follows, another sin */
    MUST(cudaFree(second));
}

/* In a context of the driver's, as launches by hand need a function of the driver's. */
static CUfunction fill;

static void fill_on_host(const simcuda_launch *launch, void **args)
{
    (void)launch;
    memset(*(void **)args[0], 7, *(size_t *)args[1]);
}

static unsigned fill_touches(const simcuda_launch *launch, void **args, simcuda_range *ranges)
{
    (void)launch;
    ranges[0] = (simcuda_range){*(void **)args[0], *(size_t *)args[1], 1};
    return 1;
}

static void load_kernel(void)
{
    static const size_t sizes[] = {sizeof(void *), sizeof(size_t)};
    CUmodule module;

    MUST(simcuda_kernel("fill", fill_on_host, sizes, 2, fill_touches));
    MUST(cuModuleLoadData(&module, "an image"));
    MUST(cuModuleGetFunction(&fill, module, "fill"));
}

static void launch(void *memory, size_t bytes, cudaStream_t stream)
{
    void *args[] = {&memory, &bytes};

    MUST(cuLaunchKernel(fill, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL));
}

/* Right, and a kernel that has begun by the time of the free when it runs for long. */
static void kernel(void)
{
    cudaStream_t stream = new_stream();

    load_kernel();
    for (int i = 0; i < ROUNDS; i++) {
        void *memory = new_memory(BYTES);
        cudaEvent_t before;

        MUST(cudaEventCreate(&before));
        MUST(cudaEventRecord(before, stream));
        launch(memory, BYTES, stream);
        MUST(cudaEventSynchronize(before));
        MUST(cudaFree(memory));
        finish();
        MUST(cudaEventDestroy(before));
    }
}

static void launch_wrongly(void)
{
    cudaStream_t stream = new_stream();
    void *memory = new_memory(BYTES);

    load_kernel();
    launch(memory, BYTES, stream);
    launch(memory, BYTES + 4, stream);
    MUST(cudaFree(memory));
    launch(memory, BYTES, stream);
    finish();
}

/* The graph's memory is judged as it is at each launch, and while it runs. */
static void replay(void)
{
    cudaStream_t stream = new_stream();
    void *memory = new_memory(BYTES);
    cudaGraph_t graph;
    cudaGraphExec_t exec;

    load_kernel();
    MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    launch(memory, BYTES, stream);
    MUST(cudaMemsetAsync(memory, 0, BYTES, stream));
    MUST(cudaStreamEndCapture(stream, &graph));
    MUST(cudaGraphInstantiate(&exec, graph, 0));
    MUST(cudaGraphLaunch(exec, stream));
    MUST(cudaFree(memory));
    MUST(cudaGraphLaunch(exec, stream));
    finish();
    MUST(cudaGraphExecDestroy(exec));
    MUST(cudaGraphDestroy(graph));
}

static void break_capture(void)
{
    cudaStream_t stream = new_stream();
    void *memory = new_memory(BYTES);
    cudaGraph_t graph = NULL;

    MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    (void)cudaFree(memory);
    (void)cudaStreamEndCapture(stream, &graph);
    MUST(cudaFree(memory));
}

static void *work(void *bytes)
{
    cudaStream_t stream = new_stream();

    for (int i = 0; i < 200; i++) {
        void *memory = new_memory((size_t)bytes);

        launch(memory, (size_t)bytes, stream);
        MUST(cudaMemsetAsync(memory, i, (size_t)bytes, stream));
        MUST(cudaFree(memory));
    }
    MUST(cudaStreamDestroy(stream));
    return NULL;
}

/* Right: threads that use memory of the same size, which a cache passes from one to the other. */
static void threads(void)
{
    pthread_t others[4];

    MUST(cudaFree(NULL));
    load_kernel();
    for (int i = 0; i < 4; i++)
        must(pthread_create(&others[i], NULL, work, (void *)(uintptr_t)(4096 * (1 + i / 2))),
             "thread");
    for (int i = 0; i < 4; i++)
        pthread_join(others[i], NULL);
}

static void *ask_for_a_new_size(void *stream)
{
    void *memory;

    must(pthread_setname_np(pthread_self(), "held"), "name");
    memory = new_memory(7 * BYTES);
    MUST(cudaMemsetAsync(memory, 7, BYTES, stream));
    MUST(cudaFree(memory));
    return NULL;
}

/* Right: while one thread stands inside the driver's allocation, the other goes on. */
static void held_thread(void)
{
    cudaStream_t first = new_stream(), second = new_stream();
    pthread_t other;

    hand_over_between(first, second);
    must(simcuda_hold_thread("held", "cuMemAlloc"), "hold");
    must(pthread_create(&other, NULL, ask_for_a_new_size, first), "thread");
    simcuda_await_thread("held");
    hand_over_between(first, second);
    simcuda_release_thread("held");
    pthread_join(other, NULL);
}

/* hand_over() by the driver's calls alone, linked or from the resolver; and a free too many. */
static void hand_over_by_driver(CUresult (*allocate)(CUdeviceptr *, size_t),
                                CUresult (*release)(CUdeviceptr))
{
    cudaStream_t first = new_stream(), second = new_stream();
    CUdeviceptr memory[BUFFERS];

    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < BUFFERS; i++) {
            MUST(allocate(&memory[i], (i + 1) * BYTES));
            MUST(cuMemsetD8Async(memory[i], 1, BYTES, first));
        }
        for (size_t i = 0; i < BUFFERS; i++)
            MUST(release(memory[i]));
        for (size_t i = 0; i < BUFFERS; i++) {
            MUST(allocate(&memory[i], (i + 1) * BYTES));
            MUST(cuMemsetD8Async(memory[i], 2, BYTES, second));
        }
        MUST(cuStreamSynchronize(second));
        MUST(cuCtxSynchronize());
        for (size_t i = 0; i < BUFFERS; i++)
            MUST(release(memory[i]));
    }
    (void)release(memory[0]);
}

static void linked_driver(void)
{
    hand_over_by_driver(cuMemAlloc, cuMemFree);
}

static void resolved_driver(void)
{
    CUresult (*allocate)(CUdeviceptr *, size_t);
    CUresult (*release)(CUdeviceptr);
    CUdriverProcAddressQueryResult found;

    MUST(cuGetProcAddress("cuMemAlloc", (void **)&allocate, 13000, 0, &found));
    MUST(cuGetProcAddress("cuMemFree", (void **)&release, 13000, 0, &found));
    hand_over_by_driver(allocate, release);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*act)(void);
    } acts[] = {
        {"hand-over", hand_over},
        {"hand-over-in-order", hand_over_in_order},
        {"let-go", let_go},
        {"use-after-free", use_after_free},
        {"out-of-bounds", out_of_bounds},
        {"free-twice", free_twice},
        {"free-what-is-not", free_what_is_not},
        {"leak", leak},
        {"two-owners", two_owners},
        {"kernel", kernel},
        {"launch-wrongly", launch_wrongly},
        {"replay", replay},
        {"break-capture", break_capture},
        {"threads", threads},
        {"held-thread", held_thread},
        {"linked-driver", linked_driver},
        {"resolved-driver", resolved_driver},
    };

    for (size_t i = 0; argc == 2 && i < sizeof acts / sizeof *acts; i++)
        if (strcmp(argv[1], acts[i].name) == 0) {
            acts[i].act();
            return EXIT_SUCCESS;
        }
    fputs("usage: sinner WHAT\n", stderr);
    return 2;
}
