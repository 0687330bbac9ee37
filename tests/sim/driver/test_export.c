/* SPDX-License-Identifier: MIT
 * test_export.c - what a program is told that asks for the driver's undocumented tables, as
 * NVIDIA's own libcudart does.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support.h"

typedef CUresult (*export_table)(const void **table, const CUuuid *id);

static void ask_twice(void)
{
    static const CUuuid id;
    const void *table = NULL;
    struct stat about;
    export_table ask;
    int written = memfd_create("stdout", 0);

    if (written < 0 || dup2(written, STDOUT_FILENO) < 0)
        _exit(9);
    *(void **)&ask = dlsym(RTLD_DEFAULT, "cuGetExportTable");
    if (!ask || ask(&table, &id) != CUDA_ERROR_NOT_SUPPORTED ||
        ask(&table, &id) != CUDA_ERROR_NOT_SUPPORTED)
        _exit(10);
    fflush(stdout);
    if (fstat(written, &about) || about.st_size != 0)
        _exit(11);
}

START_TEST(who_asks_for_a_table_is_told_once_and_on_stderr_what_to_link)
{
    char *text = stderr_of(ask_twice);
    const char *line = strstr(text, "simcuda: cuGetExportTable");
    char archive[4096], *end;
    Dl_info info;

    ck_assert_ptr_nonnull(line);
    ck_assert_ptr_eq(line, text);
    ck_assert_ptr_eq(strchr(text, '\n'), text + strlen(text) - 1);
    ck_assert_int_ne(dladdr(dlsym(RTLD_DEFAULT, "cuInit"), &info), 0);
    snprintf(archive, sizeof archive, "%s", info.dli_fname);
    end = strrchr(archive, '/');
    ck_assert_ptr_nonnull(end);
    snprintf(end, sizeof archive - (size_t)(end - archive), "/libcudart_static.a\n");
    ck_assert_ptr_nonnull(strstr(text, archive));
    free(text);
}
END_TEST

static void start_only(void)
{
    start();
}

START_TEST(who_asks_for_none_is_told_nothing)
{
    char *text = stderr_of(start_only);

    ck_assert_str_eq(text, "");
    free(text);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {who_asks_for_a_table_is_told_once_and_on_stderr_what_to_link,
                                  who_asks_for_none_is_told_nothing, NULL};

    return run_tests("export", tests);
}
