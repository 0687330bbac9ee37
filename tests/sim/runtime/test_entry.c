/* SPDX-License-Identifier: MIT
 * test_entry.c - driver functions asked of the runtime. */
#include "run.h"

#include <cudaTypedefs.h>
#include <string.h>

START_TEST(an_entry_point_is_the_driver_function_of_that_version)
{
    enum cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSymbolNotFound;
    PFN_cuMemAlloc_v3020 allocate;
    PFN_cuMemFree_v3020 release;
    CUdeviceptr pointer = 0;
    void *found = NULL;

    ok(cudaFree(NULL));
    ok(cudaGetDriverEntryPointByVersion("cuMemAlloc", &found, 3020, cudaEnableDefault, &status));
    ck_assert_int_eq(status, cudaDriverEntryPointSuccess);
    memcpy(&allocate, &found, sizeof(allocate));
    ok(cudaGetDriverEntryPoint("cuMemFree", &found, cudaEnableDefault, NULL));
    memcpy(&release, &found, sizeof(release));
    ck_assert_int_eq(allocate(&pointer, MIB), CUDA_SUCCESS);
    ck_assert_int_eq(release(pointer), CUDA_SUCCESS);
}
END_TEST

START_TEST(a_name_no_driver_has_is_reported_in_the_status)
{
    enum cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSuccess;
    void *found = &found;

    ok(cudaGetDriverEntryPointByVersion("cuNoSuchThing", &found, 13000, cudaEnableDefault,
                                        &status));
    ck_assert_int_eq(status, cudaDriverEntryPointSymbolNotFound);
    ck_assert_ptr_null(found);
}
END_TEST

START_TEST(a_version_before_the_function_existed_is_not_sufficient)
{
    enum cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSuccess;
    void *found = &found;

    ok(cudaGetDriverEntryPointByVersion("cuLibraryLoadData", &found, 11000, cudaEnableDefault,
                                        &status));
    ck_assert_int_eq(status, cudaDriverEntryPointVersionNotSufficent);
    ck_assert_ptr_null(found);
}
END_TEST

START_TEST(a_question_without_name_place_or_sense_is_invalid)
{
    void *found = &found;

    fails(cudaErrorInvalidValue,
          cudaGetDriverEntryPointByVersion(NULL, &found, 13000, cudaEnableDefault, NULL));
    fails(cudaErrorInvalidValue,
          cudaGetDriverEntryPointByVersion("cuInit", NULL, 13000, cudaEnableDefault, NULL));
    fails(cudaErrorInvalidValue,
          cudaGetDriverEntryPointByVersion("cuInit", &found, 13000, 99, NULL));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        an_entry_point_is_the_driver_function_of_that_version,
        a_name_no_driver_has_is_reported_in_the_status,
        a_version_before_the_function_existed_is_not_sufficient,
        a_question_without_name_place_or_sense_is_invalid,
    };

    return run_tests("entry", tests, sizeof(tests) / sizeof(tests[0]));
}
