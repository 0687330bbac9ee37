/* SPDX-License-Identifier: MIT
 * test_names.c - that each stand-in offers what its list names, as the loader asks for it. */
#include "support.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const lists[] = {"cublas",   "cublasLt", "cudnn", "cufft",
                                    "cusparse", "cusolver", "nccl",  "nvml"};

/* Opens the library of a list; *rows stands behind the line that names it. */
static void *open_library(const char *list, FILE **rows, char soname[64])
{
    char path[1024], first[256];
    void *library;

    snprintf(path, sizeof path, NAMES_DIR "/%s.txt", list);
    *rows = fopen(path, "r");
    ck_assert_msg(*rows != NULL, "%s", path);
    ck_assert(fgets(first, sizeof first, *rows) != NULL);
    ck_assert_msg(sscanf(first, "# %63s ", soname) == 1, "%s: no SONAME", path);
    snprintf(path, sizeof path, SIM_DIR "/%s", soname);
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    ck_assert_msg(library != NULL, "%s", dlerror());
    return library;
}

START_TEST(every_name_is_exported_under_the_version_that_the_real_library_gives_it)
{
    char soname[64], row[256], name[128];
    FILE *rows;
    void *library = open_library(lists[_i], &rows, soname);
    bool is_versioned = strncmp(soname, "libnccl", 7) != 0 && strncmp(soname, "libnvidia", 9) != 0;
    int found = 0;

    while (fgets(row, sizeof row, rows)) {
        if (row[0] == '#')
            continue;
        ck_assert_int_eq(sscanf(row, "%127s", name), 1);
        ck_assert_msg((is_versioned ? dlvsym(library, name, soname) : dlsym(library, name)) != NULL,
                      "%s lacks %s", soname, name);
        found++;
    }
    fclose(rows);
    ck_assert_int_gt(found, 10);
}
END_TEST

START_TEST(a_library_is_known_by_its_own_name_once_it_is_loaded)
{
    char soname[64];
    FILE *rows;
    void *library = open_library(lists[_i], &rows, soname);

    fclose(rows);
    ck_assert_ptr_eq(dlopen(soname, RTLD_NOW | RTLD_NOLOAD), library);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("libs.names");
    TCase *tests = tcase_create("names");
    SRunner *runner;
    int failed;

    tcase_add_loop_test(tests,
                        every_name_is_exported_under_the_version_that_the_real_library_gives_it, 0,
                        (int)(sizeof lists / sizeof *lists));
    tcase_add_loop_test(tests, a_library_is_known_by_its_own_name_once_it_is_loaded, 0,
                        (int)(sizeof lists / sizeof *lists));
    suite_add_tcase(suite, tests);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
