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

/* What PyTorch's allocator asks the runtime for, by the version each appeared in. */
START_TEST(every_function_that_an_allocator_of_virtual_memory_asks_for_is_found)
{
    static const struct {
        const char *name;
        unsigned version;
    } asked[] = {
        {"cuDeviceGet", 2000},
        {"cuDeviceGetAttribute", 2000},
        {"cuMemGetAddressRange", 3020},
        {"cuMemAddressReserve", 10020},
        {"cuMemAddressFree", 10020},
        {"cuMemCreate", 10020},
        {"cuMemRelease", 10020},
        {"cuMemMap", 10020},
        {"cuMemUnmap", 10020},
        {"cuMemSetAccess", 10020},
        {"cuMemGetAllocationGranularity", 10020},
        {"cuMemExportToShareableHandle", 10020},
        {"cuMemImportFromShareableHandle", 10020},
        {"cuMemRetainAllocationHandle", 11000},
        {"cuMulticastCreate", 12010},
        {"cuMulticastAddDevice", 12010},
        {"cuMulticastBindMem", 12010},
        {"cuMulticastUnbind", 12010},
        {"cuStreamWriteValue32", 11070},
        {"cuGreenCtxCreate", 12040},
        {"cuGreenCtxDestroy", 12040},
        {"cuCtxGetCurrent", 4000},
        {"cuCtxSetCurrent", 4000},
        {"cuCtxFromGreenCtx", 12040},
        {"cuGetErrorString", 6000},
    };

    for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
        enum cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSymbolNotFound;
        void *found = NULL;

        ok(cudaGetDriverEntryPointByVersion(asked[i].name, &found, asked[i].version,
                                            cudaEnableDefault, &status));
        ck_assert_msg(found != NULL && status == cudaDriverEntryPointSuccess, "%s", asked[i].name);
        found = NULL;
        ok(cudaGetDriverEntryPointByVersion(asked[i].name, &found, 13000, cudaEnableDefault,
                                            &status));
        ck_assert_msg(found != NULL && status == cudaDriverEntryPointSuccess, "%s", asked[i].name);
    }
}
END_TEST

START_TEST(a_version_newer_than_the_driver_is_invalid)
{
    void *found = &found;

    fails(cudaErrorInvalidValue,
          cudaGetDriverEntryPointByVersion("cuInit", &found, 99990, cudaEnableDefault, NULL));
}
END_TEST

START_TEST(without_a_version_an_older_driver_is_asked_for_what_it_knows)
{
    enum cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSymbolNotFound;
    void *found = NULL;

    setenv("SIMCUDA_VERSION", "12080", 1);
    ok(cudaGetDriverEntryPoint("cuMemFree", &found, cudaEnableDefault, &status));
    ck_assert_int_eq(status, cudaDriverEntryPointSuccess);
    ck_assert_ptr_nonnull(found);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        an_entry_point_is_the_driver_function_of_that_version,
        a_name_no_driver_has_is_reported_in_the_status,
        a_version_before_the_function_existed_is_not_sufficient,
        a_question_without_name_place_or_sense_is_invalid,
        every_function_that_an_allocator_of_virtual_memory_asks_for_is_found,
        a_version_newer_than_the_driver_is_invalid,
        without_a_version_an_older_driver_is_asked_for_what_it_knows,
    };

    return run_tests("entry", tests, sizeof(tests) / sizeof(tests[0]));
}
