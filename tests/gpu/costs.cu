/* SPDX-License-Identifier: MIT
 * costs.cu - what cudaMalloc, cudaFree and a wait for an idle device cost, as medians of host time.
 *
 * Steps that allocate every size, then free every size, with nothing enqueued. `early` are steps 5
 * to 29, `late` steps 45 to 74: under the cache with SHAPECACHE_WARMUP=30 the early ones go through
 * its hooks to the driver and the late ones are served, in one process. */
#include "say.cuh"

enum { STEPS = 75, EARLY = 5, EARLY_END = 30, LATE = 45, REPEATS = 1000 };

static const size_t sizes[] = {4 * KIB, 256 * KIB, MIB, 2 * MIB, 16 * MIB, 64 * MIB, 256 * MIB};
static const size_t COUNT = sizeof(sizes) / sizeof(sizes[0]);

extern "C" __global__ void gpu_nothing(void)
{
}

template <typename Call> static double time_of(Call call)
{
    std::vector<double> times;

    for (int i = 0; i < REPEATS; i++) {
        const unsigned long long start = now_ns();

        call();
        times.push_back((double)(now_ns() - start));
    }
    return median(times);
}

struct series {
    std::vector<double> early, late;
};

static void note(struct series *series, int step, unsigned long long start)
{
    const double took = (double)(now_ns() - start);

    if (step >= EARLY && step < EARLY_END)
        series->early.push_back(took);
    else if (step >= LATE)
        series->late.push_back(took);
}

static void say_series(const char *what, size_t bytes, const struct series &series)
{
    say_us(std::string(what) + ".early." + size_name(bytes), median(series.early));
    say_us(std::string(what) + ".late." + size_name(bytes), median(series.late));
}

static void measure_pairs(void)
{
    static struct series allocations[COUNT], frees[COUNT];
    void *held[COUNT];

    for (int step = 0; step < STEPS; step++) {
        for (size_t i = 0; i < COUNT; i++) {
            const unsigned long long start = now_ns();

            MUST(cudaMalloc(&held[i], sizes[i]));
            note(&allocations[i], step, start);
        }
        for (size_t i = 0; i < COUNT; i++) {
            const unsigned long long start = now_ns();

            MUST(cudaFree(held[i]));
            note(&frees[i], step, start);
        }
        end_step();
    }
    for (size_t i = 0; i < COUNT; i++) {
        say_series("malloc", sizes[i], allocations[i]);
        say_series("free", sizes[i], frees[i]);
    }
}

int main(void)
{
    auto wait = DRIVER(cuCtxSynchronize);

    MUST(cudaFree(NULL));
    gpu_nothing<<<1, 1>>>(); /* loads the module */
    MUST(cudaDeviceSynchronize());
    measure_pairs();
    say_us("wait.idle", time_of([&] { MUST(wait()); }));
    say_us("wait.idle_runtime", time_of([] { MUST(cudaDeviceSynchronize()); }));
    say_us("launch_and_wait", time_of([&] {
               gpu_nothing<<<1, 1>>>();
               MUST(wait());
           }));
    say_us("mem_get_info", time_of([] { (void)free_bytes(); }));
    return 0;
}
