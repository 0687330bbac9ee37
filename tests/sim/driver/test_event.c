/* SPDX-License-Identifier: MIT
 * test_event.c - events: what they mark, who waits for them, and the time between two. */
#include "support.h"

static CUstream non_blocking(void)
{
    CUstream stream;

    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
}

static CUevent new_event(unsigned flags)
{
    CUevent event;

    OK(cuEventCreate(&event, flags));
    return event;
}

START_TEST(an_event_is_ready_until_recorded_and_when_the_work_before_it_is_done)
{
    CUstream stream;
    CUevent event;
    static struct gate gate;

    start();
    stream = non_blocking();
    event = new_event(CU_EVENT_DISABLE_TIMING);
    OK(cuEventQuery(event));
    OK(cuEventSynchronize(event));
    gate_hold(&gate, stream);
    OK(cuEventRecord(event, stream));
    ANSWERS(CUDA_ERROR_NOT_READY, cuEventQuery(event));
    gate_open(&gate);
    OK(cuEventSynchronize(event));
    OK(cuEventQuery(event));
}
END_TEST

START_TEST(an_event_does_not_cover_what_follows_it)
{
    CUstream stream;
    CUevent event;
    static struct gate gate;

    start();
    stream = non_blocking();
    event = new_event(CU_EVENT_DEFAULT);
    note(stream, 1);
    OK(cuEventRecord(event, stream));
    gate_hold(&gate, stream);
    OK(cuEventSynchronize(event)); /* hangs if it waits for the gate */
    ck_assert_uint_eq(note_count(), 1);
    gate_open(&gate);
}
END_TEST

START_TEST(a_stream_waits_for_an_event_of_another)
{
    CUstream late, stream;
    CUevent event;

    with("STREAM_DELAY_NS", "1:30000000");
    start();
    late = non_blocking();
    stream = non_blocking();
    event = new_event(CU_EVENT_DISABLE_TIMING);
    note(late, 1);
    OK(cuEventRecord(event, late));
    OK(cuStreamWaitEvent(stream, event, 0));
    note(stream, 2);
    OK(cuStreamSynchronize(stream));
    ck_assert_uint_eq(note_count(), 2);
    ck_assert_int_eq(note_at(0), 1);
}
END_TEST

START_TEST(waiting_for_an_event_never_recorded_is_no_wait)
{
    CUstream stream;
    CUevent event;

    start();
    stream = non_blocking();
    event = new_event(CU_EVENT_DISABLE_TIMING);
    OK(cuStreamWaitEvent(stream, event, 0));
    note(stream, 1);
    OK(cuStreamSynchronize(stream));
    ck_assert_uint_eq(note_count(), 1);
}
END_TEST

START_TEST(a_wait_keeps_the_record_it_was_enqueued_with)
{
    CUstream first, held, stream;
    CUevent event;
    static struct gate gate;

    start();
    first = non_blocking();
    held = non_blocking();
    stream = non_blocking();
    event = new_event(CU_EVENT_DISABLE_TIMING);
    OK(cuEventRecord(event, first));
    OK(cuStreamWaitEvent(stream, event, 0));
    gate_hold(&gate, held);
    OK(cuEventRecord(event, held));
    note(stream, 1);
    OK(cuStreamSynchronize(stream)); /* hangs if it waits for the second record */
    ANSWERS(CUDA_ERROR_NOT_READY, cuEventQuery(event));
    gate_open(&gate);
    OK(cuEventSynchronize(event));
}
END_TEST

START_TEST(an_event_destroyed_while_pending_still_holds_those_that_wait)
{
    CUstream held, stream;
    CUevent event;
    static struct gate gate;

    start();
    held = non_blocking();
    stream = non_blocking();
    event = new_event(CU_EVENT_DISABLE_TIMING);
    gate_hold(&gate, held);
    note(held, 1);
    OK(cuEventRecord(event, held));
    OK(cuStreamWaitEvent(stream, event, 0));
    OK(cuEventDestroy(event));
    ANSWERS(CUDA_ERROR_INVALID_HANDLE, cuEventQuery(event));
    ANSWERS(CUDA_ERROR_INVALID_HANDLE, cuEventDestroy(event));
    note(stream, 2);
    OK(cuStreamDestroy(held));
    gate_open(&gate);
    OK(cuStreamSynchronize(stream));
    ck_assert_int_eq(note_at(0), 1);
    ck_assert_int_eq(note_at(1), 2);
}
END_TEST

