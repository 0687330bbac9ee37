/* SPDX-License-Identifier: MIT
 * test_box.c - pitched memory, and copies and fills of two and three dimensions. */
#include <stdlib.h>
#include <string.h>

#include "support.h"

START_TEST(a_pitch_keeps_rows_apart_and_aligned)
{
    CUdeviceptr address, base;
    size_t pitch, bytes;

    start();
    OK(cuMemAllocPitch(&address, &pitch, 1000, 10, 4));
    ck_assert_uint_eq(pitch, 1024);
    OK(cuMemGetAddressRange(&base, &bytes, address));
    ck_assert_uint_eq(bytes, 10240);
    OK(cuMemFree(address));
    OK(cuMemAllocPitch(&address, &pitch, 512, 10, 16));
    ck_assert_uint_eq(pitch, 512);
}
END_TEST

START_TEST(pitched_memory_is_checked_as_documented)
{
    CUdeviceptr address;
    size_t pitch;

    start();
    INVALID(cuMemAllocPitch(NULL, &pitch, 8, 8, 4));
    INVALID(cuMemAllocPitch(&address, NULL, 8, 8, 4));
    INVALID(cuMemAllocPitch(&address, &pitch, 0, 8, 4));
    INVALID(cuMemAllocPitch(&address, &pitch, 8, 0, 4));
    INVALID(cuMemAllocPitch(&address, &pitch, 8, 8, 5));
    ANSWERS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocPitch(&address, &pitch, SIZE_MAX, 8, 4));
    ANSWERS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocPitch(&address, &pitch, GIB, GIB, 4));
    ANSWERS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocPitch(&address, &pitch, GIB, 9, 4));
}
END_TEST

START_TEST(rows_are_copied_between_pitches)
{
    unsigned char in[5][7], out[5][10];
    CUdeviceptr device;
    size_t pitch;

    start();
    for (int i = 0; i < 35; i++)
        in[i / 7][i % 7] = (unsigned char)i;
    memset(out, 0xee, sizeof out);
    OK(cuMemAllocPitch(&device, &pitch, 64, 8, 4));
    OK(cuMemcpy2D(&(CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_HOST,
                                   .srcHost = in,
                                   .srcPitch = 7,
                                   .srcXInBytes = 1,
                                   .srcY = 1,
                                   .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                   .dstDevice = device,
                                   .dstPitch = pitch,
                                   .dstXInBytes = 3,
                                   .dstY = 2,
                                   .WidthInBytes = 6,
                                   .Height = 4}));
    OK(cuMemcpy2DUnaligned(&(CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                                            .srcDevice = device + 2 * pitch + 3,
                                            .srcPitch = pitch,
                                            .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                                            .dstDevice = (CUdeviceptr)(uintptr_t)out,
                                            .dstPitch = 10,
                                            .dstXInBytes = 2,
                                            .WidthInBytes = 6,
                                            .Height = 4}));
    for (int y = 0; y < 5; y++)
        for (int x = 0; x < 10; x++)
            ck_assert_uint_eq(out[y][x], y < 4 && x >= 2 && x < 8 ? in[y + 1][x - 1] : 0xee);
}
END_TEST

START_TEST(slices_are_copied_between_heights)
{
    enum { WIDTH = 4, HEIGHT = 3, DEPTH = 2 };
    unsigned char in[DEPTH][HEIGHT][WIDTH], out[DEPTH][HEIGHT][WIDTH];
    CUdeviceptr device;
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = in,
                          .srcPitch = WIDTH,
                          .srcHeight = HEIGHT,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstPitch = 16,
                          .dstHeight = 5,
                          .dstXInBytes = 2,
                          .dstY = 1,
                          .dstZ = 1,
                          .WidthInBytes = WIDTH,
                          .Height = HEIGHT,
                          .Depth = DEPTH};

    start();
    for (size_t i = 0; i < sizeof in; i++)
        ((unsigned char *)in)[i] = (unsigned char)(i + 1);
    memset(out, 0, sizeof out);
    OK(cuMemAlloc(&device, 16 * 5 * 3));
    OK(cuMemsetD8(device, 0, 16 * 5 * 3));
    copy.dstDevice = device;
    OK(cuMemcpy3D(&copy));
    for (size_t z = 0; z < DEPTH; z++)
        for (size_t y = 0; y < HEIGHT; y++) {
            OK(cuMemcpyDtoH(out[z][y], device + ((z + 1) * 5 + y + 1) * 16 + 2, WIDTH));
            ck_assert_mem_eq(out[z][y], in[z][y], WIDTH);
        }
}
END_TEST

