/* SPDX-License-Identifier: MIT
 * The first look-ups and the first runtime calls of many threads at once. Runs under
 * libshapecache.so beside the fakes, linked with libcudart.so.13. */
#include "check.h"
#include "driver_types.h"
#include "fake.h"
#include <pthread.h>

runtime_malloc_type cudaMalloc;
runtime_free_type cudaFree;

enum { THREADS = 32 };

static pthread_barrier_t start;
static void *libcuda;

static void *race(void *hook)
{
    void *address = NULL;

    (void)pthread_barrier_wait(&start);
    *(void **)hook = dlsym(libcuda, "cuMemAlloc_v2");
    CHECK(dlerror() == NULL, "no thread is left an error");
    CHECK(cudaMalloc(&address, 4096) == SUCCESS && cudaFree(address) == SUCCESS,
          "every thread is served");
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    void *hooks[THREADS] = {NULL};
    fake_address_type *real;
    fake_calls_type *calls;
    nothing_type *runtime_calls = FIND(nothing_type, RTLD_DEFAULT, "fake_cudart_calls_13");

    libcuda = must(dlopen("libcuda.so.1", RTLD_NOW), "libcuda.so.1");
    (void)pthread_barrier_init(&start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        (void)pthread_create(&threads[i], NULL, race, &hooks[i]);
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    real = FIND(fake_address_type, libcuda, "fake_address");
    calls = FIND(fake_calls_type, libcuda, "fake_calls");
    for (int i = 0; i < THREADS; i++) {
        CHECK(hooks[i] == hooks[0] && hooks[i] != NULL && hooks[i] != real("cuMemAlloc_v2"),
              "all are given the same hook");
    }
    CHECK(calls("cuMemAlloc_v2") == THREADS && calls("cuMemFree_v2") == THREADS,
          "the driver saw each call once");
    CHECK(runtime_calls() == 2 * THREADS, "so did libcudart");
    return check_failures != 0;
}
