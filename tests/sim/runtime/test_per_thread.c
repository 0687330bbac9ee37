/* SPDX-License-Identifier: MIT
 * test_per_thread.c - a program compiled for per-thread default streams, which calls libcudart by
 * the names that end in _ptds and _ptsz. */
#define CUDA_API_PER_THREAD_DEFAULT_STREAM
#include "hold.h"
#include "sim/runtime/nvcc.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

/* Another thread's default stream is held while `meanwhile` runs in this one. */
typedef struct other {
    pthread_t thread;
    sem_t ready;
    sem_t gate;
    bool failed;
} other;

static void *occupy(void *argument)
{
    other *self = argument;
    cudaError_t error = cudaLaunchHostFunc(NULL, hold_wait, &self->gate);

    self->failed = error != cudaSuccess || cudaStreamQuery(NULL) != cudaErrorNotReady;
    sem_post(&self->ready);
    if (cudaStreamSynchronize(NULL) != cudaSuccess)
        self->failed = true;
    return NULL;
}

static void hold_another_thread(other *held)
{
    held->failed = false;
    ck_assert_int_eq(sem_init(&held->ready, 0, 0), 0);
    ck_assert_int_eq(sem_init(&held->gate, 0, 0), 0);
    ck_assert_int_eq(pthread_create(&held->thread, NULL, occupy, held), 0);
    hold_wait(&held->ready);
}

static void let_another_thread_go(other *held)
{
    let_go(&held->gate);
    ck_assert_int_eq(pthread_join(held->thread, NULL), 0);
    ck_assert(!held->failed);
}

START_TEST(a_default_stream_does_not_wait_for_another_threads)
{
    other held;
    char *device = NULL;
    char from[4] = "abc";
    char to[4] = "";
    cudaEvent_t event;

    ok(cudaMalloc((void **)&device, sizeof(from)));
    hold_another_thread(&held);
    ok(cudaMemsetAsync(device, 0, sizeof(from), NULL));
    ok(cudaMemcpyAsync(device, from, sizeof(from), cudaMemcpyHostToDevice, NULL));
    ok(cudaEventCreate(&event));
    ok(cudaEventRecord(event, NULL));
    ok(cudaStreamWaitEvent(NULL, event, 0));
    ok(cudaMemset(device + 1, 'x', 1));
    ok(cudaMemcpy(to, device, sizeof(to), cudaMemcpyDeviceToHost));
    ok(cudaStreamSynchronize(NULL));
    ok(cudaStreamQuery(NULL));
    ck_assert_str_eq(to, "axc");
    let_another_thread_go(&held);
    ok(cudaFree(device));
}
END_TEST

static void stub(void)
{
}

START_TEST(a_launch_goes_to_the_threads_own_stream)
{
    static const char no_image[64];
    static simrt_fat_binary binary = {0x466243b1, 1, no_image, NULL};
    void **handle = __cudaRegisterFatBinary(&binary);
    const dim3 one = {1, 1, 1};
    void *function = *(void *const *)&(void (*)(void)){stub};
    cudaKernel_t kernel = NULL;
    other held;

    __cudaRegisterFunction(handle, function, NULL, "kernel", -1, NULL, NULL, NULL, NULL, NULL);
    hold_another_thread(&held);
    ok(cudaLaunchKernel(function, one, one, NULL, 0, NULL));
    ok(__cudaGetKernel(&kernel, function));
    ok(__cudaLaunchKernel_ptsz(kernel, one, one, NULL, 0, NULL));
    ok(cudaStreamSynchronize(NULL));
    let_another_thread_go(&held);
}
END_TEST

START_TEST(stream_0_is_one_stream_by_all_its_names)
{
    unsigned long long own = 0;
    unsigned long long named = 1;
    unsigned long long legacy = 0;

    ok(cudaStreamGetId(NULL, &own));
    ok(cudaStreamGetId(cudaStreamPerThread, &named));
    ok(cudaStreamGetId(cudaStreamLegacy, &legacy));
    ck_assert_uint_eq(own, named);
    ck_assert_uint_ne(own, legacy);
}
END_TEST

START_TEST(a_threads_own_stream_can_be_captured_as_stream_0)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cudaGraph_t graph = NULL;

    ok(cudaStreamBeginCapture(NULL, cudaStreamCaptureModeThreadLocal));
    ok(cudaStreamIsCapturing(cudaStreamPerThread, &status));
    ck_assert_int_eq(status, cudaStreamCaptureStatusActive);
    ok(cudaStreamEndCapture(NULL, &graph));
    ok(cudaGraphDestroy(graph));
}
END_TEST

static const char *symbol_of(const void *function)
{
    Dl_info found;

    ck_assert_int_ne(dladdr(function, &found), 0);
    ck_assert_ptr_nonnull(found.dli_sname);
    return found.dli_sname;
}

START_TEST(an_entry_point_is_what_the_programs_own_call_would_reach)
{
    enum cudaDriverEntryPointQueryResult status;
    void *function = NULL;

    ok(cudaGetDriverEntryPointByVersion("cuMemcpy", &function, 13000, cudaEnableDefault, &status));
    ck_assert_str_eq(symbol_of(function), "cuMemcpy_ptds");
    ok(cudaGetDriverEntryPointByVersion("cuMemcpy", &function, 13000, cudaEnableLegacyStream,
                                        &status));
    ck_assert_str_eq(symbol_of(function), "cuMemcpy");
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_default_stream_does_not_wait_for_another_threads,
        a_launch_goes_to_the_threads_own_stream,
        stream_0_is_one_stream_by_all_its_names,
        a_threads_own_stream_can_be_captured_as_stream_0,
        an_entry_point_is_what_the_programs_own_call_would_reach,
    };

    return run_tests("per thread", tests, sizeof(tests) / sizeof(tests[0]));
}