START_TEST(copies_of_boxes_are_checked_as_documented)
{
    char host[64];
    CUdeviceptr device;
    CUDA_MEMCPY2D good, copy;

    start();
    OK(cuMemAlloc(&device, 64));
    good = (CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_HOST,
                           .srcHost = host,
                           .srcPitch = 8,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = device,
                           .dstPitch = 8,
                           .WidthInBytes = 8,
                           .Height = 8};
    OK(cuMemcpy2D(&good));
    INVALID(cuMemcpy2D(NULL));
    copy = good;
    copy.srcPitch = 7; /* less than a row */
    INVALID(cuMemcpy2D(&copy));
    copy = good;
    copy.dstXInBytes = 1;
    INVALID(cuMemcpy2D(&copy));
    copy = good;
    copy.dstDevice = (CUdeviceptr)(uintptr_t)host; /* not the device's */
    INVALID(cuMemcpy2D(&copy));
    copy = good;
    copy.srcHost = NULL;
    INVALID(cuMemcpy2D(&copy));
    copy = good;
    copy.srcMemoryType = (CUmemorytype)9;
    INVALID(cuMemcpy2D(&copy));
    copy = good;
    copy.Height = SIZE_MAX;
    INVALID(cuMemcpy2D(&copy));
    copy = good;
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    ANSWERS(CUDA_ERROR_NOT_SUPPORTED, cuMemcpy2D(&copy));
    copy = good;
    copy.Height = 0; /* nothing */
    copy.srcHost = NULL;
    OK(cuMemcpy2D(&copy));
}
END_TEST

START_TEST(an_asynchronous_copy_of_a_box_stages_pageable_rows)
{
    static struct gate gate;
    unsigned char host[4][4], back[2][2];
    CUdeviceptr device;
    CUstream stream;

    start();
    OK(cuMemAlloc(&device, 64));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    memset(host, 5, sizeof host);
    gate_hold(&gate, stream);
    OK(cuMemcpy2DAsync(&(CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_HOST,
                                        .srcHost = host,
                                        .srcPitch = 4,
                                        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                        .dstDevice = device,
                                        .dstPitch = 2,
                                        .WidthInBytes = 2,
                                        .Height = 2},
                       stream));
    memset(host, 6, sizeof host);
    gate_open(&gate);
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH(back, device, sizeof back));
    for (int i = 0; i < 4; i++)
        ck_assert_uint_eq(back[i / 2][i % 2], 5);
}
END_TEST

START_TEST(rows_are_filled_with_elements_of_each_width)
{
    unsigned char *host;
    CUdeviceptr device;
    size_t pitch;

    start();
    OK(cuMemAllocPitch(&device, &pitch, 16, 4, 4));
    OK(cuMemAllocHost((void **)&host, pitch * 4));
    OK(cuMemsetD8(device, 0, pitch * 4));
    OK(cuMemsetD2D8(device, pitch, 0x11, 3, 2));
    OK(cuMemsetD2D16(device + 4, pitch, 0x2222, 2, 2));
    OK(cuMemsetD2D32Async(device + 8, pitch, 0x33333333, 1, 2, NULL));
    OK(cuMemcpyDtoH(host, device, pitch * 4));
    for (size_t y = 0; y < 4; y++)
        for (size_t x = 0; x < 16; x++) {
            unsigned expected = y > 1 ? 0 : x < 3 ? 0x11 : x < 4 ? 0 : x < 8 ? 0x22 : 0x33;

            ck_assert_uint_eq(host[y * pitch + x], x < 12 ? expected : 0);
        }
    INVALID(cuMemsetD2D8(device, 2, 0, 3, 2));  /* rows overlap */
    INVALID(cuMemsetD2D16(device, 7, 0, 3, 2)); /* a row's elements would be misaligned */
    INVALID(cuMemsetD2D32(device + 2, 16, 0, 1, 1));
    INVALID(cuMemsetD2D8(device, SIZE_MAX / 2, 0, 3, 4));
    OK(cuMemsetD2D8(device, 0, 0x11, 0, 5));
}
END_TEST

