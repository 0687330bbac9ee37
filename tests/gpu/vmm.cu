/* SPDX-License-Identifier: MIT
 * vmm.cu - what virtual memory calls cost for one page, and whether one physical page that is
 * mapped at two addresses is one memory. Medians of host time. */
#include "say.cuh"

enum { PAGES = 256 };

static decltype(&cuMemAddressReserve) reserve;
static decltype(&cuMemAddressFree) unreserve;
static decltype(&cuMemCreate) create;
static decltype(&cuMemRelease) destroy;
static decltype(&cuMemMap) map;
static decltype(&cuMemUnmap) unmap;
static decltype(&cuMemSetAccess) set_access;

static CUmemAllocationProp prop;
static size_t page;
static CUmemGenericAllocationHandle pages[PAGES];
static CUdeviceptr range; /* PAGES slots, and as many again that stay empty but for one */

static CUmemAccessDesc access_desc;

extern "C" __global__ void gpu_increment(unsigned *words)
{
    words[threadIdx.x]++;
}

static bool find_all(void)
{
    auto granularity = DRIVER(cuMemGetAllocationGranularity);
    size_t recommended = 0;

    reserve = DRIVER(cuMemAddressReserve);
    unreserve = DRIVER(cuMemAddressFree);
    create = DRIVER(cuMemCreate);
    destroy = DRIVER(cuMemRelease);
    map = DRIVER(cuMemMap);
    unmap = DRIVER(cuMemUnmap);
    set_access = DRIVER(cuMemSetAccess);
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access_desc.location = prop.location;
    access_desc.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    if (!reserve || !unreserve || !create || !destroy || !map || !unmap || !set_access ||
        !granularity || granularity(&page, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM) != CUDA_SUCCESS)
        return false;
    MUST(granularity(&recommended, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    say("granularity.minimum", page, "bytes");
    say("granularity.recommended", recommended, "bytes");
    page = recommended;
    return true;
}

/* The median time of `call` for each page. */
template <typename Call> static void time_pages(const char *name, Call call)
{
    std::vector<double> times;

    for (size_t i = 0; i < PAGES; i++) {
        const unsigned long long start = now_ns();

        MUST(call(i));
        times.push_back((double)(now_ns() - start));
    }
    say_us(name, median(times));
}

template <typename Call> static void time_once(const char *name, double parts, Call call)
{
    const unsigned long long start = now_ns();

    MUST(call());
    say_us(name, (double)(now_ns() - start) / parts);
}

static CUdeviceptr slot(size_t number)
{
    return range + number * page;
}

/* One call for many mappings; should a driver want them one by one, they get that. */
static void time_range_access(void)
{
    const unsigned long long start = now_ns();
    const CUresult result = set_access(range, PAGES * page, &access_desc, 1);

    if (result == CUDA_SUCCESS) {
        say_us("set_access_of_256_pages_each", (double)(now_ns() - start) / (double)PAGES);
        return;
    }
    say_code("set_access_of_256_pages", result);
    for (size_t i = 0; i < PAGES; i++)
        MUST(set_access(slot(i), page, &access_desc, 1));
}

static void time_calls(void)
{
    const size_t free_before = free_bytes();

    time_once(
        "reserve_512_pages", 1, [] { return reserve(&range, 2 * PAGES * page, 0, 0, 0); });
    time_pages("create", [](size_t i) { return create(&pages[i], page, &prop, 0); });
    say("device_bytes_a_page", (free_before - free_bytes()) / PAGES, "bytes");
    time_pages(
        "map", [](size_t i) { return map(slot(i), page, 0, pages[i], 0); });
    time_pages(
        "set_access", [](size_t i) { return set_access(slot(i), page, &access_desc, 1); });
    time_pages(
        "unmap", [](size_t i) { return unmap(slot(i), page); });
    time_pages("map_again", [](size_t i) { return map(slot(i), page, 0, pages[i], 0); });
    time_range_access();
}

static unsigned word_at(CUdeviceptr address)
{
    unsigned word = 0;

    MUST(cudaMemcpy(&word, (void *)address, sizeof word, cudaMemcpyDeviceToHost));
    return word;
}

/* Slot PAGES shows the page of slot 0. */
static void try_alias(void)
{
    const CUdeviceptr first = slot(0), second = slot(PAGES);
    const unsigned written = 1000;
    const size_t free_before = free_bytes();
    bool is_one;

    if (map(second, page, 0, pages[0], 0) != CUDA_SUCCESS ||
        set_access(second, page, &access_desc, 1) != CUDA_SUCCESS) {
        say_word("alias", "refused");
        return;
    }
    say("alias.device_bytes", free_before - std::min(free_before, free_bytes()), "bytes");
    MUST(cudaMemcpy((void *)first, &written, sizeof written, cudaMemcpyHostToDevice));
    is_one = word_at(second) == written;
    gpu_increment<<<1, 1>>>((unsigned *)second);
    MUST(cudaDeviceSynchronize());
    is_one = is_one && word_at(first) == written + 1;
    gpu_increment<<<1, 1>>>((unsigned *)first); /* each kernel reads what the one before wrote */
    gpu_increment<<<1, 1>>>((unsigned *)second);
    MUST(cudaDeviceSynchronize());
    is_one = is_one && word_at(first) == written + 3 && word_at(second) == written + 3;
    say_word("alias", is_one ? "one-memory" : "not-one-memory");
    MUST(unmap(first, page)); /* the page lives on at the second address */
    say_word("alias.after_the_first_is_unmapped",
             word_at(second) == written + 3 ? "still-there" : "gone");
    MUST(unmap(second, page));
    MUST(map(first, page, 0, pages[0], 0));
    MUST(set_access(first, page, &access_desc, 1));
}

/* What lending a page costs: from one slot to another and back. */
static void time_lending(void)
{
    time_pages("remap", [](size_t i) {
        CUresult result = unmap(slot(i), page);

        if (result == CUDA_SUCCESS)
            result = map(slot(PAGES + i), page, 0, pages[i], 0);
        return result == CUDA_SUCCESS ? set_access(slot(PAGES + i), page, &access_desc, 1) : result;
    });
    for (size_t i = 0; i < PAGES; i++)
        MUST(unmap(slot(PAGES + i), page));
}

int main(void)
{
    CUdeviceptr probe = 0;

    MUST(cudaFree(NULL));
    if (!find_all() || reserve(&probe, page, 0, 0, 0) != CUDA_SUCCESS) {
        say_unsupported("vmm");
        return 0;
    }
    MUST(unreserve(probe, page));
    time_calls();
    try_alias();
    time_lending();
    time_pages(
        "release", [](size_t i) { return destroy(pages[i]); });
    time_once("unreserve_512_pages", 1, [] { return unreserve(range, 2 * PAGES * page); });
    return 0;
}
