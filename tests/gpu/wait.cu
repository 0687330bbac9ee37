/* SPDX-License-Identifier: MIT
 * wait.cu - which calls wait for a kernel that is running. A kernel spins until the host lets it
 * go, and writes a last word; a thread makes the call and looks, when it is back, whether that word
 * is there. The host lets the kernel go when the call is back, or after PATIENCE_MS. For each call:
 *     CALL.STREAM.SIZE  waited (the kernel had ended when the call was back) or returned
 * STREAM: same, the kernel has the block among its arguments; other, it does not. */
#include "say.cuh"

#include <atomic>
#include <sched.h>
#include <thread>

enum { SETTLE = 12, PATIENCE_MS = 200 };

struct words {
    unsigned started, go, ended;
};

static volatile struct words *host; /* mapped: the device sees the same three words */
static struct words *device;

static __host__ __device__ void spin(volatile struct words *words, unsigned *block)
{
    words->started = 1;
    while (words->go == 0) {
#ifndef __CUDA_ARCH__
        sched_yield();
#endif
    }
    if (block != NULL)
        *block = 1;
#ifdef __CUDA_ARCH__
    __threadfence_system();
#endif
    words->ended = 1;
}

extern "C" __global__ void gpu_spin(volatile struct words *words, unsigned *block)
{
    spin(words, block);
}

static void spin_on_host(const simcuda_launch *, void **args)
{
    spin(*(volatile struct words **)args[0], *(unsigned **)args[1]);
}

static void sleep_ms(unsigned ms)
{
    const struct timespec pause = {0, (long)ms * 1000000};

    nanosleep(&pause, NULL);
}

/* Runs `call` in a thread while the kernel runs in `stream`. */
template <typename Call>
static void observe(const std::string &name, cudaStream_t stream, unsigned *block, Call call)
{
    std::atomic<bool> is_under_way(false), is_back(false);
    bool had_ended = false;

    host->started = 0;
    host->go = 0;
    host->ended = 0;
    gpu_spin<<<1, 1, 0, stream>>>(device, block);
    MUST(cudaGetLastError());
    while (host->started == 0)
        sched_yield();
    std::thread thread([&] {
        is_under_way = true;
        call();
        had_ended = host->ended != 0;
        is_back = true;
    });
    while (!is_under_way)
        sched_yield();
    for (unsigned ms = 0; ms < PATIENCE_MS && !is_back; ms++)
        sleep_ms(1);
    host->go = 1;
    thread.join();
    MUST(cudaStreamSynchronize(stream));
    say_word(name, had_ended ? "waited" : "returned");
}

static unsigned *allocate(size_t bytes)
{
    void *given = NULL;

    MUST(cudaMalloc(&given, bytes));
    return (unsigned *)given;
}

static const size_t sizes[] = {128 * KIB, 4 * MIB};

/* Until the cache, if it is there, holds a buffer of each size. */
static void settle(void)
{
    for (int step = 0; step < SETTLE; step++) {
        void *held[] = {allocate(sizes[0]), allocate(sizes[1])};

        for (void *block : held)
            MUST(cudaFree(block));
        end_step();
    }
}

static void observe_size(cudaStream_t stream, size_t bytes)
{
    unsigned *block = allocate(bytes), *given = NULL;
    const std::string size = size_name(bytes);

    observe("free.same." + size, stream, block, [&] { MUST(cudaFree(block)); });
    block = allocate(bytes);
    observe(
        "free.other." + size, stream, NULL, [&] { MUST(cudaFree(block)); });
    observe("malloc.other." + size, stream, NULL, [&] { given = allocate(bytes); });
    MUST(cudaFree(given));
    end_step();
}

int main(void)
{
    static const size_t argument_sizes[] = {sizeof(void *), sizeof(void *)};
    cudaStream_t stream;
    void *pinned = NULL;

    if (simcuda_kernel != NULL)
        MUST(simcuda_kernel("gpu_spin", spin_on_host, argument_sizes, 2, NULL));
    MUST(cudaHostAlloc((void **)&host, sizeof *host, cudaHostAllocMapped));
    MUST(cudaHostGetDevicePointer((void **)&device, (void *)host, 0));
    MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    host->go = 1; /* once without waiting: loads the module */
    gpu_spin<<<1, 1, 0, stream>>>(device, NULL);
    MUST(cudaStreamSynchronize(stream));
    settle();
    for (size_t bytes : sizes)
        observe_size(stream, bytes);
    MUST(cudaMallocHost(&pinned, MIB));
    observe("free_host.other.1MiB", stream, NULL, [&] { MUST(cudaFreeHost(pinned)); });
    MUST(cudaStreamDestroy(stream));
    MUST(cudaFreeHost((void *)host));
    return 0;
}
