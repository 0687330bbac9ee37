/* SPDX-License-Identifier: MIT
 * test_launch.c - modules, launches of registered and unknown kernels, their checks. */
#include <stdlib.h>
#include <string.h>

#include "support.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* cuFuncSetBlockShape */

static const size_t add_sizes[] = {sizeof(CUdeviceptr), sizeof(float), sizeof(int)};

/* add(float *x, float what, int n) */
static void add(const simcuda_launch *launch, void **args)
{
    float *x = (float *)*(CUdeviceptr *)args[0];
    float what = *(float *)args[1];

    (void)launch;
    for (int i = 0; i < *(int *)args[2]; i++)
        x[i] += what;
}

static unsigned add_touches(const simcuda_launch *launch, void **args, simcuda_range *ranges)
{
    (void)launch;
    ranges[0].address = (const void *)*(CUdeviceptr *)args[0];
    ranges[0].bytes = (size_t) * (int *)args[2] * sizeof(float);
    ranges[0].writes = 1;
    return 1;
}

static CUfunction add_kernel(void)
{
    ck_assert_int_eq(simcuda_kernel("add", add, add_sizes, 3, add_touches), 0);
    return function("add");
}

static CUresult launch(CUfunction kernel, CUstream stream, void **arguments, void **extra)
{
    return cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, arguments, extra);
}

static CUdeviceptr zeros(int count)
{
    CUdeviceptr address;

    OK(cuMemAlloc(&address, (size_t)count * sizeof(float)));
    OK(cuMemsetD32(address, 0, (size_t)count));
    return address;
}

static float first_of(CUdeviceptr address)
{
    float value;

    OK(cuMemcpyDtoH(&value, address, sizeof value));
    return value;
}

START_TEST(a_registered_kernel_computes_in_stream_order)
{
    CUdeviceptr x;
    CUfunction kernel;
    float one = 1, values[8];
    int n = 8;

    start();
    x = zeros(n);
    kernel = add_kernel();
    for (int i = 0; i < 5; i++)
        OK(launch(kernel, NULL, (void *[]){&x, &one, &n}, NULL));
    OK(cuMemcpyDtoH(values, x, sizeof values));
    for (int i = 0; i < n; i++)
        ck_assert_float_eq(values[i], 5);
}
END_TEST

START_TEST(arguments_are_copied_when_the_launch_is_enqueued)
{
    CUdeviceptr x;
    CUfunction kernel;
    static struct gate gate;
    float what = 3;
    int n = 1;

    start();
    x = zeros(1);
    kernel = add_kernel();
    gate_hold(&gate, NULL);
    OK(launch(kernel, NULL, (void *[]){&x, &what, &n}, NULL));
    what = 100;
    n = 1000;
    gate_open(&gate);
    ck_assert_float_eq(first_of(x), 3);
}
END_TEST

START_TEST(packed_arguments_work_too)
{
    struct {
        CUdeviceptr x;
        float what;
        int n;
    } packed = {0, 2, 1};
    size_t bytes = sizeof packed;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};
    CUfunction kernel;

    start();
    packed.x = zeros(1);
    kernel = add_kernel();
    OK(launch(kernel, NULL, NULL, extra));
    ck_assert_float_eq(first_of(packed.x), 2);
    INVALID(launch(kernel, NULL, (void *[]){&packed.x, &packed.what, &packed.n}, extra));
    INVALID(launch(kernel, NULL, NULL, NULL));
    bytes = 10;
    INVALID(launch(kernel, NULL, NULL, extra));
}
END_TEST

static void launch_unknown(void)
{
    CUfunction unknown;
    void *bad[] = {(void *)1, (void *)2};

    start();
    unknown = function("nobody_registered_this");
    for (int i = 0; i < 3; i++)
        OK(launch(unknown, NULL, bad, NULL));
    OK(launch(unknown, NULL, NULL, NULL));
    note_by_kernel(NULL, 1); /* registered with its accesses: a checked one */
    OK(cuCtxSynchronize());
}

START_TEST(an_unknown_kernel_reads_no_argument_and_counts_as_unchecked)
{
    char *report = report_of(launch_unknown);

    ck_assert_int_eq(number_in(report, "unchecked"), 4);
    free(report);
}
END_TEST

static void touch_wrong_memory(void)
{
    CUdeviceptr x, freed;
    CUfunction kernel;
    float one = 1;
    int n = 4, too_many = 5;

    start();
    x = zeros(4);
    freed = zeros(4);
    OK(cuMemFree(freed));
    kernel = add_kernel();
    OK(launch(kernel, NULL, (void *[]){&x, &one, &too_many}, NULL));
    OK(launch(kernel, NULL, (void *[]){&freed, &one, &n}, NULL));
    ck_assert_float_eq(first_of(x), 0); /* it did not run */
    OK(launch(kernel, NULL, (void *[]){&x, &one, &n}, NULL));
    ck_assert_float_eq(first_of(x), 1);
}

