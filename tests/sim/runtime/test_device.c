/* SPDX-License-Identifier: MIT
 * test_device.c - devices, their contexts and what they say of themselves. Three devices
 * (SIMCUDA_DEVICES). */
#include "run.h"

#include <pthread.h>
#include <string.h>

START_TEST(the_driver_is_initialised_by_the_first_call_whatever_it_is)
{
    int count = 0;

    ok(cudaGetDeviceCount(&count));
    ck_assert_int_eq(count, 3);
}
END_TEST

START_TEST(versions_are_those_of_the_toolkit_and_the_driver)
{
    int version = 0;

    ok(cudaRuntimeGetVersion(&version));
    ck_assert_int_eq(version, CUDART_VERSION);
    ok(cudaDriverGetVersion(&version));
    ck_assert_int_eq(version, 13000);
    fails(cudaErrorInvalidValue, cudaRuntimeGetVersion(NULL));
    fails(cudaErrorInvalidValue, cudaDriverGetVersion(NULL));
}
END_TEST

cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);

START_TEST(a_profiler_that_is_not_there_can_be_started_and_stopped)
{
    ok(cudaProfilerStart());
    ok(cudaProfilerStop());
}
END_TEST

START_TEST(the_current_device_is_0_until_set)
{
    int device = -1;

    ok(cudaGetDevice(&device));
    ck_assert_int_eq(device, 0);
    ok(cudaSetDevice(2));
    ok(cudaGetDevice(&device));
    ck_assert_int_eq(device, 2);
}
END_TEST

START_TEST(a_device_that_does_not_exist_is_refused_and_the_current_one_stays)
{
    int device = -1;

    ok(cudaSetDevice(1));
    fails(cudaErrorInvalidDevice, cudaSetDevice(3));
    fails(cudaErrorInvalidDevice, cudaSetDevice(-1));
    ok(cudaGetDevice(&device));
    ck_assert_int_eq(device, 1);
    fails(cudaErrorInvalidValue, cudaGetDevice(NULL));
    fails(cudaErrorInvalidValue, cudaGetDeviceCount(NULL));
}
END_TEST

static void *get_device(void *result)
{
    ok(cudaGetDevice(result));
    return NULL;
}

START_TEST(each_thread_has_its_own_current_device)
{
    pthread_t thread;
    int other = -1;

    ok(cudaSetDevice(2));
    ck_assert_int_eq(pthread_create(&thread, NULL, get_device, &other), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(other, 0);
}
END_TEST

START_TEST(memory_comes_from_the_current_device)
{
    struct cudaPointerAttributes attributes;
    void *pointer = NULL;

    ok(cudaSetDevice(1));
    ok(cudaMalloc(&pointer, MIB));
    ok(cudaSetDevice(0));
    ok(cudaPointerGetAttributes(&attributes, pointer));
    ck_assert_int_eq(attributes.device, 1);
    ok(cudaFree(pointer));
}
END_TEST

START_TEST(properties_agree_with_the_attributes)
{
    struct cudaDeviceProp properties;
    size_t free_bytes = 0;
    size_t total = 0;
    int value = 0;

    ok(cudaGetDeviceProperties(&properties, 0));
    ok(cudaDeviceGetAttribute(&value, cudaDevAttrMaxThreadsPerBlock, 0));
    ck_assert_int_eq(properties.maxThreadsPerBlock, value);
    ok(cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMajor, 0));
    ck_assert_int_eq(properties.major, value);
    ck_assert_int_eq(value, 8);
    ok(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
    ck_assert_int_eq(properties.multiProcessorCount, value);
    ck_assert_int_gt(value, 0);
    ck_assert_int_eq(properties.warpSize, 32);
    ck_assert_int_eq(properties.unifiedAddressing, 1);
    ck_assert_int_gt((int)strlen(properties.name), 0);
    ok(cudaMemGetInfo(&free_bytes, &total));
    ck_assert_uint_eq(properties.totalGlobalMem, total);
}
END_TEST

START_TEST(what_is_asked_of_a_missing_device_is_an_error)
{
    struct cudaDeviceProp properties;
    int value = 7;

    fails(cudaErrorInvalidDevice, cudaGetDeviceProperties(&properties, 3));
    fails(cudaErrorInvalidValue, cudaGetDeviceProperties(NULL, 0));
    fails(cudaErrorInvalidDevice, cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 3));
    fails(cudaErrorInvalidValue, cudaDeviceGetAttribute(&value, (enum cudaDeviceAttr)9999, 0));
    fails(cudaErrorInvalidValue, cudaDeviceGetAttribute(NULL, cudaDevAttrWarpSize, 0));
    ck_assert_int_eq(value, 7);
}
END_TEST

