/* SPDX-License-Identifier: MIT
 * launches.cu - work of every common kind, through libcudart, and how much of it count.c saw.
 * Facts: KIND.asked, KIND.counted  calls that enqueue work Without count.c preloaded it ends
 * with 1. */
#include "say.cuh"

#include <functional>

enum { CALLS = 10 };

extern "C" __attribute__((weak)) unsigned long long gpu_counted(void);

extern "C" __global__ void gpu_nothing(void)
{
}

static void count(const char *kind, const std::function<void()> &call)
{
    const unsigned long long before = gpu_counted();

    for (int i = 0; i < CALLS; i++)
        call();
    say(std::string(kind) + ".asked", CALLS, "-");
    say(std::string(kind) + ".counted", gpu_counted() - before, "-");
    MUST(cudaDeviceSynchronize());
}

static cudaGraphExec_t one_kernel(cudaStream_t stream)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;

    MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    gpu_nothing<<<1, 1, 0, stream>>>();
    MUST(cudaStreamEndCapture(stream, &graph));
    MUST(cudaGraphInstantiate(&exec, graph, 0));
    MUST(cudaGraphDestroy(graph));
    return exec;
}

int main(void)
{
    char *host, *device;
    cudaStream_t stream;

    if (gpu_counted == NULL) {
        fprintf(stderr, "nothing counts: preload libgpu_count.so\n");
        return 1;
    }
    MUST(cudaMallocHost((void **)&host, MIB));
    MUST(cudaMalloc((void **)&device, 2 * MIB));
    MUST(cudaStreamCreate(&stream));
    const cudaGraphExec_t exec = one_kernel(stream);

    count(
        "kernel", [] { gpu_nothing<<<1, 1>>>(); });
    count(
        "kernel_on_a_stream", [=] { gpu_nothing<<<1, 1, 0, stream>>>(); });
    count(
        "copy_to_device",
        [=] { MUST(cudaMemcpyAsync(device, host, MIB, cudaMemcpyHostToDevice, stream)); });
    count(
        "copy_to_host",
        [=] { MUST(cudaMemcpyAsync(host, device, MIB, cudaMemcpyDeviceToHost, stream)); });
    count(
        "copy_on_device",
        [=] {
            MUST(cudaMemcpyAsync(device + MIB, device, MIB, cudaMemcpyDeviceToDevice, stream));
        });
    count(
        "copy_and_wait", [=] { MUST(cudaMemcpy(host, device, MIB, cudaMemcpyDeviceToHost)); });
    count(
        "memset", [=] { MUST(cudaMemsetAsync(device, 1, MIB, stream)); });
    count("graph", [=] { MUST(cudaGraphLaunch(exec, stream)); });
    return 0;
}
