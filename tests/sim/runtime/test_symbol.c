/* SPDX-License-Identifier: MIT
 * test_symbol.c - device variables, by the calls that nvcc's generated code makes. Two devices. */
#include "run.h"
#include "sim/runtime/nvcc.h"

#include <string.h>

static const char no_image[64];
static simrt_fat_binary binary = {0x466243b1, 1, no_image, NULL};
static char shadow[16]; /* the host's side of the variable: its address is its name */
static void **handle;

static void setup(void)
{
    handle = __cudaRegisterFatBinary(&binary);
    ck_assert_ptr_nonnull(handle);
    __cudaRegisterVar(handle, shadow, NULL, "variable", 0, sizeof(shadow), 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
}

START_TEST(registering_calls_no_driver_and_leaves_no_error)
{
    ck_assert_int_eq(cudaGetLastError(), cudaSuccess);
}
END_TEST

START_TEST(what_is_copied_to_a_variable_is_copied_from_it)
{
    const char sent[4] = {1, 2, 3, 4};
    char got[16];
    const char expected[16] = {[4] = 1, 2, 3, 4};

    ok(cudaMemcpyToSymbol(shadow, sent, 4, 4, cudaMemcpyHostToDevice));
    ok(cudaMemcpyFromSymbol(got, shadow, 16, 0, cudaMemcpyDeviceToHost));
    ck_assert_mem_eq(got, expected, 16);
    ok(cudaMemcpyToSymbolAsync(shadow, sent, 4, 0, cudaMemcpyDefault, NULL));
    ok(cudaMemcpyFromSymbolAsync(got, shadow, 4, 0, cudaMemcpyDefault, NULL));
    ok(cudaDeviceSynchronize());
    ck_assert_mem_eq(got, sent, 4);
}
END_TEST

START_TEST(a_variable_has_an_address_and_a_size)
{
    void *address = NULL;
    size_t bytes = 0;
    char got[16];
    char expected[16];

    memset(expected, 7, sizeof(expected));
    ok(cudaGetSymbolSize(&bytes, shadow));
    ck_assert_uint_eq(bytes, sizeof(shadow));
    ok(cudaGetSymbolAddress(&address, shadow));
    ok(cudaMemset(address, 7, bytes));
    ok(cudaMemcpyFromSymbol(got, shadow, 16, 0, cudaMemcpyDeviceToHost));
    ck_assert_mem_eq(got, expected, 16);
}
END_TEST

START_TEST(each_device_has_its_own_and_a_reset_begins_it_anew)
{
    char value = 5;

    ok(cudaMemcpyToSymbol(shadow, &value, 1, 0, cudaMemcpyHostToDevice));
    ok(cudaSetDevice(1));
    ok(cudaMemcpyFromSymbol(&value, shadow, 1, 0, cudaMemcpyDeviceToHost));
    ck_assert_int_eq(value, 0);
    ok(cudaSetDevice(0));
    ok(cudaMemcpyFromSymbol(&value, shadow, 1, 0, cudaMemcpyDeviceToHost));
    ck_assert_int_eq(value, 5);
    ok(cudaDeviceReset());
    ok(cudaMemcpyFromSymbol(&value, shadow, 1, 0, cudaMemcpyDeviceToHost));
    ck_assert_int_eq(value, 0);
}
END_TEST

START_TEST(a_variable_takes_no_device_memory)
{
    size_t before = 0;
    size_t after = 0;
    size_t total = 0;
    void *address = NULL;

    ok(cudaMemGetInfo(&before, &total));
    ok(cudaGetSymbolAddress(&address, shadow));
    ok(cudaMemGetInfo(&after, &total));
    ck_assert_uint_eq(before, after);
}
END_TEST

START_TEST(what_nobody_registered_is_no_symbol)
{
    char other = 0;
    size_t bytes = 0;

    fails(cudaErrorInvalidSymbol, cudaGetSymbolSize(&bytes, &other));
    fails(cudaErrorInvalidSymbol, cudaMemcpyToSymbol(&other, &other, 1, 0, cudaMemcpyHostToDevice));
    __cudaUnregisterFatBinary(handle);
    fails(cudaErrorInvalidSymbol, cudaGetSymbolSize(&bytes, shadow));
}
END_TEST

START_TEST(a_copy_beyond_the_end_or_the_wrong_way_is_refused)
{
    char bytes[32] = {0};

    fails(cudaErrorInvalidValue, cudaMemcpyToSymbol(shadow, bytes, 17, 0, cudaMemcpyHostToDevice));
    fails(cudaErrorInvalidValue, cudaMemcpyToSymbol(shadow, bytes, 1, 16, cudaMemcpyHostToDevice));
    fails(cudaErrorInvalidValue,
          cudaMemcpyToSymbol(shadow, bytes, 2, (size_t)-1, cudaMemcpyHostToDevice));
    fails(cudaErrorInvalidMemcpyDirection,
          cudaMemcpyToSymbol(shadow, bytes, 1, 0, cudaMemcpyDeviceToHost));
    fails(cudaErrorInvalidMemcpyDirection,
          cudaMemcpyFromSymbol(bytes, shadow, 1, 0, cudaMemcpyHostToDevice));
}
END_TEST

START_TEST(a_managed_variable_is_there_from_the_start)
{
    int *managed = NULL;

    __cudaRegisterManagedVar(handle, (void **)&managed, NULL, "managed", 0, sizeof(*managed), 0, 0);
    ck_assert_int_ne(__cudaInitModule(handle), 0);
    ck_assert_ptr_nonnull(managed);
    ck_assert_int_eq(*managed, 0);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        registering_calls_no_driver_and_leaves_no_error,
        what_is_copied_to_a_variable_is_copied_from_it,
        a_variable_has_an_address_and_a_size,
        each_device_has_its_own_and_a_reset_begins_it_anew,
        a_variable_takes_no_device_memory,
        what_nobody_registered_is_no_symbol,
        a_copy_beyond_the_end_or_the_wrong_way_is_refused,
        a_managed_variable_is_there_from_the_start,
    };

    return run_tests_in("symbol", tests, sizeof(tests) / sizeof(tests[0]), setup, NULL);
}