START_TEST(a_reset_gives_the_memory_back_and_the_device_works_again)
{
    size_t before = 0;
    size_t after = 0;
    size_t total = 0;
    void *pointer = NULL;

    ok(cudaMemGetInfo(&before, &total));
    ok(cudaMalloc(&pointer, 64 * MIB));
    ok(cudaDeviceReset());
    ok(cudaMemGetInfo(&after, &total));
    ck_assert_uint_eq(before, after);
    fails(cudaErrorInvalidValue, cudaFree(pointer));
    ok(cudaMalloc(&pointer, MIB));
    ok(cudaMemset(pointer, 0, MIB));
    ok(cudaDeviceSynchronize());
}
END_TEST

static void *allocate_twice(void *barrier)
{
    void *pointer = NULL;

    ok(cudaMalloc(&pointer, MIB));
    pthread_barrier_wait(barrier); /* the other thread resets between these two */
    pthread_barrier_wait(barrier);
    ok(cudaMalloc(&pointer, MIB));
    return NULL;
}

START_TEST(a_reset_by_one_thread_leaves_another_a_fresh_context)
{
    pthread_barrier_t barrier;
    pthread_t thread;

    ck_assert_int_eq(pthread_barrier_init(&barrier, NULL, 2), 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, allocate_twice, &barrier), 0);
    pthread_barrier_wait(&barrier);
    ok(cudaDeviceReset());
    pthread_barrier_wait(&barrier);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
}
END_TEST

START_TEST(a_reset_of_an_unused_device_does_nothing)
{
    int device = -1;

    ok(cudaDeviceReset());
    ok(cudaGetDevice(&device));
    ck_assert_int_eq(device, 0);
}
END_TEST

START_TEST(flags_are_the_ones_set)
{
    unsigned flags = 0;

    ok(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync));
    ok(cudaGetDeviceFlags(&flags));
    ck_assert_uint_eq(flags & cudaDeviceScheduleMask, cudaDeviceScheduleBlockingSync);
    fails(cudaErrorInvalidValue, cudaSetDeviceFlags(1u << 20));
    fails(cudaErrorInvalidValue, cudaGetDeviceFlags(NULL));
    ok(cudaInitDevice(1, cudaDeviceScheduleSpin, cudaInitDeviceFlagsAreValid));
    fails(cudaErrorInvalidDevice, cudaInitDevice(3, 0, 0));
    fails(cudaErrorInvalidValue, cudaInitDevice(0, 0, 2));
}
END_TEST

START_TEST(init_device_makes_no_device_current)
{
    int device = -1;

    ok(cudaInitDevice(1, 0, 0));
    ok(cudaGetDevice(&device));
    ck_assert_int_eq(device, 0);
}
END_TEST

START_TEST(greater_priorities_are_smaller_numbers)
{
    int least = -99;
    int greatest = 99;

    ok(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    ck_assert_int_le(greatest, least);
}
END_TEST

START_TEST(a_limit_that_was_set_is_got)
{
    size_t value = 0;

    ok(cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 4 * MIB));
    ok(cudaDeviceGetLimit(&value, cudaLimitPrintfFifoSize));
    ck_assert_uint_ge(value, 4 * MIB);
    fails(cudaErrorInvalidValue, cudaDeviceGetLimit(NULL, cudaLimitPrintfFifoSize));
    ck_assert_int_ne(cudaDeviceGetLimit(&value, (enum cudaLimit)999), cudaSuccess);
}
END_TEST

START_TEST(a_pci_address_names_its_device)
{
    char text[32] = "";
    int device = -1;

    ok(cudaDeviceGetPCIBusId(text, sizeof(text), 1));
    ok(cudaDeviceGetByPCIBusId(&device, text));
    ck_assert_int_eq(device, 1);
    fails(cudaErrorInvalidValue, cudaDeviceGetByPCIBusId(NULL, text));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        the_driver_is_initialised_by_the_first_call_whatever_it_is,
        versions_are_those_of_the_toolkit_and_the_driver,
        a_profiler_that_is_not_there_can_be_started_and_stopped,
        the_current_device_is_0_until_set,
        a_device_that_does_not_exist_is_refused_and_the_current_one_stays,
        each_thread_has_its_own_current_device,
        memory_comes_from_the_current_device,
        properties_agree_with_the_attributes,
        what_is_asked_of_a_missing_device_is_an_error,
        a_reset_gives_the_memory_back_and_the_device_works_again,
        a_reset_by_one_thread_leaves_another_a_fresh_context,
        a_reset_of_an_unused_device_does_nothing,
        flags_are_the_ones_set,
        init_device_makes_no_device_current,
        greater_priorities_are_smaller_numbers,
        a_limit_that_was_set_is_got,
        a_pci_address_names_its_device,
    };

    return run_tests("device", tests, sizeof(tests) / sizeof(tests[0]));
}
