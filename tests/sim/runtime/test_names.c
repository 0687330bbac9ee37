/* SPDX-License-Identifier: MIT
 * test_names.c - the names that a real libcudart exports: argument 1 is its file name, which is its
 * version node too, argument 2 their list. */
#include "run.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static const char *library;
static const char *list;

static void *handle(void)
{
    void *found = dlopen(library, RTLD_NOW);

    ck_assert_ptr_nonnull(found);
    return found;
}

START_TEST(every_name_is_exported_under_the_version_node)
{
    char line[256];
    unsigned count = 0;
    void *found = handle();
    FILE *names = fopen(list, "r");

    ck_assert_ptr_nonnull(names);
    while (fgets(line, sizeof(line), names) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '#')
            continue;
        ck_assert_msg(dlvsym(found, line, library) != NULL, "%s: %s", line, dlerror());
        count++;
    }
    fclose(names);
    ck_assert_uint_ge(count, 380);
}
END_TEST

static void find(const char *name, void *function, size_t bytes)
{
    void *found = dlsym(handle(), name);

    ck_assert_ptr_nonnull(found);
    memcpy(function, &found, bytes);
}

START_TEST(what_is_not_modelled_says_so)
{
    int (*export_pointer)(void *, void *);
    int (*last)(void);

    find("cudaMemPoolExportPointer", &export_pointer, sizeof(export_pointer));
    find("cudaGetLastError", &last, sizeof(last));
    ck_assert_int_eq(export_pointer(NULL, NULL), cudaErrorNotSupported);
    ck_assert_int_eq(last(), cudaErrorNotSupported);
}
END_TEST

int main(int argc, char **argv)
{
    const TTest *const tests[] = {
        every_name_is_exported_under_the_version_node,
        what_is_not_modelled_says_so,
    };

    if (argc != 3)
        return EXIT_FAILURE;
    library = argv[1];
    list = argv[2];
    return run_tests("names", tests, sizeof(tests) / sizeof(tests[0]));
}
