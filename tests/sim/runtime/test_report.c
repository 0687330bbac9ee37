/* SPDX-License-Identifier: MIT
 * test_report.c - libcudart's calls in SIMCUDA_REPORT, written by a child process and read when it
 * has ended. */
#include "run.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char path[] = "/tmp/simrt_report.XXXXXX";
static char text[64 * 1024];

static void setup(void)
{
    int file = mkstemp(path);

    ck_assert_int_ge(file, 0);
    close(file);
    ck_assert_int_eq(setenv("SIMCUDA_REPORT", path, 1), 0);
}

static void teardown(void)
{
    unlink(path);
}

static void record(void (*program)(void))
{
    int status = -1;
    pid_t child = fork();
    FILE *file;
    size_t bytes;

    ck_assert_int_ge(child, 0);
    if (child == 0) {
        program();
        exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    bytes = fread(text, 1, sizeof(text) - 1, file);
    text[bytes] = '\0';
    fclose(file);
}

/* The text from `section` on says `entry`. */
static void says(const char *section, const char *entry)
{
    const char *from = strstr(text, section);

    ck_assert_msg(from != NULL, "no %s in %s", section, text);
    ck_assert_msg(strstr(from, entry) != NULL, "no %s after %s in %s", entry, section, text);
}

static void call(void)
{
    void *pointer = NULL;
    int count = 0;
    cudaError_t (*unmodelled)(cudaGraphicsResource_t) = cudaGraphicsUnregisterResource;

    (void)cudaGetErrorName(cudaSuccess); /* before the driver is there */
    ok(cudaGetDeviceCount(&count));
    for (int i = 0; i < 3; i++)
        ok(cudaMalloc(&pointer, 0));
    fails(cudaErrorNotSupported, unmodelled(NULL));
    fails(cudaErrorNotSupported, unmodelled(NULL));
}

START_TEST(every_call_is_counted_by_its_name)
{
    record(call);
    says("\"calls\"", "\"cudaMalloc\": 3");
    says("\"calls\"", "\"cudaGetDeviceCount\": 1");
    says("\"calls\"", "\"cudaGetErrorName\": 1");
    says("\"calls\"", "\"cudaGraphicsUnregisterResource\": 2");
}
END_TEST

START_TEST(a_call_that_is_not_modelled_is_named_as_such)
{
    record(call);
    says("\"unsupported\"", "\"cudaGraphicsUnregisterResource\": 2");
    ck_assert_ptr_null(strstr(strstr(text, "\"unsupported\""), "cudaMalloc"));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        every_call_is_counted_by_its_name,
        a_call_that_is_not_modelled_is_named_as_such,
    };

    return run_tests_in("report", tests, sizeof(tests) / sizeof(tests[0]), setup, teardown);
}
