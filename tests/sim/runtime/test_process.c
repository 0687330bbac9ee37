/* SPDX-License-Identifier: MIT
 * test_process.c - start, fork and exit. What happens after main() is told by the exit status of a
 * child. */
#include "run.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* The status a child ends with after `program` has returned and exit() has done its work; a hang is
 * ended by check. */
static int status_of(void (*program)(void))
{
    int status = -1;
    pid_t child = fork();

    ck_assert_int_ge(child, 0);
    if (child == 0) {
        program();
        exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return status;
}

static void use_in_child(void)
{
    void *pointer = NULL;

    fails(cudaErrorInitializationError, cudaMalloc(&pointer, 1));
    fails(cudaErrorInitializationError, cudaDeviceSynchronize());
    ck_assert_str_eq(cudaGetErrorName(cudaErrorNotReady), "cudaErrorNotReady");
}

START_TEST(a_child_of_a_process_that_used_cuda_cannot_and_ends_in_peace)
{
    void *pointer = NULL;

    ok(cudaMalloc(&pointer, 1));
    ok(cudaMemsetAsync(pointer, 0, 1, NULL));
    ck_assert_int_eq(status_of(use_in_child), 0);
    ok(cudaFree(pointer));
}
END_TEST

static void use_afresh(void)
{
    void *pointer = NULL;

    ok(cudaMalloc(&pointer, 1));
    ok(cudaFree(pointer));
}

START_TEST(a_child_of_a_process_that_did_not_use_cuda_can)
{
    ck_assert_int_eq(status_of(use_afresh), 0);
}
END_TEST

/* Called when libc closes its streams, after the destructors of every library. */
static ssize_t use_after_shutdown(void *cookie, const char *text, size_t bytes)
{
    void *pointer = NULL;

    (void)cookie;
    (void)text;
    if (cudaMalloc(&pointer, 1) != cudaErrorCudartUnloading || pointer != NULL)
        _exit(3);
    if (cudaFree(NULL) != cudaErrorCudartUnloading)
        _exit(4);
    if (cudaGetLastError() != cudaErrorCudartUnloading)
        _exit(5);
    _exit(7); /* we were here */
    return (ssize_t)bytes;
}

static void open_stream_that_is_closed_last(void)
{
    FILE *stream = fopencookie(NULL, "w", (cookie_io_functions_t){.write = use_after_shutdown});

    ck_assert_ptr_nonnull(stream);
    ok(cudaFree(NULL));
    fputs("unwritten", stream);
}

START_TEST(after_shutdown_each_call_says_so)
{
    int status = status_of(open_stream_that_is_closed_last);

    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 7);
}
END_TEST

static void leave_work_behind(void)
{
    void *pointer = NULL;

    ok(cudaMalloc(&pointer, MIB));
    for (int i = 0; i < 100; i++)
        ok(cudaMemsetAsync(pointer, i, MIB, NULL));
}

START_TEST(a_process_may_end_with_work_queued)
{
    ck_assert_int_eq(status_of(leave_work_behind), 0);
}
END_TEST

static void call_nothing(void)
{
}

START_TEST(a_process_that_calls_nothing_ends_in_peace)
{
    ck_assert_int_eq(status_of(call_nothing), 0);
}
END_TEST

static int output[2];

static void speak_into_pipe(void)
{
    ck_assert_int_eq(dup2(output[1], STDOUT_FILENO), STDOUT_FILENO);
    use_afresh();
    fails(cudaErrorInvalidDevice, cudaSetDevice(99));
    fails(cudaErrorNotSupported, cudaGraphicsUnregisterResource(NULL));
}

START_TEST(nothing_is_ever_written_to_standard_output)
{
    char byte = 0;

    ck_assert_int_eq(pipe(output), 0);
    ck_assert_int_eq(status_of(speak_into_pipe), 0);
    close(output[1]);
    ck_assert_int_eq(read(output[0], &byte, 1), 0);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_child_of_a_process_that_used_cuda_cannot_and_ends_in_peace,
        a_child_of_a_process_that_did_not_use_cuda_can,
        after_shutdown_each_call_says_so,
        a_process_may_end_with_work_queued,
        a_process_that_calls_nothing_ends_in_peace,
        nothing_is_ever_written_to_standard_output,
    };

    return run_tests("process", tests, sizeof(tests) / sizeof(tests[0]));
}
