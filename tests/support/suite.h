/* SPDX-License-Identifier: MIT
 * suite.h - one file of tests as one program: the names of its tests, run in order, exit status 0
 * or 1. SC_SUITE_WITH() runs one function before each test and one after it, in the test's own
 * process. */
#ifndef SC_TESTS_SUITE_H
#define SC_TESTS_SUITE_H

#include <check.h>
#include <stdlib.h>

/* One more case of `suite`. */
static inline void sc_suite_add(Suite *suite, const char *name, void (*before)(void),
                                void (*after)(void), const TTest *const *tests, size_t count)
{
    TCase *tcase = tcase_create(name);

    tcase_set_timeout(tcase, 0); /* the runner of tests has one */
    tcase_add_checked_fixture(tcase, before, after);
    for (size_t i = 0; i < count; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
}

/* The status to exit with. */
static inline int sc_suite_run(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    int failed;

    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#define SC_SUITE_WITH(name, before, after, ...)                                                    \
    int main(void)                                                                                 \
    {                                                                                              \
        const TTest *const tests[] = {__VA_ARGS__};                                                \
        Suite *suite = suite_create(name);                                                         \
                                                                                                   \
        sc_suite_add(suite, name, before, after, tests, sizeof(tests) / sizeof(tests[0]));         \
        return sc_suite_run(suite);                                                                \
    }

#define SC_SUITE(name, ...) SC_SUITE_WITH(name, NULL, NULL, __VA_ARGS__)

#endif