static void leave_a_box(void)
{
    CUdeviceptr device;

    start();
    OK(cuMemAlloc(&device, 64));
    OK(cuMemsetD2D8(device, 32, 1, 16, 2)); /* ends at 48 */
    OK(cuMemsetD2D8(device, 32, 1, 16, 3)); /* ends at 80 */
    OK(cuCtxSynchronize());
}

START_TEST(rows_outside_an_allocation_are_a_violation)
{
    char *report = report_of(leave_a_box);

    ck_assert_int_eq(number_in(report, "out-of-bounds"), 1);
    free(report);
}
END_TEST

/* Boxes at random places between two pitched blocks and a plain model of them. */
START_TEST(random_boxes_agree_with_plain_memory)
{
    enum { PITCH = 40, SLICE = 12, DEPTH = 6, BYTES = PITCH * SLICE * DEPTH };
    static unsigned char model[2][BYTES], back[BYTES];
    uint64_t state = seed();
    CUdeviceptr device[2];
    CUstream stream;

    start();
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int d = 0; d < 2; d++) {
        for (int i = 0; i < BYTES; i++)
            model[d][i] = (unsigned char)next_random(&state);
        OK(cuMemAlloc(&device[d], BYTES));
        OK(cuMemcpyHtoD(device[d], model[d], BYTES));
    }
    for (int round = 0; round < 500; round++) {
        size_t to = next_random(&state) % 2, from = 1 - to;
        size_t w = next_random(&state) % 20, h = next_random(&state) % 6;
        size_t d = next_random(&state) % 3;
        CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                              .srcDevice = device[from],
                              .srcPitch = PITCH,
                              .srcHeight = SLICE,
                              .srcXInBytes = next_random(&state) % 20,
                              .srcY = next_random(&state) % 6,
                              .srcZ = next_random(&state) % 3,
                              .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                              .dstDevice = device[to],
                              .dstPitch = PITCH,
                              .dstHeight = SLICE,
                              .dstXInBytes = next_random(&state) % 20,
                              .dstY = next_random(&state) % 6,
                              .dstZ = next_random(&state) % 3,
                              .WidthInBytes = w,
                              .Height = h,
                              .Depth = d};

        OK(cuMemcpy3DAsync(&copy, stream));
        for (size_t z = 0; z < d; z++)
            for (size_t y = 0; y < h; y++)
                memcpy(model[to] + ((z + copy.dstZ) * SLICE + y + copy.dstY) * PITCH +
                           copy.dstXInBytes,
                       model[from] + ((z + copy.srcZ) * SLICE + y + copy.srcY) * PITCH +
                           copy.srcXInBytes,
                       w);
    }
    OK(cuStreamSynchronize(stream));
    for (int d = 0; d < 2; d++) {
        OK(cuMemcpyDtoH(back, device[d], BYTES));
        ck_assert_mem_eq(back, model[d], BYTES);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {a_pitch_keeps_rows_apart_and_aligned,
                                  pitched_memory_is_checked_as_documented,
                                  rows_are_copied_between_pitches,
                                  slices_are_copied_between_heights,
                                  copies_of_boxes_are_checked_as_documented,
                                  an_asynchronous_copy_of_a_box_stages_pageable_rows,
                                  rows_are_filled_with_elements_of_each_width,
                                  rows_outside_an_allocation_are_a_violation,
                                  random_boxes_agree_with_plain_memory,
                                  NULL};

    return run_tests("box", tests);
}
