/* SPDX-License-Identifier: MIT
 * doors.cu - the same steps through one way to the driver: runtime (cudaMalloc), dlsym, resolver
 * (cuGetProcAddress), entry (cudaGetDriverEntryPointByVersion) or, in the program that is linked to
 * libcuda, elf. A kernel writes every buffer and the host reads it back, so an address that is not
 * what it should be shows. argv: door. */
#include "say.cuh"

#include <string.h>

enum { STEPS = 40, BUFFERS = 8 };

typedef CUresult (*alloc_type)(CUdeviceptr *, size_t);
typedef CUresult (*free_type)(CUdeviceptr);

static alloc_type allocate;
static free_type release;

extern "C" __global__ void gpu_fill(unsigned *words, unsigned count, unsigned value)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < count)
        words[i] = value + i;
}

static void fill_on_host(const simcuda_launch *, void **args)
{
    unsigned *words = *(unsigned **)args[0];
    const unsigned count = *(unsigned *)args[1], value = *(unsigned *)args[2];

    for (unsigned i = 0; i < count; i++)
        words[i] = value + i;
}

static CUresult runtime_alloc(CUdeviceptr *address, size_t bytes)
{
    return (CUresult)cudaMalloc((void **)address, bytes);
}

static CUresult runtime_free(CUdeviceptr address)
{
    return (CUresult)cudaFree((void *)address);
}

static void *resolve(const char *name)
{
    CUdriverProcAddressQueryResult status;
    void *found = NULL;
    auto resolver = DRIVER(cuGetProcAddress_v2);

    if (resolver == NULL || resolver(name, &found, 12000, 0, &status) != CUDA_SUCCESS)
        return NULL;
    return found;
}

static void *entry(const char *name)
{
    enum cudaDriverEntryPointQueryResult status;
    void *found = NULL;

    if (cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &status) !=
        cudaSuccess)
        return NULL;
    return found;
}

static void choose(const char *door)
{
    if (strcmp(door, "runtime") == 0) {
        allocate = runtime_alloc;
        release = runtime_free;
    } else if (strcmp(door, "dlsym") == 0) {
        allocate = DRIVER(cuMemAlloc_v2);
        release = DRIVER(cuMemFree_v2);
    } else if (strcmp(door, "resolver") == 0) {
        allocate = (alloc_type)resolve("cuMemAlloc");
        release = (free_type)resolve("cuMemFree");
    } else if (strcmp(door, "entry") == 0) {
        allocate = (alloc_type)entry("cuMemAlloc");
        release = (free_type)entry("cuMemFree");
#ifdef LINKED
    } else if (strcmp(door, "elf") == 0) {
        allocate = cuMemAlloc_v2;
        release = cuMemFree_v2;
#endif
    }
}

static unsigned long long wrong_words(CUdeviceptr address, unsigned count, unsigned value)
{
    std::vector<unsigned> words(count);
    unsigned long long wrong = 0;

    gpu_fill<<<(count + 255) / 256, 256>>>((unsigned *)address, count, value);
    MUST(cudaGetLastError());
    MUST(cudaMemcpy(words.data(), (void *)address, count * sizeof(unsigned),
                    cudaMemcpyDeviceToHost));
    for (unsigned i = 0; i < count; i++)
        wrong += words[i] != value + i;
    return wrong;
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {sizeof(void *), sizeof(unsigned), sizeof(unsigned)};
    unsigned long long wrong = 0;
    CUdeviceptr held[BUFFERS];

    if (simcuda_kernel != NULL)
        MUST(simcuda_kernel("gpu_fill", fill_on_host, sizes, 3, NULL));
    MUST(cudaFree(NULL));
    if (argc == 2)
        choose(argv[1]);
    if (allocate == NULL || release == NULL) {
        say_unsupported("wrong");
        return 0;
    }
    for (unsigned step = 0; step < STEPS; step++) {
        for (unsigned i = 0; i < BUFFERS; i++)
            MUST(allocate(&held[i], (i + 1) * 256 * KIB));
        for (unsigned i = 0; i < BUFFERS; i++)
            wrong += wrong_words(held[i], (i + 1) * 64 * KIB, step * 1000 + i);
        for (unsigned i = 0; i < BUFFERS; i++)
            MUST(release(held[i]));
        end_step();
    }
    say("requests", STEPS * BUFFERS, "calls");
    say("wrong", wrong, "words");
    return 0;
}
