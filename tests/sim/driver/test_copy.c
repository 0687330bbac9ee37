/* SPDX-License-Identifier: MIT
 * test_copy.c - copies and fills: when the bytes move, who waits, and what is not touched. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

static CUdeviceptr device_memory(size_t bytes)
{
    CUdeviceptr address;

    OK(cuMemAlloc(&address, bytes));
    return address;
}

static unsigned char *pinned_memory(size_t bytes)
{
    void *address;

    OK(cuMemAllocHost(&address, bytes));
    return address;
}

/* Device memory is host memory here, so a test can look at it without a copy. */
static const unsigned char *peek(CUdeviceptr address)
{
    return (const unsigned char *)address;
}

START_TEST(bytes_survive_every_path_there_and_back)
{
    unsigned char out[3000], back[3000];
    CUdeviceptr first, second;

    start();
    first = device_memory(sizeof out);
    second = device_memory(sizeof out);
    for (size_t i = 0; i < sizeof out; i++)
        out[i] = (unsigned char)(i * 7);
    OK(cuMemcpyHtoD(first, out, sizeof out));
    OK(cuMemcpyDtoD(second, first, sizeof out));
    OK(cuMemcpyDtoH(back, second, sizeof out));
    ck_assert_mem_eq(out, back, sizeof out);
    memset(back, 0, sizeof back);
    OK(cuMemcpyHtoDAsync(first, out + 1, sizeof out - 1, NULL));
    OK(cuMemcpyDtoDAsync(second, first, sizeof out - 1, NULL));
    OK(cuMemcpyDtoHAsync(back, second, sizeof out - 1, NULL));
    ck_assert_mem_eq(out + 1, back, sizeof out - 1);
    memset(back, 0, sizeof back);
    OK(cuMemcpy(first, (CUdeviceptr)out, sizeof out));
    OK(cuMemcpyAsync(second, first, sizeof out, NULL));
    OK(cuMemcpy((CUdeviceptr)back, second, sizeof out));
    ck_assert_mem_eq(out, back, sizeof out);
    memset(back, 0, sizeof back);
    OK(cuMemcpyAsync((CUdeviceptr)back, (CUdeviceptr)out, sizeof out, NULL));
    ck_assert_mem_eq(out, back, sizeof out);
}
END_TEST

START_TEST(a_copy_moves_its_bytes_when_the_stream_gets_there)
{
    unsigned char *host;
    CUdeviceptr device;
    CUstream stream;
    static struct gate gate;

    start();
    device = device_memory(4);
    host = pinned_memory(4);
    OK(cuMemsetD8(device, 1, 4));
    OK(cuCtxSynchronize());
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    gate_hold(&gate, stream);
    memset(host, 2, 4);
    OK(cuMemcpyHtoDAsync(device, host, 4, stream));
    ck_assert_int_eq(peek(device)[0], 1);
    memset(host, 3, 4); /* pinned memory is read late too */
    gate_open(&gate);
    OK(cuStreamSynchronize(stream));
    ck_assert_int_eq(peek(device)[0], 3);
}
END_TEST

START_TEST(a_copy_behind_a_delay_moves_its_bytes_later)
{
    unsigned char *host;
    CUdeviceptr device;
    CUevent before, after;
    float ms;

    with("STREAM_DELAY_NS", "0:20000000");
    start();
    device = device_memory(4);
    host = pinned_memory(4);
    host[0] = 9;
    OK(cuEventCreate(&before, CU_EVENT_DEFAULT));
    OK(cuEventCreate(&after, CU_EVENT_DEFAULT));
    OK(cuEventRecord(before, NULL));
    OK(cuMemcpyHtoDAsync(device, host, 4, NULL));
    OK(cuEventRecord(after, NULL));
    OK(cuStreamSynchronize(NULL));
    ck_assert_int_eq(peek(device)[0], 9);
    OK(cuEventElapsedTime(&ms, before, after));
    ck_assert_float_ge(ms, 40.0f);
}
END_TEST

START_TEST(a_pageable_source_may_change_as_soon_as_the_call_returns)
{
    unsigned char host[64];
    CUdeviceptr device;
    CUstream stream;
    static struct gate gate;

    start();
    device = device_memory(sizeof host);
    OK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    gate_hold(&gate, stream);
    memset(host, 4, sizeof host);
    OK(cuMemcpyHtoDAsync(device, host, sizeof host, stream));
    memset(host, 5, sizeof host);
    gate_open(&gate);
    OK(cuStreamSynchronize(stream));
    ck_assert_int_eq(peek(device)[63], 4);
}
END_TEST

