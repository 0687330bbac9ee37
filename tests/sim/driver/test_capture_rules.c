/* SPDX-License-Identifier: MIT
 * test_capture_rules.c - what takes part in a capture, what waits for what, and how it ends.
 */
#include "captures.h"

START_TEST(an_invalidated_capture_takes_no_more_work)
{
    CUstream stream = captured(CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_NON_BLOCKING);
    CUevent event;

    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    ANSWERS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, alloc());
    ANSWERS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
            cuLaunchHostFunc(stream, (CUhostFn)(uintptr_t)alloc, NULL));
    ANSWERS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuEventRecord(event, stream));
    ANSWERS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamWaitEvent(stream, event, 0));
    ANSWERS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamSynchronize(stream));
    expect_invalid(stream);
    OK(cuStreamSynchronize(stream)); /* and is an ordinary stream again */
}
END_TEST

START_TEST(a_capturing_stream_cannot_be_asked_or_waited_for)
{
    CUstream stream = captured(CU_STREAM_CAPTURE_MODE_RELAXED, CU_STREAM_NON_BLOCKING);

    ANSWERS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamQuery(stream));
    expect_invalid(stream);
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    ANSWERS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamSynchronize(stream));
    expect_invalid(stream);
}
END_TEST

START_TEST(other_streams_can_be_asked_and_waited_for)
{
    CUstream stream = captured(CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_DEFAULT), other;

    OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    OK(cuStreamQuery(other));
    OK(cuStreamSynchronize(other));
    expect_valid(stream);
}
END_TEST

START_TEST(a_captured_event_cannot_be_asked_or_waited_for)
{
    CUstream stream = captured(CU_STREAM_CAPTURE_MODE_RELAXED, CU_STREAM_NON_BLOCKING), other;
    CUevent event, timed;
    float ms;

    OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&event, CU_EVENT_DEFAULT));
    OK(cuEventCreate(&timed, CU_EVENT_DEFAULT));
    OK(cuEventRecord(timed, other));
    OK(cuEventRecord(event, stream));
    ANSWERS(CUDA_ERROR_CAPTURED_EVENT, cuEventQuery(event));
    expect_invalid(stream);
    ANSWERS(CUDA_ERROR_CAPTURED_EVENT, cuEventSynchronize(event)); /* also when it has ended */
    ANSWERS(CUDA_ERROR_CAPTURED_EVENT, cuEventElapsedTime(&ms, timed, event));
    ANSWERS(CUDA_ERROR_CAPTURED_EVENT, cuStreamWaitEvent(other, event, 0));
    OK(cuEventRecord(event, other)); /* until it is recorded elsewhere */
    OK(cuEventSynchronize(event));
}
END_TEST

START_TEST(a_context_with_a_capturing_stream_cannot_be_waited_for_in_any_mode)
{
    CUstream stream = captured((CUstreamCaptureMode)_i, CU_STREAM_NON_BLOCKING);

    ANSWERS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
            elsewhere(cuCtxSynchronize, CU_STREAM_CAPTURE_MODE_RELAXED));
    expect_invalid(stream);
    OK(cuCtxSynchronize());
}
END_TEST

START_TEST(another_context_can_be_waited_for)
{
    CUstream stream = captured(CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_DEFAULT);
    CUcontext other;

    OK(cuCtxCreate(&other, NULL, 0, 0));
    OK(cuCtxSynchronize());
    OK(cuStreamSynchronize(CU_STREAM_LEGACY));
    OK(cuCtxSetCurrent(context));
    expect_valid(stream);
}
END_TEST

static CUresult use_legacy(void)
{
    return cuMemsetD8Async(things.device, 1, 512, NULL);
}

static CUresult copy_now(void)
{
    char host[16];

    return cuMemcpyDtoH(host, things.device, sizeof host);
}

static CUresult wait_for_legacy(void)
{
    return cuStreamSynchronize(CU_STREAM_LEGACY);
}

