/* SPDX-License-Identifier: MIT
 * run.h - the main() of each of these tests, and what they share.
 *
 * check runs every test in a child of its own: the parent never calls CUDA, so each starts as a
 * fresh process does. The simulated driver is found by LD_LIBRARY_PATH, as a user's program finds
 * it. */
#ifndef TESTS_SIM_RUNTIME_RUN_H
#define TESTS_SIM_RUNTIME_RUN_H

#include <check.h>
#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdlib.h>

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)

/* The call succeeds; the message names the code when it does not. */
#define ok(call)                                                                                   \
    do {                                                                                           \
        cudaError_t ok_error = (call);                                                             \
        ck_assert_msg(ok_error == cudaSuccess, "%s: %s", #call, cudaGetErrorName(ok_error));       \
    } while (0)

/* The call fails with `expected`, which is the last error too; it is cleared. */
#define fails(expected, call)                                                                      \
    do {                                                                                           \
        cudaError_t fails_error = (call);                                                          \
        ck_assert_msg(fails_error == (expected), "%s: %s, not %s", #call,                          \
                      cudaGetErrorName(fails_error), #expected);                                   \
        ck_assert_int_eq(cudaGetLastError(), (expected));                                          \
    } while (0)

static inline int run_tests_in(const char *name, const TTest *const *tests, size_t count,
                               void (*setup)(void), void (*teardown)(void))
{
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create("all");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    for (size_t i = 0; i < count; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static inline int run_tests(const char *name, const TTest *const *tests, size_t count)
{
    return run_tests_in(name, tests, count, NULL, NULL);
}

#endif
