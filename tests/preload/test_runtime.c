/* SPDX-License-Identifier: MIT
 * The runtime layer. Runs under libprobe.so, linked with libcudart.so.13 (a fake), with argv:
 * which cases. */
#include "check.h"
#include "driver_types.h"
#include "engine/engine.h"
#include "fake.h"
#include "probe.h"
#include <string.h>

/* Weak: one of the programs made from this file links no libcudart. */
__attribute__((weak)) runtime_malloc_type cudaMalloc;
__attribute__((weak)) runtime_free_type cudaFree;

static probe *seen;

static int calls_of(const char *name)
{
    return FIND(nothing_type, RTLD_DEFAULT, name)();
}

static void a_cudaMalloc_is_noted_and_counted_once(void)
{
    probe_site_type *site = FIND(probe_site_type, RTLD_DEFAULT, "probe_site");
    void *address = NULL;
    char text[256] = "";

    CHECK(cudaMalloc(&address, 4096) == SUCCESS && address != NULL, "it succeeds");
    CHECK(seen->notes == 1 && seen->allocs == 1, "it is one note and one request");
    CHECK(site(seen->caller, text, sizeof(text)) && strncmp(text, "test_runtime+0x", 15) == 0,
          "the request's caller is the program, not libcudart");
    CHECK(cudaFree(address) == SUCCESS && seen->frees == 1, "its free is one free");
    CHECK(calls_of("fake_cudart_calls_13") == 2, "libcudart saw both calls once");
    CHECK(seen->doors[SC_DOOR_RUNTIME] == 1, "the door is counted");
    CHECK(seen->bypassed == 0, "nothing went round us");
}

static void what_never_reaches_the_driver_proves_nothing(void)
{
    fake_answer_type *answer = FIND(
        fake_answer_type, must(dlopen("libcuda.so.1", RTLD_NOW), "libcuda.so.1"), "fake_answer");
    void *address = &address;

    CHECK(cudaMalloc(&address, 0) == SUCCESS && address == NULL, "zero bytes are no request");
    answer("cuMemAlloc_v2", OUT_OF_MEMORY);
    CHECK(cudaMalloc(&address, 64) == OUT_OF_MEMORY, "an error is passed on");
    answer("cuMemAlloc_v2", SUCCESS);
    CHECK(seen->bypassed == 0, "neither proves a bypass");
    seen->is_deaf = true;
    CHECK(cudaMalloc(&address, 64) == SUCCESS && seen->bypassed == 1,
          "a success that nobody saw at the driver does");
    seen->is_deaf = false;
}

static void each_object_keeps_its_own_libcudart(void)
{
    void *plugin = must(dlopen("libplugin12.so", RTLD_NOW | RTLD_LOCAL), "libplugin12.so");
    runtime_malloc_type *plugin_malloc = FIND(runtime_malloc_type, plugin, "plugin_malloc");
    nothing_type *calls12 = FIND(nothing_type, plugin, "fake_cudart_calls_12");
    const int before = calls_of("fake_cudart_calls_13");
    const unsigned allocs = seen->allocs;
    void *address = NULL;

    for (int i = 1; i <= 3; i++) { /* the first asks the loader, the others remember */
        CHECK(plugin_malloc(&address, 64) == SUCCESS && calls12() == i,
              "a plugin linked with libcudart.so.12 calls that");
    }
    CHECK(calls_of("fake_cudart_calls_13") == before, "and not the program's");
    CHECK(seen->allocs == allocs + 3, "and is served all the same");
}

static void a_static_libcudart_inside_a_library_is_that_librarys(void)
{
    void *plugin = must(dlopen("libplugins.so", RTLD_NOW | RTLD_LOCAL), "libplugins.so");
    runtime_malloc_type *plugin_malloc = FIND(runtime_malloc_type, plugin, "plugin_malloc");
    nothing_type *calls0 = FIND(nothing_type, plugin, "fake_cudart_calls_0");
    void *address = NULL;

    CHECK(plugin_malloc(&address, 64) == SUCCESS && calls0() == 1, "it calls its own");
}

static void another_preload_takes_part(void)
{
    void *address = NULL;

    CHECK(cudaMalloc(&address, 64) == SUCCESS, "it succeeds");
    CHECK(calls_of("other_calls") == 1, "the other preload saw the call once");
    CHECK(seen->notes == 1 && seen->allocs == 1, "so did we");
    CHECK(calls_of("fake_cudart_calls_13") == 1, "so did libcudart");
    CHECK(FIND(runtime_malloc_type, must(dlopen("libplugin12.so", RTLD_NOW), "libplugin12.so"),
               "plugin_malloc")(&address, 64) == SUCCESS &&
              calls_of("other_calls") == 2,
          "it also sees calls of objects that have a libcudart of their own");
}

static void a_program_keeps_its_own_beside_a_preloaded_one(void)
{
    void *address = NULL;

    CHECK(cudaMalloc(&address, 64) == SUCCESS && cudaFree(address) == SUCCESS, "it succeeds");
    CHECK(calls_of("fake_cudart_calls_12") == 2,
          "a program linked with libcudart.so.12 calls that");
    CHECK(calls_of("fake_cudart_calls_13") == 0, "and not the one that comes before it");
    CHECK(seen->allocs == 1 && seen->frees == 1, "and is served once");
}

static void without_a_libcudart_there_is_an_error(void)
{
    void *address = &address;

    CHECK(cudaMalloc(&address, 64) == 35 && address == &address && cudaFree(NULL) == 35,
          "a program that never had one gets cudaErrorInsufficientDriver");
    CHECK(seen->notes == 0, "and leaves no note");
}

static void one_that_nobody_linked_is_found(void)
{
    void *address = NULL;
    nothing_type *calls =
        FIND(nothing_type, must(dlopen("libcudart.so.13", RTLD_NOW | RTLD_LOCAL), "libcudart"),
             "fake_cudart_calls_13");

    CHECK(cudaMalloc(&address, 64) == SUCCESS && calls() == 1, "RTLD_LOCAL, as Python loads it");
}

static void a_libcudart_that_binds_past_us_is_proven(void)
{
    void *address = NULL;

    (void)must(dlopen("libcudart.so.13", RTLD_NOW | RTLD_DEEPBIND), "libcudart");
    CHECK(cudaMalloc(&address, 64) == SUCCESS, "RTLD_DEEPBIND: it works");
    CHECK(seen->allocs == 0 && seen->bypassed == 1, "and is known to have gone round us");
}

int main(int argc, char **argv)
{
    const char *which = argc > 1 ? argv[1] : "";

    seen = FIND(probe_state_type, RTLD_DEFAULT, "probe_state")();
    if (strcmp(which, "linked") == 0) {
        a_cudaMalloc_is_noted_and_counted_once();
        what_never_reaches_the_driver_proves_nothing();
        each_object_keeps_its_own_libcudart();
    } else if (strcmp(which, "chained") == 0) {
        another_preload_takes_part();
    } else if (strcmp(which, "beside") == 0) {
        a_program_keeps_its_own_beside_a_preloaded_one();
    } else if (strcmp(which, "loaded") == 0) {
        without_a_libcudart_there_is_an_error();
        a_static_libcudart_inside_a_library_is_that_librarys();
        one_that_nobody_linked_is_found();
    } else if (strcmp(which, "deepbind") == 0) {
        a_libcudart_that_binds_past_us_is_proven();
    } else {
        return 2;
    }
    return check_failures != 0;
}