static CUresult ask_legacy(void)
{
    return cuStreamQuery(CU_STREAM_LEGACY);
}

static CUresult record_legacy(void)
{
    return cuEventRecord(things.event, CU_STREAM_LEGACY);
}

static CUresult (*const implicit[])(void) = {use_legacy, copy_now, wait_for_legacy, ask_legacy,
                                             record_legacy};

#define IMPLICIT ((int)(sizeof implicit / sizeof *implicit))

START_TEST(the_legacy_stream_cannot_be_used_while_a_blocking_stream_captures)
{
    CUstreamCaptureStatus status;
    CUstream stream;

    make_things();
    stream = captured(CU_STREAM_CAPTURE_MODE_RELAXED, CU_STREAM_DEFAULT);
    ANSWERS(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, cuStreamIsCapturing(NULL, &status));
    ANSWERS(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
            cuStreamGetCaptureInfo(NULL, &status, NULL, NULL, NULL, NULL, NULL));
    ck_assert(!is_invalid(stream)); /* to ask whether it captures is allowed */
    ANSWERS(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
            elsewhere(implicit[_i], CU_STREAM_CAPTURE_MODE_RELAXED));
    expect_invalid(stream);
    OK(implicit[_i]());
}
END_TEST

START_TEST(a_non_blocking_capture_leaves_the_legacy_stream_alone)
{
    CUstreamCaptureStatus status;
    CUstream stream;

    make_things();
    stream = captured(CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_NON_BLOCKING);
    OK(implicit[_i]());
    OK(cuStreamIsCapturing(NULL, &status));
    ck_assert_int_eq(status, CU_STREAM_CAPTURE_STATUS_NONE);
    expect_valid(stream);
}
END_TEST

START_TEST(the_legacy_stream_takes_no_part)
{
    CUstream stream = captured(CU_STREAM_CAPTURE_MODE_RELAXED, CU_STREAM_NON_BLOCKING);
    CUevent event;

    ANSWERS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
            cuStreamBeginCapture(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    OK(cuEventRecord(event, stream));
    ANSWERS(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, cuStreamWaitEvent(NULL, event, 0));
    expect_invalid(stream);
}
END_TEST

START_TEST(a_capture_waits_for_nothing_outside_it)
{
    CUstream stream = captured(CU_STREAM_CAPTURE_MODE_RELAXED, CU_STREAM_NON_BLOCKING), other;
    CUevent event;

    OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    OK(cuEventRecord(event, other));
    ANSWERS(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, cuStreamWaitEvent(stream, event, 0));
    expect_invalid(stream);
}
END_TEST

START_TEST(two_captures_do_not_merge)
{
    CUstream first = captured(CU_STREAM_CAPTURE_MODE_RELAXED, CU_STREAM_NON_BLOCKING), second;
    CUevent event;

    OK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    OK(cuStreamBeginCapture(second, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuEventRecord(event, second));
    ANSWERS(CUDA_ERROR_STREAM_CAPTURE_MERGE, cuStreamWaitEvent(first, event, 0));
    expect_invalid(first);
    expect_invalid(second);
}
END_TEST

START_TEST(a_callback_and_what_is_synchronous_cannot_be_captured)
{
    CUstream stream;
    char host[16];

    make_things();
    stream = captured(CU_STREAM_CAPTURE_MODE_RELAXED, CU_STREAM_NON_BLOCKING);
    ANSWERS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
            cuStreamAddCallback(stream, (CUstreamCallback)(uintptr_t)alloc, NULL, 0));
    expect_invalid(stream);
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    ANSWERS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
            cuStreamAttachMemAsync(stream, things.managed, 0, CU_MEM_ATTACH_SINGLE));
    expect_invalid(stream);
    OK(cuStreamBeginCapture(CU_STREAM_PER_THREAD, CU_STREAM_CAPTURE_MODE_RELAXED));
    {
        CUresult (*copy)(void *, CUdeviceptr, size_t);

        OK(cuGetProcAddress("cuMemcpyDtoH", (void **)&copy, 13000,
                            CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, NULL));
        ANSWERS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, copy(host, things.device, sizeof host));
    }
    expect_invalid(CU_STREAM_PER_THREAD);
}
END_TEST

