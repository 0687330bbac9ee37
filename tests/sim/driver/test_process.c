/* SPDX-License-Identifier: MIT
 * test_process.c - start-up, devices, what is exported, and fork. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

START_TEST(calls_before_cuInit_are_not_initialised)
{
    int count;
    CUcontext context;
    CUdeviceptr address;

    ANSWERS(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&count));
    ANSWERS(CUDA_ERROR_NOT_INITIALIZED, cuDevicePrimaryCtxRetain(&context, 0));
    ANSWERS(CUDA_ERROR_NOT_INITIALIZED, cuCtxGetCurrent(&context));
    ANSWERS(CUDA_ERROR_NOT_INITIALIZED, cuMemAlloc(&address, 512));
    ANSWERS(CUDA_ERROR_NOT_INITIALIZED, cuMemFree(0));
    ANSWERS(CUDA_ERROR_NOT_INITIALIZED, cuStreamSynchronize(NULL));
}
END_TEST

START_TEST(the_version_can_be_asked_before_cuInit)
{
    int version = 0;

    with("VERSION", "12040");
    OK(cuDriverGetVersion(&version));
    ck_assert_int_eq(version, 12040);
    INVALID(cuDriverGetVersion(NULL));
}
END_TEST

START_TEST(cuInit_takes_no_flags_and_can_be_repeated)
{
    INVALID(cuInit(1));
    OK(cuInit(0));
    OK(cuInit(0));
}
END_TEST

START_TEST(without_devices_cuInit_says_so)
{
    int count;

    with("DEVICES", "0");
    ANSWERS(CUDA_ERROR_NO_DEVICE, cuInit(0));
    ANSWERS(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&count));
}
END_TEST

START_TEST(devices_are_what_the_settings_say)
{
    int count, major, minor, value;
    size_t bytes;
    char name[64], bus[16];
    CUdevice device;
    CUuuid first, second;

    with("DEVICES", "2");
    with("MEMORY", "3GiB");
    with("CC", "9.0");
    OK(cuInit(0));
    OK(cuDeviceGetCount(&count));
    ck_assert_int_eq(count, 2);
    OK(cuDeviceGet(&device, 1));
    OK(cuDeviceTotalMem(&bytes, device));
    ck_assert_uint_eq(bytes, 3 * GIB);
    OK(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
    OK(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device));
    ck_assert_int_eq(major * 10 + minor, 90);
    OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, device));
    ck_assert_int_eq(value, 32);
    OK(cuDeviceGetName(name, sizeof name, device));
    ck_assert_uint_gt(strlen(name), 0);
    OK(cuDeviceGetUuid(&first, 0));
    OK(cuDeviceGetUuid(&second, 1));
    ck_assert_int_ne(memcmp(&first, &second, sizeof first), 0);
    OK(cuDeviceGetPCIBusId(bus, sizeof bus, 1));
    OK(cuDeviceGetByPCIBusId(&device, bus));
    ck_assert_int_eq(device, 1);
}
END_TEST

START_TEST(a_name_is_cut_to_the_callers_buffer)
{
    char name[8];

    OK(cuInit(0));
    OK(cuDeviceGetName(name, sizeof name, 0));
    ck_assert_uint_eq(strlen(name), 7);
}
END_TEST

START_TEST(unknown_devices_and_attributes_are_errors)
{
    CUdevice device;
    int value;

    OK(cuInit(0));
    ANSWERS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&device, 1));
    ANSWERS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&device, -1));
    INVALID(cuDeviceGet(NULL, 0));
    INVALID(cuDeviceGetAttribute(&value, 0, 0));
    INVALID(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX, 0));
}
END_TEST

START_TEST(every_error_has_a_name_and_a_text)
{
    const char *text;

    OK(cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text));
    ck_assert_str_eq(text, "CUDA_ERROR_OUT_OF_MEMORY");
    OK(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
    ck_assert_str_eq(text, "out of memory");
    INVALID(cuGetErrorName((CUresult)12345, &text));
    ck_assert_ptr_null(text);
}
END_TEST

START_TEST(every_name_of_the_list_is_exported)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    FILE *list = fopen(NAMES_DIR "/cuda.txt", "r");
    char line[256];
    int names = 0;

    ck_assert_ptr_nonnull(driver);
    ck_assert_ptr_nonnull(list);
    while (fgets(line, sizeof line, list)) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '#')
            continue;
        ck_assert_msg(dlsym(driver, line) != NULL, "%s is not exported", line);
        names++;
    }
    fclose(list);
    ck_assert_int_gt(names, 600);
}
END_TEST

START_TEST(what_is_not_modelled_answers_not_supported)
{
    start();
    ANSWERS(CUDA_ERROR_NOT_SUPPORTED, cuGraphicsUnregisterResource(NULL));
}
END_TEST

/* What `body` returns in a forked child that then exits as a program does. */
static int in_child(int (*body)(void))
{
    pid_t child = fork();
    int status;

    ck_assert_int_ge(child, 0);
    if (child == 0)
        exit(body());
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int child_is_refused(void)
{
    CUdeviceptr address;
    CUgraph graph;
    int count;

    return !(cuInit(0) == CUDA_ERROR_NOT_INITIALIZED &&
             cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED &&
             cuMemAlloc(&address, 512) == CUDA_ERROR_NOT_INITIALIZED &&
             cuCtxSynchronize() == CUDA_ERROR_NOT_INITIALIZED &&
             cuGraphCreate(&graph, 0) == CUDA_ERROR_NOT_INITIALIZED);
}

START_TEST(a_child_of_an_initialised_process_is_not_initialised)
{
    static struct gate gate;

    start();
    gate_hold(&gate, NULL);
    gate_reached(&gate);
    ck_assert_int_eq(in_child(child_is_refused), 0);
    gate_open(&gate);
    OK(cuCtxSynchronize());
}
END_TEST

static int child_starts(void)
{
    CUdeviceptr address;
    CUcontext context;

    return !(cuInit(0) == CUDA_SUCCESS && cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS &&
             cuCtxSetCurrent(context) == CUDA_SUCCESS && cuMemAlloc(&address, 512) == CUDA_SUCCESS);
}

START_TEST(a_child_of_a_process_that_never_called_cuInit_can)
{
    int version;

    OK(cuDriverGetVersion(&version));
    ck_assert_int_eq(in_child(child_starts), 0);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {calls_before_cuInit_are_not_initialised,
                                  the_version_can_be_asked_before_cuInit,
                                  cuInit_takes_no_flags_and_can_be_repeated,
                                  without_devices_cuInit_says_so,
                                  devices_are_what_the_settings_say,
                                  a_name_is_cut_to_the_callers_buffer,
                                  unknown_devices_and_attributes_are_errors,
                                  every_error_has_a_name_and_a_text,
                                  every_name_of_the_list_is_exported,
                                  what_is_not_modelled_answers_not_supported,
                                  a_child_of_an_initialised_process_is_not_initialised,
                                  a_child_of_a_process_that_never_called_cuInit_can,
                                  NULL};

    return run_tests("process", tests);
}
