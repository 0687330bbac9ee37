/* SPDX-License-Identifier: MIT
 * test_launch.c - registration and launches, by the calls that nvcc's generated code makes. */
#include "run.h"
#include "sim/runtime/nvcc.h"
#include "sim/simcuda.h"

#include <string.h>

/* A host stub's address is all that counts; these are never run. */
static void add_stub(void)
{
}

static void other_stub(void)
{
}

static const char no_image[64];
static simrt_fat_binary binary = {0x466243b1, 1, no_image, NULL};
static void **handle;

static const dim3 one = {1, 1, 1};

static const void *address_of(void (*stub)(void))
{
    return *(const void **)&stub;
}

static void add(const simcuda_launch *launch, void **arguments)
{
    int *cell = *(int **)arguments[0];
    int value = *(int *)arguments[1];

    *cell += value * (int)(launch->grid[0] * launch->block[0]);
}

static void register_add(void)
{
    const size_t sizes[] = {sizeof(int *), sizeof(int)};
    const void *stub = address_of(add_stub);

    ck_assert(simcuda_kernel != NULL);
    ck_assert_int_eq(simcuda_kernel("add", add, sizes, 2, NULL), 0);
    handle = __cudaRegisterFatBinary(&binary);
    ck_assert_ptr_nonnull(handle);
    __cudaRegisterFunction(handle, stub, NULL, "add", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterFatBinaryEnd(handle);
}

static int *new_cell(void)
{
    int *cell = NULL;

    ok(cudaMalloc((void **)&cell, sizeof(*cell)));
    ok(cudaMemset(cell, 0, sizeof(*cell)));
    return cell;
}

static int read_cell(const int *cell)
{
    int value = -1;

    ok(cudaMemcpy(&value, cell, sizeof(value), cudaMemcpyDeviceToHost));
    return value;
}

START_TEST(a_launch_runs_the_registered_function_with_the_arguments_of_its_call)
{
    int value = 5;
    int *cell;
    void *arguments[2];

    register_add();
    cell = new_cell();
    arguments[0] = &cell;
    arguments[1] = &value;
    ok(cudaLaunchKernel(address_of(add_stub), (dim3){2, 1, 1}, (dim3){3, 1, 1}, arguments, 0,
                        NULL));
    value = 1000; /* the launch has copied its arguments */
    ck_assert_int_eq(read_cell(cell), 30);
}
END_TEST

START_TEST(a_stub_launches_what_the_configuration_says)
{
    int value = 1;
    int *cell;
    void *arguments[2];
    dim3 grid;
    dim3 block;
    size_t shared_bytes = 0;
    cudaStream_t stream;
    cudaStream_t popped = NULL;
    cudaKernel_t kernel = NULL;

    register_add();
    cell = new_cell();
    arguments[0] = &cell;
    arguments[1] = &value;
    ok(cudaStreamCreate(&stream));
    ck_assert_uint_eq(__cudaPushCallConfiguration((dim3){7, 1, 1}, one, 128, stream), 0);
    ok(__cudaGetKernel(&kernel, address_of(add_stub)));
    ok(__cudaPopCallConfiguration(&grid, &block, &shared_bytes, &popped));
    ck_assert_uint_eq(shared_bytes, 128);
    ck_assert_ptr_eq(popped, stream);
    ok(__cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, popped));
    ok(cudaStreamSynchronize(stream));
    ck_assert_int_eq(read_cell(cell), 7);
}
END_TEST

START_TEST(configurations_nest_and_do_not_cross)
{
    dim3 grid;
    dim3 block;
    size_t shared_bytes = 0;
    cudaStream_t stream;

    ck_assert_uint_eq(__cudaPushCallConfiguration((dim3){1, 1, 1}, one, 1, NULL), 0);
    ck_assert_uint_eq(__cudaPushCallConfiguration((dim3){2, 1, 1}, one, 2, NULL), 0);
    ok(__cudaPopCallConfiguration(&grid, &block, &shared_bytes, &stream));
    ck_assert_uint_eq(grid.x, 2);
    ok(__cudaPopCallConfiguration(&grid, &block, &shared_bytes, &stream));
    ck_assert_uint_eq(grid.x, 1);
    fails(cudaErrorMissingConfiguration,
          __cudaPopCallConfiguration(&grid, &block, &shared_bytes, &stream));
}
END_TEST

START_TEST(what_nobody_registered_is_no_device_function)
{
    cudaKernel_t kernel = NULL;
    const char *name = NULL;

    fails(cudaErrorInvalidDeviceFunction,
          cudaLaunchKernel(address_of(other_stub), one, one, NULL, 0, NULL));
    fails(cudaErrorInvalidDeviceFunction, cudaGetKernel(&kernel, address_of(other_stub)));
    fails(cudaErrorInvalidDeviceFunction, __cudaGetKernel(&kernel, address_of(other_stub)));
    fails(cudaErrorInvalidDeviceFunction, cudaFuncGetName(&name, address_of(other_stub)));
}
END_TEST