START_TEST(a_copy_to_pageable_memory_returns_when_it_is_done)
{
    unsigned char host = 0;
    CUdeviceptr device;
    CUstream stream;

    with("STREAM_DELAY_NS", "1:20000000");
    start();
    device = device_memory(1);
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemsetD8Async(device, 6, 1, stream));
    OK(cuMemcpyDtoHAsync(&host, device, 1, stream));
    ck_assert_int_eq(host, 6);
}
END_TEST

START_TEST(synchronous_copies_wait_unless_both_ends_are_on_the_device)
{
    unsigned char host = 7, back = 0;
    CUdeviceptr first, second;
    static struct gate gate;

    with("DELAY_NS", "3000000");
    start();
    first = device_memory(1);
    second = device_memory(1);
    OK(cuMemcpyHtoD(first, &host, 1));
    OK(cuMemcpyDtoH(&back, first, 1));
    ck_assert_int_eq(back, 7);
    gate_hold(&gate, NULL);
    OK(cuMemcpyDtoD(second, first, 1)); /* hangs if it waits */
    OK(cuMemsetD8(first, 8, 1));
    gate_open(&gate);
    OK(cuMemcpyDtoH(&back, second, 1));
    ck_assert_int_eq(back, 7);
    OK(cuMemcpyDtoH(&back, first, 1));
    ck_assert_int_eq(back, 8);
}
END_TEST

START_TEST(fills_set_elements_of_each_width)
{
    uint32_t words[6];
    CUdeviceptr device;

    start();
    device = device_memory(sizeof words);
    OK(cuMemsetD32(device, 0x01020304, 6));
    OK(cuMemsetD16(device + 4, 0xABCD, 2));
    OK(cuMemsetD8(device + 8, 0xEE, 3));
    OK(cuMemsetD32Async(device + 12, 0x11111111, 1, NULL));
    OK(cuMemsetD16Async(device + 16, 0x2222, 2, NULL));
    OK(cuMemsetD8Async(device + 20, 0x33, 4, NULL));
    OK(cuMemcpyDtoH(words, device, sizeof words));
    ck_assert_uint_eq(words[0], 0x01020304);
    ck_assert_uint_eq(words[1], 0xABCDABCD);
    ck_assert_uint_eq(words[2], 0x01EEEEEE);
    ck_assert_uint_eq(words[3], 0x11111111);
    ck_assert_uint_eq(words[4], 0x22222222);
    ck_assert_uint_eq(words[5], 0x33333333);
    INVALID(cuMemsetD32(device + 2, 0, 1));
    INVALID(cuMemsetD16(device + 1, 0, 1));
    INVALID(cuMemsetD32(device, 0, SIZE_MAX / 2));
}
END_TEST

START_TEST(no_bytes_is_no_error_and_a_host_pointer_is_no_device_pointer)
{
    unsigned char host[8] = {0};
    CUdeviceptr device;

    start();
    device = device_memory(8);
    OK(cuMemcpyHtoD(device, host, 0));
    OK(cuMemcpyHtoD(0, NULL, 0));
    OK(cuMemsetD8(device, 0, 0));
    INVALID(cuMemcpyHtoD((CUdeviceptr)host, host, 8));
    INVALID(cuMemcpyDtoH(host, (CUdeviceptr)host, 8));
    INVALID(cuMemcpyHtoD(device, NULL, 8));
    INVALID(cuMemsetD8((CUdeviceptr)host, 0, 8));
    ANSWERS(CUDA_ERROR_INVALID_HANDLE, cuMemcpyHtoDAsync(device, host, 8, (CUstream)host));
}
END_TEST

static void copy_outside(void)
{
    unsigned char host[4096];
    CUdeviceptr small, large;

    start();
    memset(host, 0x55, sizeof host);
    small = device_memory(100);
    large = device_memory(2 * MIB);
    OK(cuMemsetD8(small, 0x11, 100));
    OK(cuMemcpyHtoD(small, host, 101));             /* beyond the end */
    OK(cuMemcpyHtoD(small + 99, host, 2));          /* across it */
    OK(cuMemcpyDtoH(host, large + 2 * MIB - 1, 2)); /* reading across it */
    OK(cuMemsetD8(large + 2 * MIB, 1, 1));          /* where nothing ever was */
    OK(cuMemcpyDtoD(small, large, 512));            /* too small a target */
    OK(cuCtxSynchronize());
    for (size_t i = 0; i < 100; i++)
        ck_assert_int_eq(peek(small)[i], 0x11);
    ck_assert_int_eq(host[0], 0x55);
    OK(cuMemcpyHtoD(small, host, 100));
}