START_TEST(the_time_between_events_is_at_least_the_kernels)
{
    CUevent before, after;
    float ms = -1;

    with("KERNEL_NS", "3000000");
    start();
    before = new_event(CU_EVENT_DEFAULT);
    after = new_event(CU_EVENT_DEFAULT);
    OK(cuEventRecord(before, NULL));
    note_by_kernel(NULL, 1);
    OK(cuEventRecord(after, NULL));
    OK(cuEventSynchronize(after));
    OK(cuEventElapsedTime(&ms, before, after));
    ck_assert_float_ge(ms, 3.0f);
    OK(cuEventElapsedTime(&ms, after, before));
    ck_assert_float_le(ms, -3.0f);
}
END_TEST

START_TEST(each_operation_starts_later_by_the_delay)
{
    CUevent before, after;
    float ms = -1;

    with("DELAY_NS", "2000000");
    start();
    before = new_event(CU_EVENT_DEFAULT);
    after = new_event(CU_EVENT_DEFAULT);
    OK(cuEventRecord(before, NULL));
    note(NULL, 1);
    OK(cuEventRecord(after, NULL));
    OK(cuEventSynchronize(after));
    OK(cuEventElapsedTime(&ms, before, after));
    ck_assert_float_ge(ms, 4.0f);
}
END_TEST

START_TEST(elapsed_time_needs_two_finished_events_with_timing)
{
    CUevent timed, other, untimed;
    static struct gate gate;
    float ms;

    start();
    timed = new_event(CU_EVENT_DEFAULT);
    other = new_event(CU_EVENT_DEFAULT);
    untimed = new_event(CU_EVENT_DISABLE_TIMING);
    OK(cuEventRecord(timed, NULL));
    OK(cuEventRecord(untimed, NULL));
    ANSWERS(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&ms, timed, other));
    ANSWERS(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&ms, timed, untimed));
    INVALID(cuEventElapsedTime(NULL, timed, timed));
    gate_hold(&gate, NULL);
    OK(cuEventRecord(other, NULL));
    ANSWERS(CUDA_ERROR_NOT_READY, cuEventElapsedTime(&ms, timed, other));
    gate_open(&gate);
    OK(cuEventSynchronize(other));
    OK(cuEventElapsedTime(&ms, timed, other));
}
END_TEST

START_TEST(flags_of_events_are_checked)
{
    CUevent event;

    start();
    OK(cuEventCreate(&event, CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING));
    OK(cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
    INVALID(cuEventCreate(&event, CU_EVENT_INTERPROCESS));
    INVALID(cuEventCreate(&event, 0x40));
    INVALID(cuEventCreate(NULL, 0));
    INVALID(cuEventRecordWithFlags(event, NULL, 0x40));
    INVALID(cuStreamWaitEvent(NULL, event, 0x40));
}
END_TEST

START_TEST(an_event_is_recorded_in_streams_of_its_context_only)
{
    CUcontext other;
    CUstream stream;
    CUevent event;

    start();
    event = new_event(CU_EVENT_DEFAULT);
    OK(cuCtxCreate(&other, NULL, 0, 0));
    stream = non_blocking();
    ANSWERS(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(event, stream));
    OK(cuStreamWaitEvent(stream, event, 0)); /* waiting across contexts is allowed */
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        an_event_is_ready_until_recorded_and_when_the_work_before_it_is_done,
        an_event_does_not_cover_what_follows_it,
        a_stream_waits_for_an_event_of_another,
        waiting_for_an_event_never_recorded_is_no_wait,
        a_wait_keeps_the_record_it_was_enqueued_with,
        an_event_destroyed_while_pending_still_holds_those_that_wait,
        the_time_between_events_is_at_least_the_kernels,
        each_operation_starts_later_by_the_delay,
        elapsed_time_needs_two_finished_events_with_timing,
        flags_of_events_are_checked,
        an_event_is_recorded_in_streams_of_its_context_only,
        NULL};

    return run_tests("event", tests);
}