START_TEST(what_was_unregistered_is_no_device_function_any_more)
{
    cudaKernel_t kernel = NULL;

    register_add();
    ok(cudaGetKernel(&kernel, address_of(add_stub)));
    __cudaUnregisterFatBinary(handle);
    fails(cudaErrorInvalidDeviceFunction,
          cudaLaunchKernel(address_of(add_stub), one, one, NULL, 0, NULL));
}
END_TEST

START_TEST(a_handle_launches_as_its_stub_does)
{
    int value = 3;
    int *cell;
    void *arguments[2];
    cudaKernel_t kernel = NULL;
    cudaFunction_t loaded = NULL;
    const char *name = NULL;

    register_add();
    cell = new_cell();
    arguments[0] = &cell;
    arguments[1] = &value;
    ok(cudaGetKernel(&kernel, address_of(add_stub)));
    ok(cudaLaunchKernel(kernel, one, one, arguments, 0, NULL));
    ck_assert_int_eq(read_cell(cell), 3);
    ok(cudaGetFuncBySymbol(&loaded, address_of(add_stub)));
    ck_assert_ptr_nonnull(loaded);
    ok(cudaFuncGetName(&name, address_of(add_stub)));
    ck_assert_str_eq(name, "add");
}
END_TEST

START_TEST(a_size_the_device_does_not_have_is_an_invalid_configuration)
{
    const void *stub = address_of(add_stub);
    int value = 0;
    int *cell;
    void *arguments[2];

    register_add();
    cell = new_cell();
    arguments[0] = &cell;
    arguments[1] = &value;
    fails(cudaErrorInvalidConfiguration,
          cudaLaunchKernel(stub, (dim3){0, 1, 1}, one, arguments, 0, NULL));
    fails(cudaErrorInvalidConfiguration,
          cudaLaunchKernel(stub, one, (dim3){1, 1, 0}, arguments, 0, NULL));
    fails(cudaErrorInvalidConfiguration,
          cudaLaunchKernel(stub, one, (dim3){1025, 1, 1}, arguments, 0, NULL));
    fails(cudaErrorInvalidConfiguration,
          cudaLaunchKernel(stub, one, (dim3){64, 64, 1}, arguments, 0, NULL));
    fails(cudaErrorInvalidConfiguration,
          cudaLaunchKernel(stub, (dim3){1, 70000, 1}, one, arguments, 0, NULL));
    ok(cudaLaunchKernel(stub, one, (dim3){1024, 1, 1}, arguments, 0, NULL));
}
END_TEST

START_TEST(an_extended_launch_without_attributes_is_a_launch)
{
    int value = 2;
    int *cell;
    void *arguments[2];
    cudaLaunchConfig_t config = {.gridDim = {4, 1, 1}, .blockDim = {1, 1, 1}};

    register_add();
    cell = new_cell();
    arguments[0] = &cell;
    arguments[1] = &value;
    ok(cudaLaunchKernelExC(&config, address_of(add_stub), arguments));
    ck_assert_int_eq(read_cell(cell), 8);
    config.blockDim.x = 2000;
    fails(cudaErrorInvalidConfiguration,
          cudaLaunchKernelExC(&config, address_of(add_stub), arguments));
}
END_TEST

START_TEST(a_kernel_nobody_simulates_reads_none_of_its_arguments)
{
    const void *stub = address_of(other_stub);

    handle = __cudaRegisterFatBinary(&binary);
    __cudaRegisterFunction(handle, stub, NULL, "unheard_of", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterFatBinaryEnd(handle);
    ok(cudaLaunchKernel(stub, one, one, NULL, 0, NULL));
    ok(cudaDeviceSynchronize());
}
END_TEST

START_TEST(launches_go_on_after_a_device_reset)
{
    int value = 1;
    int *cell;
    void *arguments[2];

    register_add();
    cell = new_cell();
    arguments[0] = &cell;
    arguments[1] = &value;
    ok(cudaLaunchKernel(address_of(add_stub), one, one, arguments, 0, NULL));
    ok(cudaDeviceReset());
    cell = new_cell();
    ok(cudaLaunchKernel(address_of(add_stub), one, one, arguments, 0, NULL));
    ck_assert_int_eq(read_cell(cell), 1);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_launch_runs_the_registered_function_with_the_arguments_of_its_call,
        a_stub_launches_what_the_configuration_says,
        configurations_nest_and_do_not_cross,
        what_nobody_registered_is_no_device_function,
        what_was_unregistered_is_no_device_function_any_more,
        a_handle_launches_as_its_stub_does,
        a_size_the_device_does_not_have_is_an_invalid_configuration,
        an_extended_launch_without_attributes_is_a_launch,
        a_kernel_nobody_simulates_reads_none_of_its_arguments,
        launches_go_on_after_a_device_reset,
    };

    return run_tests("launch", tests, sizeof(tests) / sizeof(tests[0]));
}
