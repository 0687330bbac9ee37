/* SPDX-License-Identifier: MIT
 * test_capture_unsafe.c - which calls a capture forbids, to which threads, in which mode. */
#include <stdlib.h>
#include <string.h>

#include "captures.h"

static CUresult alloc_pitch(void)
{
    CUdeviceptr address;
    size_t pitch;

    return cuMemAllocPitch(&address, &pitch, 8, 8, 4);
}

static CUresult alloc_managed(void)
{
    CUdeviceptr address;

    return cuMemAllocManaged(&address, 512, CU_MEM_ATTACH_GLOBAL);
}

static CUresult alloc_pinned(void)
{
    void *address;

    return cuMemHostAlloc(&address, 512, 0);
}

static CUresult register_host(void)
{
    return cuMemHostRegister(things.host, sizeof things.host, 0);
}

static CUresult free_device(void)
{
    return cuMemFree(things.device);
}

static CUresult free_managed(void)
{
    return cuMemFree(things.managed);
}

static CUresult free_pinned(void)
{
    return cuMemFreeHost(things.pinned);
}

static CUresult query_event(void)
{
    return cuEventQuery(things.event);
}

static CUresult synchronise_event(void)
{
    return cuEventSynchronize(things.event);
}

static CUresult load_module(void)
{
    CUmodule module;

    return cuModuleLoadData(&module, "an image");
}

static CUresult unload_module(void)
{
    return cuModuleUnload(things.module);
}

static CUresult (*const unsafe[])(void) = {
    alloc,        alloc_pitch, alloc_managed, alloc_pinned,      register_host, free_device,
    free_managed, free_pinned, query_event,   synchronise_event, load_module,   unload_module};

#define UNSAFE ((int)(sizeof unsafe / sizeof *unsafe))

START_TEST(each_unsafe_call_in_the_capturing_thread_invalidates_a_global_capture)
{
    CUstream stream;

    make_things();
    stream = captured(CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_NON_BLOCKING);
    ANSWERS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, unsafe[_i]());
    expect_invalid(stream);
    OK(unsafe[_i]()); /* and had no effect the first time */
}
END_TEST

START_TEST(each_unsafe_call_in_the_capturing_thread_invalidates_a_thread_local_capture)
{
    CUstream stream;

    make_things();
    stream = captured(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_NON_BLOCKING);
    ANSWERS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, unsafe[_i]());
    expect_invalid(stream);
}
END_TEST

START_TEST(unsafe_calls_are_allowed_beside_a_relaxed_capture)
{
    CUstream stream;

    make_things();
    stream = captured(CU_STREAM_CAPTURE_MODE_RELAXED, CU_STREAM_NON_BLOCKING);
    OK(unsafe[_i]());
    expect_valid(stream);
}
END_TEST

START_TEST(each_unsafe_call_in_another_thread_invalidates_a_global_capture)
{
    CUstream stream;

    make_things();
    stream = captured(CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_NON_BLOCKING);
    ANSWERS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
            elsewhere(unsafe[_i], CU_STREAM_CAPTURE_MODE_GLOBAL));
    expect_invalid(stream);
}
END_TEST

START_TEST(another_threads_unsafe_calls_do_not_touch_a_thread_local_or_relaxed_capture)
{
    CUstream stream;

    stream = captured(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_NON_BLOCKING);
    OK(elsewhere(alloc, CU_STREAM_CAPTURE_MODE_GLOBAL));
    expect_valid(stream);
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(elsewhere(alloc, CU_STREAM_CAPTURE_MODE_GLOBAL));
    expect_valid(stream);
}
END_TEST

START_TEST(a_thread_that_is_not_global_ignores_the_captures_of_others)
{
    CUstream stream = captured(CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_NON_BLOCKING);

    OK(elsewhere(alloc, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    OK(elsewhere(alloc, CU_STREAM_CAPTURE_MODE_RELAXED));
    expect_valid(stream);
}
END_TEST

START_TEST(a_relaxed_thread_may_make_unsafe_calls_inside_its_own_capture)
{
    CUstream stream = captured(CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_NON_BLOCKING);
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

    OK(cuThreadExchangeStreamCaptureMode(&mode));
    OK(alloc());
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    ck_assert_int_eq(mode, CU_STREAM_CAPTURE_MODE_RELAXED);
    expect_valid(stream);
    mode = (CUstreamCaptureMode)7;
    INVALID(cuThreadExchangeStreamCaptureMode(&mode));
    INVALID(cuThreadExchangeStreamCaptureMode(NULL));
}
END_TEST

static void break_rules(void)
{
    CUstream stream = captured(CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_DEFAULT);
    CUgraph graph;

    ANSWERS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, alloc());
    ANSWERS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, alloc()); /* nothing left to invalidate */
    ANSWERS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    ANSWERS(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, cuStreamSynchronize(NULL));
}

START_TEST(each_capture_that_a_call_invalidates_is_a_violation)
{
    char *report = report_of(break_rules);
    char *text = stderr_of(break_rules);

    ck_assert_int_eq(number_in(report, "capture"), 2);
    ck_assert_ptr_nonnull(strstr(text, "simcuda: capture: cuMemAlloc_v2 invalidates the global "
                                       "capture"));
    free(report);
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("capture unsafe");
    TCase *tcase = tcase_create("capture unsafe");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(
        tcase, each_unsafe_call_in_the_capturing_thread_invalidates_a_global_capture, 0, UNSAFE);
    tcase_add_loop_test(tcase,
                        each_unsafe_call_in_the_capturing_thread_invalidates_a_thread_local_capture,
                        0, UNSAFE);
    tcase_add_loop_test(tcase, unsafe_calls_are_allowed_beside_a_relaxed_capture, 0, UNSAFE);
    tcase_add_loop_test(tcase, each_unsafe_call_in_another_thread_invalidates_a_global_capture, 0,
                        UNSAFE);
    tcase_add_test(tcase,
                   another_threads_unsafe_calls_do_not_touch_a_thread_local_or_relaxed_capture);
    tcase_add_test(tcase, a_thread_that_is_not_global_ignores_the_captures_of_others);
    tcase_add_test(tcase, a_relaxed_thread_may_make_unsafe_calls_inside_its_own_capture);
    tcase_add_test(tcase, each_capture_that_a_call_invalidates_is_a_violation);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