START_TEST(copies_outside_an_allocation_are_counted_and_touch_nothing)
{
    char *report = report_of(copy_outside);

    ck_assert_int_eq(number_in(report, "out-of-bounds"), 5);
    ck_assert_int_eq(number_in(report, "use-after-free"), -1);
    free(report);
}
END_TEST

static void copy_after_free(void)
{
    unsigned char host[64] = {0};
    CUdeviceptr small, large, neighbour;

    start();
    small = device_memory(64);
    neighbour = device_memory(64);
    large = device_memory(3 * MIB);
    OK(cuMemFree(small));
    OK(cuMemFree(large));
    OK(cuMemcpyHtoD(small, host, 64));
    OK(cuMemcpyDtoH(host, large + 5, 8));
    OK(cuMemsetD8(large, 1, 3 * MIB));
    OK(cuCtxSynchronize());
    OK(cuMemcpyHtoD(neighbour, host, 64));
}

START_TEST(copies_of_freed_memory_are_counted)
{
    char *report = report_of(copy_after_free);

    ck_assert_int_eq(number_in(report, "use-after-free"), 3);
    ck_assert_int_eq(number_in(report, "out-of-bounds"), -1);
    free(report);
}
END_TEST

static void copy_before_free(void)
{
    unsigned char *host;
    CUdeviceptr device;
    CUstream stream;

    with("DELAY_NS", "5000000");
    start();
    device = device_memory(64);
    host = pinned_memory(64);
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemcpyHtoDAsync(device, host, 64, stream)); /* runs while the free waits for it */
    OK(cuMemFree(device));
    OK(cuMemFreeHost(host));
}

START_TEST(work_enqueued_before_a_free_may_use_the_memory)
{
    char *report = report_of(copy_before_free);

    ck_assert_ptr_nonnull(strstr(report, "\"violations\": {}"));
    free(report);
}
END_TEST

/* Random copies and fills on three streams, each with memory of its own, against a plain array. */
START_TEST(random_copies_agree_with_plain_memory)
{
    enum { BYTES = 4096, STREAMS = 3 };
    static unsigned char model[STREAMS][BYTES], host[BYTES], back[BYTES];
    uint64_t state = seed();
    CUdeviceptr device[STREAMS];
    CUstream streams[STREAMS];

    with("STREAM_DELAY_NS", "1:50000");
    start();
    for (int s = 0; s < STREAMS; s++) {
        device[s] = device_memory(BYTES);
        OK(cuStreamCreate(&streams[s], s == 0 ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING));
        OK(cuMemsetD8Async(device[s], 0, BYTES, streams[s]));
    }
    for (int step = 0; step < 2000; step++) {
        size_t s = next_random(&state) % STREAMS;
        size_t from = next_random(&state) % BYTES, to = next_random(&state) % BYTES;
        size_t most = BYTES - (from > to ? from : to);
        size_t bytes = 1 + next_random(&state) % most;
        unsigned char value = (unsigned char)next_random(&state);

        switch (next_random(&state) % 4) {
        case 0:
            memset(host, value, bytes);
            OK(cuMemcpyHtoDAsync(device[s] + to, host, bytes, streams[s]));
            memset(model[s] + to, value, bytes);
            break;
        case 1:
            OK(cuMemsetD8Async(device[s] + to, value, bytes, streams[s]));
            memset(model[s] + to, value, bytes);
            break;
        case 2:
            OK(cuMemcpyDtoDAsync(device[s] + to, device[s] + from, bytes, streams[s]));
            memmove(model[s] + to, model[s] + from, bytes);
            break;
        default:
            OK(cuMemcpyDtoHAsync(back, device[s] + from, bytes, streams[s]));
            ck_assert_mem_eq(back, model[s] + from, bytes);
            break;
        }
    }
    for (int s = 0; s < STREAMS; s++) {
        OK(cuMemcpyDtoHAsync(back, device[s], BYTES, streams[s]));
        ck_assert_mem_eq(back, model[s], BYTES);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {bytes_survive_every_path_there_and_back,
                                  a_copy_moves_its_bytes_when_the_stream_gets_there,
                                  a_copy_behind_a_delay_moves_its_bytes_later,
                                  a_pageable_source_may_change_as_soon_as_the_call_returns,
                                  a_copy_to_pageable_memory_returns_when_it_is_done,
                                  synchronous_copies_wait_unless_both_ends_are_on_the_device,
                                  fills_set_elements_of_each_width,
                                  no_bytes_is_no_error_and_a_host_pointer_is_no_device_pointer,
                                  copies_outside_an_allocation_are_counted_and_touch_nothing,
                                  copies_of_freed_memory_are_counted,
                                  work_enqueued_before_a_free_may_use_the_memory,
                                  random_copies_agree_with_plain_memory,
                                  NULL};

    return run_tests("copy", tests);
}