START_TEST(a_kernel_that_would_touch_wrong_memory_is_counted_and_not_run)
{
    char *report = report_of(touch_wrong_memory);

    ck_assert_int_eq(number_in(report, "out-of-bounds"), 1);
    ck_assert_int_eq(number_in(report, "use-after-free"), 1);
    ck_assert_int_eq(number_in(report, "unchecked"), 0);
    free(report);
}
END_TEST

static void subtract(const simcuda_launch *launched, void **args)
{
    float minus = -*(float *)args[1];
    void *changed[] = {args[0], &minus, args[2]};

    add(launched, changed);
}

START_TEST(a_queued_launch_keeps_the_function_it_was_enqueued_with)
{
    CUdeviceptr x;
    CUfunction kernel;
    static struct gate gate;
    float one = 1;
    int n = 1;

    start();
    x = zeros(1);
    kernel = add_kernel();
    gate_hold(&gate, NULL);
    OK(launch(kernel, NULL, (void *[]){&x, &one, &n}, NULL));
    OK(launch(kernel, NULL, (void *[]){&x, &one, &n}, NULL));
    ck_assert_int_eq(simcuda_kernel("add", subtract, add_sizes, 3, add_touches), 0);
    OK(launch(kernel, NULL, (void *[]){&x, &one, &n}, NULL));
    gate_open(&gate);
    ck_assert_float_eq(first_of(x), 1);
}
END_TEST

static void keep_geometry(const simcuda_launch *launched, void **args)
{
    **(simcuda_launch **)args[0] = *launched;
}

START_TEST(a_kernel_is_told_its_geometry)
{
    static const size_t sizes[] = {sizeof(void *)};
    simcuda_launch seen, *where = &seen;
    CUlaunchConfig config = {.gridDimX = 9,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 64,
                             .blockDimY = 1,
                             .blockDimZ = 1};
    CUfunction kernel;

    start();
    ck_assert_int_eq(simcuda_kernel("geometry", keep_geometry, sizes, 1, NULL), 0);
    kernel = function("geometry");
    OK(cuLaunchKernel(kernel, 4, 3, 2, 32, 8, 1, 1024, NULL, (void *[]){&where}, NULL));
    OK(cuCtxSynchronize());
    ck_assert_uint_eq(seen.grid[0], 4);
    ck_assert_uint_eq(seen.grid[2], 2);
    ck_assert_uint_eq(seen.block[1], 8);
    ck_assert_uint_eq(seen.shared_bytes, 1024);
    OK(cuLaunchKernelEx(&config, kernel, (void *[]){&where}, NULL));
    OK(cuCtxSynchronize());
    ck_assert_uint_eq(seen.grid[0], 9);
    ck_assert_uint_eq(seen.block[0], 64);
    INVALID(cuLaunchKernelEx(NULL, kernel, (void *[]){&where}, NULL));
}
END_TEST

