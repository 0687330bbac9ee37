/* SPDX-License-Identifier: MIT
 * test_report.c - SIMCUDA_REPORT: what the file says, and when there is none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

static void some_work(void)
{
    CUdeviceptr small, large;

    with("DEVICES", "2");
    start();
    OK(cuMemAlloc(&small, 100));
    OK(cuMemAlloc(&large, 5 * MIB));
    OK(cuMemFree(large));
    ANSWERS(CUDA_ERROR_NOT_SUPPORTED, cuGraphicsUnregisterResource(NULL));
    ANSWERS(CUDA_ERROR_NOT_SUPPORTED, cuGraphicsUnregisterResource(NULL));
}

START_TEST(the_report_counts_calls_and_mapped_bytes)
{
    char *report = report_of(some_work);
    const char *unsupported = strstr(report, "\"unsupported\"");

    ck_assert_int_eq(number_in(report, "cuMemAlloc_v2"), 2);
    ck_assert_int_eq(number_in(report, "cuMemFree_v2"), 1);
    ck_assert_int_eq(number_in(report, "cuInit"), 1);
    ck_assert_int_eq(number_in(report, "cuMemHostAlloc"), -1);
    ck_assert_int_eq(number_in(report, "live"), 2 * (long long)MIB);
    ck_assert_int_eq(number_in(report, "peak"), 8 * (long long)MIB);
    ck_assert_int_eq(number_in(report, "unchecked"), 0);
    ck_assert_ptr_nonnull(unsupported);
    ck_assert_int_eq(number_in(unsupported, "cuGraphicsUnregisterResource"), 2);
    ck_assert_int_eq(number_in(unsupported, "cuMemAlloc_v2"), -1);
    ck_assert_ptr_nonnull(strstr(report, "\"violations\": {}"));
    free(report);
}
END_TEST

static void violate(void)
{
    start();
    for (int i = 0; i < 20; i++)
        simcuda_violation("some-kind", "number %d", i);
    simcuda_violation("another-kind", "once");
}

START_TEST(violations_are_counted_by_kind)
{
    char *report = report_of(violate);

    ck_assert_int_eq(number_in(report, "some-kind"), 20);
    ck_assert_int_eq(number_in(report, "another-kind"), 1);
    free(report);
}
END_TEST

START_TEST(only_the_first_few_violations_of_a_kind_are_printed)
{
    char *text = stderr_of(violate);
    int lines = 0;

    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    ck_assert_int_eq(lines, 9);
    ck_assert_ptr_nonnull(strstr(text, "another-kind"));
    free(text);
}
END_TEST

static void add_a_layer(void)
{
    static const char *const names[] = {"cudaOne", "cudaTwo", "cudaThree"};
    static const unsigned char unsupported[] = {0, 1, 1};
    static _Atomic uint64_t counts[] = {4, 6, 0};
    static const simcuda_counters layer = {names, unsupported, counts, 3};

    OK(cuInit(0));
    simcuda_report_counters(&layer);
}

START_TEST(another_layers_calls_are_in_the_same_report)
{
    char *report = report_of(add_a_layer);

    ck_assert_int_eq(number_in(report, "cudaOne"), 4);
    ck_assert_int_eq(number_in(report, "cuInit"), 1);
    ck_assert_int_eq(number_in(strstr(report, "\"unsupported\""), "cudaTwo"), 6);
    ck_assert_int_eq(number_in(report, "cudaThree"), -1);
    free(report);
}
END_TEST

static void nothing(void)
{
}

START_TEST(a_process_that_never_calls_us_writes_no_report)
{
    char *report = report_of(nothing);

    ck_assert_str_eq(report, "");
    free(report);
}
END_TEST

/* The child exits after its parent would have; only the parent's three allocations may be reported.
 */
static void fork_and_exit(void)
{
    CUdeviceptr address;
    pid_t child;

    start();
    for (int i = 0; i < 3; i++)
        OK(cuMemAlloc(&address, 512));
    note(NULL, 1);
    child = fork();
    if (child == 0) {
        (void)cuMemAlloc(&address, 512);
        exit(0);
    }
    waitpid(child, NULL, 0);
    if (access(getenv("SIMCUDA_REPORT"), F_OK) == 0)
        _exit(8);
}

START_TEST(a_forked_child_writes_no_report)
{
    char *report = report_of(fork_and_exit);

    ck_assert_int_eq(number_in(report, "cuMemAlloc_v2"), 3);
    free(report);
}
END_TEST

static void exit_with_work_queued(void)
{
    static struct gate gate;

    start();
    gate_hold(&gate, NULL);
    gate_reached(&gate);
    exit(0);
}

START_TEST(exiting_with_work_queued_does_not_hang)
{
    char *report = report_of(exit_with_work_queued);

    ck_assert_int_eq(number_in(report, "cuInit"), 1);
    free(report);
}
END_TEST

static void report_by_process(void)
{
    char name[64];

    ck_assert_int_eq(chdir("/tmp"), 0);
    snprintf(name, sizeof name, "simcuda-test-%d-%%p.json", (int)getpid());
    with("REPORT", name);
    OK(cuInit(0));
    fprintf(stderr, "/tmp/simcuda-test-%d-%d.json", (int)getpid(), (int)getpid());
}

START_TEST(a_name_may_have_the_process_in_it)
{
    char *name = stderr_of(report_by_process);

    ck_assert_int_eq(access(name, R_OK), 0);
    ck_assert_int_eq(unlink(name), 0);
    free(name);
}
END_TEST

static void report_to_stderr(void)
{
    with("REPORT", "-");
    OK(cuInit(0));
}

START_TEST(a_dash_is_stderr)
{
    char *text = stderr_of(report_to_stderr);

    ck_assert_int_eq(number_in(text, "cuInit"), 1);
    free(text);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {the_report_counts_calls_and_mapped_bytes,
                                  violations_are_counted_by_kind,
                                  only_the_first_few_violations_of_a_kind_are_printed,
                                  another_layers_calls_are_in_the_same_report,
                                  a_process_that_never_calls_us_writes_no_report,
                                  a_forked_child_writes_no_report,
                                  exiting_with_work_queued_does_not_hang,
                                  a_dash_is_stderr,
                                  a_name_may_have_the_process_in_it,
                                  NULL};

    return run_tests("report", tests);
}
