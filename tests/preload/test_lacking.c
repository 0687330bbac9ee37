/* SPDX-License-Identifier: MIT
 * Drivers that lack functions. Runs under libprobe.so beside a fake libcuda of CUDA 11.4's names
 * ("old"), or one without a function that the engine needs ("half"). */
#include "check.h"
#include "driver_types.h"
#include "fake.h"
#include "probe.h"
#include <string.h>

static void *libcuda;
static probe *seen;

static void an_old_driver_is_served(void)
{
    alloc_type *alloc = FIND(alloc_type, libcuda, "cuMemAlloc_v2");
    resolve4_type *resolve = FIND(resolve4_type, libcuda, "cuGetProcAddress");
    fake_twins_type *twins = FIND(fake_twins_type, libcuda, "fake_twins");
    uint64_t address = 0;
    void *found = NULL;

    CHECK(alloc(&address, 64) == SUCCESS && seen->allocs == 1, "it is served");
    twins(true);
    CHECK(resolve("cuMemAlloc", &found, 3020, 0) == SUCCESS && found == (void *)(uintptr_t)alloc,
          "its only resolver is enough to see through pointers");
    CHECK(dlsym(libcuda, "cuGetProcAddress_v2") == NULL &&
              dlsym(libcuda, "cuStreamBeginCaptureToGraph") == NULL,
          "what it lacks, programs do not find");
    CHECK(dlerror() != NULL, "and are told");
    CHECK(FIND(nothing_type, RTLD_DEFAULT, "cuCtxSynchronize_v2")() == NOT_INITIALIZED,
          "what of it only we have answers an error");
}

static void half_a_driver_is_left_alone(void)
{
    fake_calls_type *calls = FIND(fake_calls_type, libcuda, "fake_calls");
    alloc_type *alloc = FIND(alloc_type, libcuda, "cuMemAlloc_v2");
    free_type *release = FIND(free_type, libcuda, "cuMemFree_v2");
    uint64_t address = 0;

    CHECK(alloc(&address, 64) == SUCCESS && release(address) == SUCCESS &&
              calls("cuMemAlloc_v2") == 1 && calls("cuMemFree_v2") == 1,
          "calls go straight through");
    CHECK(FIND(nothing_type, libcuda, "cuCtxSynchronize")() == SUCCESS, "waits, too");
    CHECK(seen->attached == 0 && seen->allocs == 0 && seen->frees == 0 && seen->results == 0,
          "the engine hears nothing");
}

int main(int argc, char **argv)
{
    libcuda = must(dlopen("libcuda.so.1", RTLD_NOW), "libcuda.so.1");
    CHECK(dlsym(libcuda, "cuCtxSetCurrent") != NULL && dlerror() == NULL,
          "our own failed look-ups, which this one caused, leave no error");
    seen = FIND(probe_state_type, RTLD_DEFAULT, "probe_state")();
    (void)FIND(context_type, libcuda, "cuCtxSetCurrent")(FAKE_CONTEXT);
    if (argc > 1 && strcmp(argv[1], "old") == 0)
        an_old_driver_is_served();
    else if (argc > 1 && strcmp(argv[1], "half") == 0)
        half_a_driver_is_left_alone();
    else
        return 2;
    return check_failures != 0;
}
