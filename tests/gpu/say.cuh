/* SPDX-License-Identifier: MIT
 * say.cuh - what the checks have in common: how they tell gpu.py a fact, and how they reach the
 * driver.
 *
 * A fact is one line on stdout, "name value unit": a name has no blank, a unit is "-" where there
 * is none. What the simulated GPU does not model has the value "-" and the unit "unsupported". A
 * program judges nothing but its own ability to go on: it ends with 0 when it said everything, 1
 * when a call it depends on failed.
 *
 * Driver functions are looked up in libcuda by hand, so that a program needs no driver to link. */
#ifndef GPU_SAY_CUH
#define GPU_SAY_CUH

#include <algorithm>
#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string>
#include <time.h>
#include <vector>

#include "simcuda.h"
#define SHAPECACHE_WEAK
#include "shapecache/shapecache.h"

static const size_t KIB = 1 << 10;
static const size_t MIB = 1 << 20;

static inline void say(const std::string &name, unsigned long long value, const char *unit)
{
    printf("%s %llu %s\n", name.c_str(), value, unit);
}

static inline void say_us(const std::string &name, double ns)
{
    printf("%s %.3f us\n", name.c_str(), ns / 1000);
}

static inline void say_word(const std::string &name, const char *word)
{
    printf("%s %s -\n", name.c_str(), word);
}

/* A CUresult or cudaError_t; those that matter here have the same numbers in both. */
static inline void say_code(const std::string &name, int code)
{
    printf("%s %d code\n", name.c_str(), code);
}

static inline void say_unsupported(const std::string &name)
{
    printf("%s - unsupported\n", name.c_str());
}

static inline std::string size_name(size_t bytes)
{
    if (bytes >= MIB && bytes % MIB == 0)
        return std::to_string(bytes / MIB) + "MiB";
    if (bytes >= KIB && bytes % KIB == 0)
        return std::to_string(bytes / KIB) + "KiB";
    return std::to_string(bytes) + "B";
}

static inline void must_code(int code, const char *call, const char *file, int line)
{
    if (code == 0)
        return;
    fflush(stdout);
    fprintf(stderr, "%s:%d: %s: error %d\n", file, line, call, code);
    exit(1);
}
#define MUST(call) must_code((int)(call), #call, __FILE__, __LINE__)

static inline void *libcuda(void)
{
    static void *handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

    if (handle == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return handle;
}

/* The function that libcuda exports under exactly this name; NULL: the driver has none. */
#define DRIVER(name) reinterpret_cast<decltype(&name)>(dlsym(libcuda(), #name))

static inline unsigned long long now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (unsigned long long)now.tv_sec * 1000000000u + (unsigned long long)now.tv_nsec;
}

static inline double median(std::vector<double> values)
{
    if (values.empty())
        return 0;
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

static inline size_t free_bytes(void)
{
    size_t available = 0, total = 0;

    MUST(cudaMemGetInfo(&available, &total));
    return available;
}

/* Ends a step, where the cache is there to be told. */
static inline void end_step(void)
{
    if (shapecache_step != NULL)
        (void)shapecache_step(-1);
}

#endif
