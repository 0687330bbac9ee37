/* SPDX-License-Identifier: MIT
 * test_resolve.c - cuGetProcAddress: base name, version and flags to an exported function. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "support.h"

#define LEGACY CU_GET_PROC_ADDRESS_LEGACY_STREAM
#define THREAD CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM

static void *exported(const char *symbol)
{
    void *found = dlsym(RTLD_DEFAULT, symbol);

    ck_assert_msg(found != NULL, "%s is not exported", symbol);
    return found;
}

/* The five-argument resolver's answer; its status must agree. */
static void *resolved(const char *name, int version, cuuint64_t flags)
{
    CUdriverProcAddressQueryResult result = (CUdriverProcAddressQueryResult)77;
    void *function = (void *)1;

    OK(cuGetProcAddress(name, &function, version, flags, &result));
    if (function)
        ck_assert_int_eq(result, CU_GET_PROC_ADDRESS_SUCCESS);
    else
        ck_assert_int_ne(result, CU_GET_PROC_ADDRESS_SUCCESS);
    return function;
}

START_TEST(each_row_of_the_table_resolves_to_its_symbol)
{
    FILE *table = fopen(NAMES_DIR "/resolve.txt", "r");
    char line[256], base[128], stream[16], symbol[128];
    int version, rows = 0;

    ck_assert_ptr_nonnull(table);
    while (fgets(line, sizeof line, table)) {
        if (line[0] == '#')
            continue;
        ck_assert_int_eq(sscanf(line, "%127s %15s %d %127s", base, stream, &version, symbol), 4);
        ck_assert_msg(resolved(base, version, strcmp(stream, "thread") == 0 ? THREAD : LEGACY) ==
                          exported(symbol),
                      "%s@%d %s is not %s", base, version, stream, symbol);
        rows++;
    }
    fclose(table);
    ck_assert_int_gt(rows, 600);
}
END_TEST

START_TEST(a_version_in_between_gets_the_newest_that_is_not_newer)
{
    ck_assert_ptr_eq(resolved("cuMemAlloc", 13000, 0), exported("cuMemAlloc_v2"));
    ck_assert_ptr_eq(resolved("cuMemAlloc", 3020, 0), exported("cuMemAlloc_v2"));
    ck_assert_ptr_eq(resolved("cuMemAlloc", 3010, 0), exported("cuMemAlloc"));
    ck_assert_ptr_eq(resolved("cuCtxCreate", 12040, 0), exported("cuCtxCreate_v3"));
    ck_assert_ptr_eq(resolved("cuCtxCreate", 13000, 0), exported("cuCtxCreate_v4"));
    ck_assert_ptr_eq(resolved("cuCtxSynchronize", 12080, 0), exported("cuCtxSynchronize"));
    ck_assert_ptr_eq(resolved("cuCtxSynchronize", 13000, 0), exported("cuCtxSynchronize_v2"));
}
END_TEST

START_TEST(per_thread_flavours_are_given_where_there_are_any)
{
    ck_assert_ptr_eq(resolved("cuMemcpyHtoD", 12000, THREAD), exported("cuMemcpyHtoD_v2_ptds"));
    ck_assert_ptr_eq(resolved("cuLaunchKernel", 12000, THREAD), exported("cuLaunchKernel_ptsz"));
    ck_assert_ptr_eq(resolved("cuLaunchKernel", 12000, LEGACY), exported("cuLaunchKernel"));
    ck_assert_ptr_eq(resolved("cuLaunchKernel", 12000, 0), exported("cuLaunchKernel"));
    ck_assert_ptr_eq(resolved("cuMemAlloc", 12000, THREAD), exported("cuMemAlloc_v2"));
    ck_assert_ptr_eq(resolved("cuMemcpyHtoD", 6000, THREAD), exported("cuMemcpyHtoD_v2"));
}
END_TEST

START_TEST(the_resolver_resolves_itself_in_both_spellings)
{
    ck_assert_ptr_eq(resolved("cuGetProcAddress", 11030, 0), exported("cuGetProcAddress"));
    ck_assert_ptr_eq(resolved("cuGetProcAddress", 12000, 0), exported("cuGetProcAddress_v2"));
    ck_assert_ptr_eq(resolved("cuGetProcAddress", 13000, 0), exported("cuGetProcAddress_v2"));
}
END_TEST

START_TEST(an_unknown_name_is_a_success_with_no_function)
{
    CUdriverProcAddressQueryResult result;
    void *function = (void *)1;

    OK(cuGetProcAddress("cuNoSuchFunction", &function, 13000, 0, &result));
    ck_assert_ptr_null(function);
    ck_assert_int_eq(result, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    function = (void *)1;
    OK(cuGetProcAddress("", &function, 0, 0, &result)); /* libcudart's first question */
    ck_assert_ptr_null(function);
    ck_assert_int_eq(result, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    OK(cuGetProcAddress("cuMemAlloc_v2", &function, 13000, 0, NULL)); /* no base name */
    ck_assert_ptr_null(function);
}
END_TEST

START_TEST(a_version_too_old_is_told_apart_from_an_unknown_name)
{
    CUdriverProcAddressQueryResult result;
    void *function = (void *)1;

    OK(cuGetProcAddress("cuMemAllocAsync", &function, 11010, 0, &result));
    ck_assert_ptr_null(function);
    ck_assert_int_eq(result, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
}
END_TEST

START_TEST(bad_questions_are_invalid)
{
    void *function;

    INVALID(cuGetProcAddress(NULL, &function, 12000, 0, NULL));
    INVALID(cuGetProcAddress("cuInit", NULL, 12000, 0, NULL));
    INVALID(cuGetProcAddress("cuInit", &function, 13010, 0, NULL)); /* newer than the driver */
    INVALID(cuGetProcAddress("cuInit", &function, 12000, 4, NULL));
    INVALID(cuGetProcAddress("cuInit", &function, 12000, LEGACY | THREAD, NULL));
}
END_TEST

START_TEST(the_older_spelling_answers_not_found)
{
    CUresult (*old)(const char *, void **, int, cuuint64_t);
    void *function = NULL;

    *(void **)&old = exported("cuGetProcAddress");
    OK(old("cuMemFree", &function, 12000, 0));
    ck_assert_ptr_eq(function, exported("cuMemFree_v2"));
    ANSWERS(CUDA_ERROR_NOT_FOUND, old("", &function, 0, 0));
    ck_assert_ptr_null(function);
    ANSWERS(CUDA_ERROR_NOT_FOUND, old("cuMemAllocAsync", &function, 11010, 0));
}
END_TEST

START_TEST(an_older_driver_lacks_newer_functions)
{
    void *function = (void *)1;

    with("VERSION", "12000");
    INVALID(cuGetProcAddress("cuCtxSynchronize", &function, 13000, 0, NULL));
    ck_assert_ptr_eq(resolved("cuCtxCreate", 12000, 0), exported("cuCtxCreate_v3"));
    ck_assert_ptr_null(resolved("cuKernelGetName", 12000, 0));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {each_row_of_the_table_resolves_to_its_symbol,
                                  a_version_in_between_gets_the_newest_that_is_not_newer,
                                  per_thread_flavours_are_given_where_there_are_any,
                                  the_resolver_resolves_itself_in_both_spellings,
                                  an_unknown_name_is_a_success_with_no_function,
                                  a_version_too_old_is_told_apart_from_an_unknown_name,
                                  bad_questions_are_invalid,
                                  the_older_spelling_answers_not_found,
                                  an_older_driver_lacks_newer_functions,
                                  NULL};

    return run_tests("resolve", tests);
}
