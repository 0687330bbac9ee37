/* SPDX-License-Identifier: MIT
 * answers.cu - what the driver and libcudart answer where a program does something odd. Every line
 * must be the same with the cache as without, but for those that begin with "visible.", which the
 * README names as what a program can tell. */
#include "say.cuh"

#include <thread>

enum { SETTLE = 12 };

static const size_t LARGE = 4 * MIB, SMALL = 256 * KIB;

static decltype(&cuMemAlloc_v2) mem_alloc;
static decltype(&cuMemFree_v2) mem_free;
static decltype(&cuCtxSetCurrent) set_current;

static CUdeviceptr allocate(size_t bytes)
{
    CUdeviceptr given = 0;

    MUST(mem_alloc(&given, bytes));
    return given;
}

static void settle(void)
{
    for (int step = 0; step < SETTLE; step++) {
        const CUdeviceptr large = allocate(LARGE), small = allocate(SMALL);

        MUST(mem_free(large));
        MUST(mem_free(small));
        end_step();
    }
}

static void ask_about_nothing(void)
{
    CUdeviceptr given = 0;
    void *block = &given;
    int local = 0;

    say_code("alloc_0_bytes", mem_alloc(&given, 0));
    say_code("runtime_alloc_0_bytes", cudaMalloc(&block, 0));
    say_word("runtime_alloc_0_bytes.pointer", block == NULL ? "null" : "not-null");
    say_code("free_null", mem_free(0));
    say_code("free_unknown", mem_free(0x1000));
    say_code("free_of_the_stack", mem_free((CUdeviceptr)(size_t)&local));
    say_code("runtime_free_unknown", cudaFree((void *)0x1000));
    say_code("runtime_free_unknown.last_error", cudaGetLastError());
}

static void ask_about(size_t bytes)
{
    const std::string size = "." + size_name(bytes);
    const CUdeviceptr block = allocate(bytes);
    CUdeviceptr base = 0;
    size_t range = 0;

    say_code("free_interior" + size, mem_free(block + 512));
    say_code("range_of_interior" + size,
             DRIVER(cuMemGetAddressRange_v2)(&base, &range, block + 512));
    say_word("range_of_interior.base" + size, base == block ? "the-block" : "another");
    say("range_of_interior.size" + size, range, "bytes");
    say_code("free" + size, mem_free(block));
    say_code("free_again" + size, mem_free(block));
    say_code("runtime_free_again" + size, cudaFree((void *)block));
    say_code("runtime_free_again.last_error" + size, cudaGetLastError());
    say_code("visible.range_of_freed" + size,
             DRIVER(cuMemGetAddressRange_v2)(&base, &range, block));
}

static void ask_without_context(void)
{
    CUdeviceptr given = 0;
    CUdeviceptr large = allocate(LARGE);
    const CUdeviceptr small = allocate(SMALL);
    CUcontext current = NULL;

    MUST(DRIVER(cuCtxGetCurrent)(&current));
    MUST(set_current(NULL));
    say_code("alloc_without_context", mem_alloc(&given, SMALL));
    say_code("free_without_context.4MiB", mem_free(large));
    say_code("free_without_context.256KiB", mem_free(small));
    MUST(set_current(current));
    large = allocate(LARGE);
    std::thread([&] { say_code("free_in_a_new_thread", mem_free(large)); }).join();
    large = allocate(LARGE);
    std::thread([&] { say_code("runtime_free_in_a_new_thread", cudaFree((void *)large)); }).join();
}

static void ask_with_another_context(void)
{
    /* CUDA 13's header no longer declares it, its driver still exports it. */
    auto create = (CUresult(*)(CUcontext *, unsigned, CUdevice))dlsym(libcuda(), "cuCtxCreate_v2");
    CUcontext current = NULL, other = NULL;
    const CUdeviceptr block = allocate(LARGE);

    MUST(DRIVER(cuCtxGetCurrent)(&current));
    if (create == NULL || create(&other, 0, 0) != CUDA_SUCCESS) {
        say_unsupported("free_with_another_context");
        MUST(mem_free(block));
        return;
    }
    say_code("free_with_another_context", mem_free(block));
    MUST(DRIVER(cuCtxDestroy_v2)(other));
    MUST(set_current(current));
}

static void ask_attributes(void)
{
    struct cudaPointerAttributes attributes = {};
    const CUdeviceptr block = allocate(LARGE);

    MUST(cudaPointerGetAttributes(&attributes, (void *)block));
    say("attributes.type", (unsigned)attributes.type, "cudaMemoryType");
    MUST(mem_free(block));
    say_code("visible.attributes_of_freed", cudaPointerGetAttributes(&attributes, (void *)block));
    say("visible.attributes_of_freed.type", (unsigned)attributes.type, "cudaMemoryType");
    (void)cudaGetLastError();
}

/* Last: the cache lets go of everything here. */
static void ask_for_too_much(void)
{
    size_t available = 0, total = 0;
    CUdeviceptr given = 0;

    MUST(cudaMemGetInfo(&available, &total));
    say_code("alloc_more_than_there_is", mem_alloc(&given, 2 * total));
    say_code("alloc_SIZE_MAX", mem_alloc(&given, SIZE_MAX));
    given = allocate(LARGE);
    say_code("free_after_out_of_memory", mem_free(given));
}

int main(void)
{
    mem_alloc = DRIVER(cuMemAlloc_v2);
    mem_free = DRIVER(cuMemFree_v2);
    set_current = DRIVER(cuCtxSetCurrent);
    MUST(cudaFree(NULL));
    settle();
    ask_about_nothing();
    ask_about(LARGE);
    ask_about(SMALL);
    ask_without_context();
    ask_with_another_context();
    ask_attributes();
    ask_for_too_much();
    return 0;
}