START_TEST(a_stream_captures_once_at_a_time_and_only_a_capture_ends)
{
    CUstream stream = captured(CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_NON_BLOCKING);
    CUgraph graph;

    ANSWERS(CUDA_ERROR_ILLEGAL_STATE, cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    INVALID(cuStreamBeginCapture(stream, (CUstreamCaptureMode)3));
    INVALID(cuStreamEndCapture(stream, NULL));
    expect_valid(stream);
    ANSWERS(CUDA_ERROR_ILLEGAL_STATE, cuStreamEndCapture(stream, &graph));
}
END_TEST

START_TEST(a_capture_ends_on_its_origin)
{
    CUstream origin = captured(CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_NON_BLOCKING), fork;
    CUgraph graph;
    CUevent event;

    OK(cuStreamCreate(&fork, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    OK(cuEventRecord(event, origin));
    OK(cuStreamWaitEvent(fork, event, 0));
    ANSWERS(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, cuStreamEndCapture(fork, &graph));
    expect_invalid(origin);
}
END_TEST

static CUstream ending;

static CUresult end_it(void)
{
    CUgraph graph;

    return cuStreamEndCapture(ending, &graph);
}

START_TEST(only_a_relaxed_capture_ends_in_another_thread)
{
    ending = captured(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_NON_BLOCKING);
    ANSWERS(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
            elsewhere(end_it, CU_STREAM_CAPTURE_MODE_GLOBAL));
    expect_valid(ending);
    OK(cuStreamBeginCapture(ending, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(elsewhere(end_it, CU_STREAM_CAPTURE_MODE_GLOBAL));
}
END_TEST

START_TEST(external_events_belong_in_a_capture)
{
    CUevent event;

    start();
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    INVALID(cuEventRecordWithFlags(event, NULL, CU_EVENT_RECORD_EXTERNAL));
    INVALID(cuStreamWaitEvent(NULL, event, CU_EVENT_WAIT_EXTERNAL));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("capture rules");
    TCase *tcase = tcase_create("capture rules");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, a_context_with_a_capturing_stream_cannot_be_waited_for_in_any_mode,
                        CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_RELAXED + 1);
    tcase_add_loop_test(tcase, the_legacy_stream_cannot_be_used_while_a_blocking_stream_captures, 0,
                        IMPLICIT);
    tcase_add_loop_test(tcase, a_non_blocking_capture_leaves_the_legacy_stream_alone, 0, IMPLICIT);
    tcase_add_test(tcase, an_invalidated_capture_takes_no_more_work);
    tcase_add_test(tcase, a_capturing_stream_cannot_be_asked_or_waited_for);
    tcase_add_test(tcase, other_streams_can_be_asked_and_waited_for);
    tcase_add_test(tcase, a_captured_event_cannot_be_asked_or_waited_for);
    tcase_add_test(tcase, another_context_can_be_waited_for);
    tcase_add_test(tcase, the_legacy_stream_takes_no_part);
    tcase_add_test(tcase, a_capture_waits_for_nothing_outside_it);
    tcase_add_test(tcase, two_captures_do_not_merge);
    tcase_add_test(tcase, a_callback_and_what_is_synchronous_cannot_be_captured);
    tcase_add_test(tcase, a_stream_captures_once_at_a_time_and_only_a_capture_ends);
    tcase_add_test(tcase, a_capture_ends_on_its_origin);
    tcase_add_test(tcase, only_a_relaxed_capture_ends_in_another_thread);
    tcase_add_test(tcase, external_events_belong_in_a_capture);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