START_TEST(impossible_launches_are_refused)
{
    CUfunction kernel;
    CUmodule module;
    int nothing[64] = {0};

    start();
    kernel = function("some");
    INVALID(cuLaunchKernel(kernel, 0, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    INVALID(cuLaunchKernel(kernel, 1, 65536, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    INVALID(cuLaunchKernel(kernel, 1, 1, 1, 1025, 1, 1, 0, NULL, NULL, NULL));
    INVALID(cuLaunchKernel(kernel, 1, 1, 1, 32, 32, 2, 0, NULL, NULL, NULL));
    INVALID(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 49153, NULL, NULL, NULL));
    OK(cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100000));
    OK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 100000, NULL, NULL, NULL));
    ANSWERS(CUDA_ERROR_INVALID_HANDLE,
            cuLaunchKernel((CUfunction)nothing, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    ANSWERS(CUDA_ERROR_INVALID_HANDLE,
            cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, (CUstream)nothing, NULL, NULL));
    OK(cuFuncGetModule(&module, kernel));
    OK(cuModuleUnload(module));
    ANSWERS(CUDA_ERROR_INVALID_HANDLE,
            cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    ANSWERS(CUDA_ERROR_INVALID_HANDLE, cuModuleUnload(module));
}
END_TEST

START_TEST(a_library_kernel_launches_by_either_handle)
{
    CUlibrary library, owner;
    CUkernel kernel, again;
    CUfunction in_context;
    CUmodule module;
    const char *name;
    CUdeviceptr x;
    float one = 1;
    int n = 1;

    OK(cuInit(0));
    OK(cuLibraryLoadData(&library, "an image", NULL, NULL, 0, NULL, NULL, 0)); /* no context yet */
    OK(cuLibraryGetKernel(&kernel, library, "add"));
    OK(cuLibraryGetKernel(&again, library, "add"));
    ck_assert_ptr_eq(kernel, again);
    start();
    (void)add_kernel();
    x = zeros(1);
    OK(launch((CUfunction)kernel, NULL, (void *[]){&x, &one, &n}, NULL));
    OK(cuKernelGetFunction(&in_context, kernel));
    OK(launch(in_context, NULL, (void *[]){&x, &one, &n}, NULL));
    ck_assert_float_eq(first_of(x), 2);
    OK(cuLibraryGetModule(&module, library));
    OK(cuKernelGetName(&name, kernel));
    ck_assert_str_eq(name, "add");
    OK(cuKernelGetLibrary(&owner, kernel));
    ck_assert_ptr_eq(owner, library);
    OK(cuLibraryUnload(library));
    ANSWERS(CUDA_ERROR_INVALID_HANDLE,
            launch((CUfunction)kernel, NULL, (void *[]){&x, &one, &n}, NULL));
}
END_TEST

START_TEST(a_module_unloaded_behind_a_launch_does_not_disturb_it)
{
    CUdeviceptr x;
    CUfunction kernel;
    CUmodule module;
    static struct gate gate;
    float one = 1;
    int n = 1;

    start();
    x = zeros(1);
    kernel = add_kernel();
    gate_hold(&gate, NULL);
    OK(launch(kernel, NULL, (void *[]){&x, &one, &n}, NULL));
    OK(cuFuncGetModule(&module, kernel));
    OK(cuModuleUnload(module));
    gate_open(&gate);
    ck_assert_float_eq(first_of(x), 1);
}
END_TEST

START_TEST(modules_end_with_their_context)
{
    CUcontext context;
    CUfunction kernel;
    CUmodule module;

    start();
    OK(cuCtxCreate(&context, NULL, 0, 0));
    OK(cuModuleLoadData(&module, "an image"));
    OK(cuModuleGetFunction(&kernel, module, "one"));
    OK(cuModuleGetFunction(&kernel, module, "two"));
    OK(cuCtxDestroy(context));
    ANSWERS(CUDA_ERROR_INVALID_HANDLE, launch(kernel, NULL, NULL, NULL));
    ANSWERS(CUDA_ERROR_INVALID_HANDLE, cuModuleUnload(module));
}
END_TEST

START_TEST(functions_have_attributes_and_occupancy)
{
    CUfunction kernel;
    int value, blocks, block;

    start();
    kernel = function("some");
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel));
    ck_assert_int_eq(value, 1024);
    INVALID(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX, kernel));
    INVALID(cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_NUM_REGS, 1));
    INVALID(cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1 << 30));
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 256, 0));
    ck_assert_int_eq(blocks, 8);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 1, 0));
    ck_assert_int_eq(blocks, 32);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 256, 100 << 10));
    ck_assert_int_eq(blocks, 1);
    OK(cuOccupancyMaxPotentialBlockSize(&blocks, &block, kernel, NULL, 0, 0));
    ck_assert_int_eq(block, 1024);
    ck_assert_int_eq(blocks, 2 * 108);
}
END_TEST

START_TEST(an_image_and_names_are_needed)
{
    CUmodule module;
    CUfunction kernel;

    start();
    INVALID(cuModuleLoadData(&module, NULL));
    INVALID(cuModuleLoadData(NULL, "an image"));
    OK(cuModuleLoadDataEx(&module, "an image", 0, NULL, NULL));
    OK(cuModuleLoad(&module, "/proc/self/exe"));
    ANSWERS(CUDA_ERROR_FILE_NOT_FOUND, cuModuleLoad(&module, "/nowhere/module.cubin"));
    INVALID(cuModuleLoad(&module, NULL));
    INVALID(cuModuleGetFunction(&kernel, module, NULL));
    ANSWERS(CUDA_ERROR_INVALID_HANDLE, cuModuleGetFunction(&kernel, (CUmodule)&module, "x"));
}
END_TEST

START_TEST(the_blocks_of_the_oldest_launches_are_checked)
{
    CUfunction kernel;

    start();
    kernel = function("old");
    OK(cuFuncSetBlockShape(kernel, 16, 16, 4));
    INVALID(cuFuncSetBlockShape(kernel, 0, 1, 1));
    INVALID(cuFuncSetBlockShape(kernel, 1, 1, 65));
    INVALID(cuFuncSetBlockShape(kernel, 1024, 2, 1));
    ANSWERS(CUDA_ERROR_INVALID_HANDLE, cuFuncSetBlockShape(NULL, 1, 1, 1));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {a_registered_kernel_computes_in_stream_order,
                                  arguments_are_copied_when_the_launch_is_enqueued,
                                  packed_arguments_work_too,
                                  an_unknown_kernel_reads_no_argument_and_counts_as_unchecked,
                                  a_kernel_that_would_touch_wrong_memory_is_counted_and_not_run,
                                  a_queued_launch_keeps_the_function_it_was_enqueued_with,
                                  a_kernel_is_told_its_geometry,
                                  impossible_launches_are_refused,
                                  a_library_kernel_launches_by_either_handle,
                                  a_module_unloaded_behind_a_launch_does_not_disturb_it,
                                  modules_end_with_their_context,
                                  functions_have_attributes_and_occupancy,
                                  an_image_and_names_are_needed,
                                  the_blocks_of_the_oldest_launches_are_checked,
                                  NULL};

    return run_tests("launch", tests);
}
