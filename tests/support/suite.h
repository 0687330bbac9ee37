/* SPDX-License-Identifier: MIT
 * suite.h - one file of tests as one program: the names of its tests, run in order, exit status 0
 * or 1. */
#ifndef SC_TESTS_SUITE_H
#define SC_TESTS_SUITE_H

#include <check.h>
#include <stdlib.h>

#define SC_SUITE(name, ...)                                                                        \
    int main(void)                                                                                 \
    {                                                                                              \
        const TTest *const tests[] = {__VA_ARGS__};                                                \
        Suite *suite = suite_create(name);                                                         \
        TCase *tcase = tcase_create(name);                                                         \
        SRunner *runner = srunner_create(suite);                                                   \
        int failed;                                                                                \
                                                                                                   \
        suite_add_tcase(suite, tcase);                                                             \
        tcase_set_timeout(tcase, 0); /* the runner of tests has one */                             \
        for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {                            \
            tcase_add_test(tcase, tests[i]);                                                       \
        }                                                                                          \
        srunner_run_all(runner, CK_NORMAL);                                                        \
        failed = srunner_ntests_failed(runner);                                                    \
        srunner_free(runner);                                                                      \
        return failed ? EXIT_FAILURE : EXIT_SUCCESS;                                               \
    }

#endif
