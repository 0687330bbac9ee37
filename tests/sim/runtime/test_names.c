/* SPDX-License-Identifier: MIT
 * test_names.c - the names that the real libcudart.so.13 exports, argument 1 their list. */
#include "run.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static const char *list;

static void *handle(void)
{
    void *found = dlopen("libcudart.so.13", RTLD_NOW | RTLD_NOLOAD);

    ck_assert_ptr_nonnull(found);
    return found;
}

START_TEST(every_name_is_exported_under_the_version_node)
{
    char line[256];
    unsigned count = 0;
    FILE *names = fopen(list, "r");

    ck_assert_ptr_nonnull(names);
    while (fgets(line, sizeof(line), names) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '#')
            continue;
        ck_assert_msg(dlvsym(handle(), line, "libcudart.so.13") != NULL, "%s: %s", line, dlerror());
        count++;
    }
    fclose(names);
    ck_assert_uint_ge(count, 400);
}
END_TEST

START_TEST(what_is_not_modelled_says_so)
{
    cudaMemPool_t pool;
    struct cudaMemPoolProps properties;

    memset(&properties, 0, sizeof(properties));
    fails(cudaErrorNotSupported, cudaMemPoolCreate(&pool, &properties));
}
END_TEST

START_TEST(the_per_thread_stream_names_are_not_supported)
{
    cudaError_t (*copy)(void *, const void *, size_t, enum cudaMemcpyKind);
    char from = 1;
    char to = 2;
    void *found = dlsym(handle(), "cudaMemcpy_ptds");

    ck_assert_ptr_nonnull(found);
    memcpy(&copy, &found, sizeof(copy));
    fails(cudaErrorNotSupported, copy(&to, &from, 1, cudaMemcpyDefault));
    ck_assert_int_eq(to, 2);
}
END_TEST

int main(int argc, char **argv)
{
    const TTest *const tests[] = {
        every_name_is_exported_under_the_version_node,
        what_is_not_modelled_says_so,
        the_per_thread_stream_names_are_not_supported,
    };

    if (argc != 2)
        return EXIT_FAILURE;
    list = argv[1];
    return run_tests("names", tests, sizeof(tests) / sizeof(tests[0]));
}
