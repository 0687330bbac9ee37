/* SPDX-License-Identifier: MIT
 * test_copy.c - copies of every kind and memsets, synchronous and not. */
#include "hold.h"

#include <string.h>

enum { BYTES = 4096 };

static unsigned char *pinned(int fill)
{
    unsigned char *memory = NULL;

    ok(cudaMallocHost((void **)&memory, BYTES));
    memset(memory, fill, BYTES);
    return memory;
}

static unsigned char *device(int fill)
{
    unsigned char *memory = NULL;

    ok(cudaMalloc((void **)&memory, BYTES));
    ok(cudaMemset(memory, fill, BYTES));
    return memory;
}

/* Every byte of device memory, read back, is `value`. */
static void holds(const void *memory, int value)
{
    unsigned char bytes[BYTES];

    ok(cudaMemcpy(bytes, memory, BYTES, cudaMemcpyDeviceToHost));
    for (int i = 0; i < BYTES; i++)
        ck_assert_int_eq(bytes[i], value);
}

START_TEST(a_copy_of_each_kind_moves_the_bytes)
{
    unsigned char host[BYTES];
    unsigned char other[BYTES] = {0};
    unsigned char *first = device(1);
    unsigned char *second = device(2);

    memset(host, 3, BYTES);
    ok(cudaMemcpy(first, host, BYTES, cudaMemcpyHostToDevice));
    holds(first, 3);
    ok(cudaMemcpy(second, first, BYTES, cudaMemcpyDeviceToDevice));
    holds(second, 3);
    ok(cudaMemcpy(other, host, BYTES, cudaMemcpyHostToHost));
    ck_assert_mem_eq(other, host, BYTES);
}
END_TEST

START_TEST(the_default_kind_finds_the_sides_from_the_addresses)
{
    unsigned char host[BYTES];
    unsigned char other[BYTES] = {0};
    unsigned char *first = device(1);
    unsigned char *second = device(2);

    memset(host, 4, BYTES);
    ok(cudaMemcpy(first, host, BYTES, cudaMemcpyDefault));
    holds(first, 4);
    ok(cudaMemcpy(second, first, BYTES, cudaMemcpyDefault));
    holds(second, 4);
    ok(cudaMemcpy(other, second, BYTES, cudaMemcpyDefault));
    ck_assert_mem_eq(other, host, BYTES);
}
END_TEST

START_TEST(asynchronous_copies_happen_in_stream_order)
{
    unsigned char *from = pinned(5);
    unsigned char *to = pinned(0);
    unsigned char *first = device(1);
    unsigned char *second = device(2);
    cudaStream_t stream;

    ok(cudaStreamCreate(&stream));
    ok(cudaMemcpyAsync(first, from, BYTES, cudaMemcpyHostToDevice, stream));
    ok(cudaMemcpyAsync(second, first, BYTES, cudaMemcpyDeviceToDevice, stream));
    ok(cudaMemsetAsync(first, 9, BYTES, stream));
    ok(cudaMemcpyAsync(to, second, BYTES, cudaMemcpyDefault, stream));
    ok(cudaStreamSynchronize(stream));
    ck_assert_mem_eq(to, from, BYTES);
    holds(first, 9);
}
END_TEST

START_TEST(an_asynchronous_copy_from_pinned_memory_reads_it_later)
{
    unsigned char *from = pinned(1);
    unsigned char *to = device(0);
    cudaStream_t stream;
    sem_t gate;

    ok(cudaDeviceSynchronize());
    ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    hold(stream, &gate);
    ok(cudaMemcpyAsync(to, from, BYTES, cudaMemcpyHostToDevice, stream));
    memset(from, 2, BYTES);
    let_go(&gate);
    ok(cudaStreamSynchronize(stream));
    holds(to, 2);
}
END_TEST

START_TEST(a_copy_to_the_host_waits_for_the_work_before_it)
{
    unsigned char host[BYTES];
    unsigned char *memory = device(0);

    ok(cudaMemsetAsync(memory, 6, BYTES, NULL));
    ok(cudaMemcpy(host, memory, BYTES, cudaMemcpyDeviceToHost));
    ck_assert_int_eq(host[0], 6);
    ck_assert_int_eq(host[BYTES - 1], 6);
}
END_TEST

START_TEST(no_bytes_are_copied_whatever_the_pointers)
{
    ok(cudaMemcpy(NULL, NULL, 0, cudaMemcpyHostToDevice));
    ok(cudaMemcpyAsync(NULL, NULL, 0, cudaMemcpyDeviceToHost, NULL));
    ok(cudaMemset(NULL, 0, 0));
    ok(cudaMemsetAsync(NULL, 0, 0, NULL));
}
END_TEST

START_TEST(a_kind_that_does_not_exist_is_an_invalid_direction)
{
    unsigned char *memory = device(0);
    char host = 0;

    fails(cudaErrorInvalidMemcpyDirection, cudaMemcpy(memory, &host, 1, (enum cudaMemcpyKind)5));
    fails(cudaErrorInvalidMemcpyDirection,
          cudaMemcpyAsync(memory, &host, 1, (enum cudaMemcpyKind) - 1, NULL));
}
END_TEST

START_TEST(a_copy_to_memory_that_is_not_the_devices_is_an_invalid_value)
{
    char host[16] = {0};
    char other[16] = {0};

    fails(cudaErrorInvalidValue, cudaMemcpy(other, host, 16, cudaMemcpyHostToDevice));
    fails(cudaErrorInvalidValue, cudaMemset(other, 0, 16));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_copy_of_each_kind_moves_the_bytes,
        the_default_kind_finds_the_sides_from_the_addresses,
        asynchronous_copies_happen_in_stream_order,
        an_asynchronous_copy_from_pinned_memory_reads_it_later,
        a_copy_to_the_host_waits_for_the_work_before_it,
        no_bytes_are_copied_whatever_the_pointers,
        a_kind_that_does_not_exist_is_an_invalid_direction,
        a_copy_to_memory_that_is_not_the_devices_is_an_invalid_value,
    };

    setenv("SIMCUDA_DELAY_NS", "5000000", 0); /* what does not wait is seen to be early */
    return run_tests("copy", tests, sizeof(tests) / sizeof(tests[0]));
}
