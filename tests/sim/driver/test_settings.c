/* SPDX-License-Identifier: MIT
 * test_settings.c - the SIMCUDA_ environment: units, bad values, unknown names. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support.h"

static void use_it(void)
{
    int version;

    OK(cuDriverGetVersion(&version));
}

static int lines_in(const char *text)
{
    int lines = 0;

    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

/* Every bad value: one line that has the value, what was expected, and what is used instead. */
START_TEST(a_bad_value_is_one_line_that_names_it_and_the_default)
{
    static const struct {
        const char *name, *value, *expected, *instead;
    } cases[] = {
        {"MEMORY", "8 GiB", "GiB", "8GiB"},
        {"MEMORY", "8GB", "GiB", "8GiB"},
        {"MEMORY", "-1", "GiB", "8GiB"},
        {"MEMORY", "99999999999999999999", "GiB", "8GiB"},
        {"DEVICES", "17", "0 to 16", "1"},
        {"DEVICES", "", "0 to 16", "1"},
        {"GRANULE", "3MiB", "power of two", "2MiB"},
        {"GRANULE", "1KiB", "power of two", "2MiB"},
        {"MALLOC_NS", "5us", "nanoseconds", "0"},
        {"CC", "8", "major.minor", "8.0"},
        {"CC", "8.0.1", "major.minor", "8.0"},
        {"VERSION", "13.0", "1000 * major", "13000"},
        {"FAIL", "cuMemAlloc", "function:n", "none"},
        {"FAIL", "cuMemAlloc:0", "function:n", "none"},
        {"FAIL", "cuMemAloc:1", "function:n", "none"},
        {"FAIL", "cuMemAlloc:1,", "function:n", "none"},
        {"FAIL", "cuMemAlloc:1:0", "function:n", "none"},
        {"STREAM_DELAY_NS", "1", "index:nanoseconds", "none"},
        {"STREAM_DELAY_NS", "1:2;3:4", "index:nanoseconds", "none"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[64] = "SIMCUDA_";
        char *text;

        strcat(name, cases[i].name);
        with(cases[i].name, cases[i].value);
        text = stderr_of(use_it);
        unsetenv(name);
        ck_assert_msg(lines_in(text) == 1, "%s=%s: %s", name, cases[i].value, text);
        ck_assert_msg(strstr(text, name) && strstr(text, cases[i].value) &&
                          strstr(text, cases[i].expected) && strstr(text, cases[i].instead),
                      "%s", text);
        free(text);
    }
}
END_TEST

START_TEST(an_unknown_name_is_one_line)
{
    char *text;

    with("MEMROY", "8GiB");
    text = stderr_of(use_it);
    ck_assert_int_eq(lines_in(text), 1);
    ck_assert_ptr_nonnull(strstr(text, "SIMCUDA_MEMROY"));
    free(text);
}
END_TEST

START_TEST(good_values_are_silent)
{
    char *text;

    with("MEMORY", "16GiB");
    with("GRANULE", "65536");
    with("DEVICES", "0");
    with("MALLOC_NS", "50000");
    with("FAIL", "cuMemAlloc:3,cuMemFree_v2:1:999");
    with("STREAM_DELAY_NS", "0:5,1:1000");
    with("SAMPLES", "some/file");
    text = stderr_of(use_it);
    ck_assert_str_eq(text, "");
    free(text);
}
END_TEST

START_TEST(sizes_take_units)
{
    static const struct {
        const char *value;
        size_t bytes;
    } cases[] = {
        {"4096", 4096}, {"4096B", 4096}, {"64KiB", 64 * KIB}, {"7MiB", 7 * MIB}, {"2GiB", 2 * GIB}};
    size_t bytes;

    /* one process reads its settings once, so the loop test's index picks the case */
    with("MEMORY", cases[_i].value);
    OK(cuInit(0));
    OK(cuDeviceTotalMem(&bytes, 0));
    ck_assert_uint_eq(bytes, cases[_i].bytes);
}
END_TEST

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

START_TEST(costs_are_spent_by_the_caller)
{
    CUdeviceptr address;
    uint64_t begin, allocated, freed, launched;
    CUfunction kernel;

    with("MALLOC_NS", "2000000");
    with("FREE_NS", "3000000");
    with("LAUNCH_NS", "1000000");
    start();
    kernel = function("some");
    begin = now_ns();
    OK(cuMemAlloc(&address, 512));
    allocated = now_ns();
    OK(cuMemFree(address));
    freed = now_ns();
    OK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    launched = now_ns();
    ck_assert_uint_ge(allocated - begin, 2000000);
    ck_assert_uint_ge(freed - allocated, 3000000);
    ck_assert_uint_ge(launched - freed, 1000000);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("settings");
    TCase *tcase = tcase_create("settings");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_bad_value_is_one_line_that_names_it_and_the_default);
    tcase_add_test(tcase, an_unknown_name_is_one_line);
    tcase_add_test(tcase, good_values_are_silent);
    tcase_add_loop_test(tcase, sizes_take_units, 0, 5);
    tcase_add_test(tcase, costs_are_spent_by_the_caller);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
