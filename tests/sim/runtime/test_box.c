/* SPDX-License-Identifier: MIT
 * test_box.c - pitched and managed memory, and copies and memsets of two and three dimensions. */
#include "hold.h"

#include <stdint.h>
#include <string.h>

START_TEST(pitched_memory_has_room_for_its_rows)
{
    void *pointer = NULL;
    size_t pitch = 0;

    ok(cudaMallocPitch(&pointer, &pitch, 1000, 3));
    ck_assert_uint_ge(pitch, 1000);
    ck_assert_uint_eq(pitch % 512, 0);
    ok(cudaMemset2D(pointer, pitch, 1, 1000, 3));
    ok(cudaDeviceSynchronize());
    ok(cudaFree(pointer));
    ok(cudaMallocPitch(&pointer, &pitch, 0, 3)); /* nothing asked for */
    ck_assert_ptr_null(pointer);
    fails(cudaErrorInvalidValue, cudaMallocPitch(NULL, &pitch, 8, 8));
    fails(cudaErrorInvalidValue, cudaMallocPitch(&pointer, NULL, 8, 8));
    fails(cudaErrorMemoryAllocation, cudaMallocPitch(&pointer, &pitch, SIZE_MAX, 2));
}
END_TEST

START_TEST(an_allocation_of_three_dimensions_says_how_it_lies)
{
    struct cudaPitchedPtr pitched = {0};

    ok(cudaMalloc3D(&pitched, (struct cudaExtent){100, 5, 4}));
    ck_assert_uint_eq(pitched.xsize, 100);
    ck_assert_uint_eq(pitched.ysize, 5);
    ok(cudaMemset3D(pitched, 9, (struct cudaExtent){100, 5, 4}));
    ok(cudaDeviceSynchronize());
    ok(cudaFree(pitched.ptr));
    fails(cudaErrorInvalidValue, cudaMalloc3D(NULL, (struct cudaExtent){1, 1, 1}));
    fails(cudaErrorMemoryAllocation, cudaMalloc3D(&pitched, (struct cudaExtent){1, SIZE_MAX, 2}));
}
END_TEST

START_TEST(rows_survive_the_way_there_and_back_whatever_the_kind_says)
{
    const enum cudaMemcpyKind there[] = {cudaMemcpyHostToDevice, cudaMemcpyDefault};
    const enum cudaMemcpyKind back[] = {cudaMemcpyDeviceToHost, cudaMemcpyDefault};
    char in[4][6] = {"one..", "two..", "three", "four."};
    char out[4][8];
    char *device = NULL;
    size_t pitch = 0;

    ok(cudaMallocPitch((void **)&device, &pitch, 6, 4));
    for (int i = 0; i < 2; i++) {
        memset(out, 0, sizeof(out));
        ok(cudaMemset2D(device, pitch, 0, 6, 4));
        ok(cudaMemcpy2D(device, pitch, in, sizeof(in[0]), 6, 4, there[i]));
        ok(cudaMemcpy2D(out, sizeof(out[0]), device, pitch, 6, 4, back[i]));
        for (int y = 0; y < 4; y++)
            ck_assert_str_eq(out[y], in[y]);
    }
    ok(cudaMemcpy2D(out, 8, device, pitch, 0, 4, cudaMemcpyDefault));
    fails(cudaErrorInvalidPitchValue, cudaMemcpy2D(out, 5, device, pitch, 6, 4, cudaMemcpyDefault));
    fails(cudaErrorInvalidMemcpyDirection,
          cudaMemcpy2D(out, 8, device, pitch, 6, 4, (enum cudaMemcpyKind)9));
}
END_TEST

START_TEST(asynchronous_rows_move_when_their_stream_gets_there)
{
    static sem_t gate;
    char in[2][2] = {"a", "b"};
    char out[2][2] = {"", ""};
    cudaStream_t stream;
    char *device = NULL;
    char *pinned = NULL;

    ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    ok(cudaMalloc((void **)&device, 64));
    ok(cudaMallocHost((void **)&pinned, 4));
    memset(pinned, 0, 4);
    hold(stream, &gate);
    ok(cudaMemset2DAsync(device, 32, 0, 32, 2, stream));
    ok(cudaMemcpy2DAsync(device, 32, in, 2, 2, 2, cudaMemcpyHostToDevice, stream));
    memset(in, 'z', sizeof(in)); /* pageable, so it has been read */
    ok(cudaMemcpy2DAsync(pinned, 2, device, 32, 2, 2, cudaMemcpyDeviceToHost, stream));
    ck_assert_int_eq(pinned[0], 0);
    let_go(&gate);
    ok(cudaStreamSynchronize(stream));
    memcpy(out, pinned, sizeof(out));
    ck_assert_str_eq(out[0], "a");
    ck_assert_str_eq(out[1], "b");
}
END_TEST

START_TEST(a_box_is_copied_out_of_the_middle_of_another)
{
    enum { W = 5, H = 4, D = 3 };
    char in[D][H][W];
    char out[2][2][3];
    struct cudaPitchedPtr device = {0};
    struct cudaMemcpy3DParms copy = {.extent = {W, H, D}, .kind = cudaMemcpyHostToDevice};

    for (size_t i = 0; i < sizeof(in); i++)
        ((char *)in)[i] = (char)i;
    ok(cudaMalloc3D(&device, (struct cudaExtent){W, H, D}));
    copy.srcPtr = (struct cudaPitchedPtr){in, W, W, H};
    copy.dstPtr = device;
    ok(cudaMemcpy3D(&copy));
    copy = (struct cudaMemcpy3DParms){.srcPtr = device,
                                      .srcPos = {1, 2, 1},
                                      .dstPtr = {out, 3, 3, 2},
                                      .extent = {3, 2, 2},
                                      .kind = cudaMemcpyDeviceToHost};
    ok(cudaMemcpy3DAsync(&copy, NULL));
    ok(cudaDeviceSynchronize());
    for (int z = 0; z < 2; z++)
        for (int y = 0; y < 2; y++)
            for (int x = 0; x < 3; x++)
                ck_assert_int_eq(out[z][y][x], in[z + 1][y + 2][x + 1]);
    fails(cudaErrorInvalidValue, cudaMemcpy3D(NULL));
    copy.dstArray = (cudaArray_t)&copy;
    fails(cudaErrorNotSupported, cudaMemcpy3D(&copy)); /* arrays are not modelled */
}
END_TEST

START_TEST(slices_are_set_one_by_one)
{
    enum { W = 8, H = 4, D = 2 };
    char *host = NULL;

    ok(cudaMallocHost((void **)&host, W * H * D));
    memset(host, 0, W * H * D);
    ok(cudaMemset3DAsync((struct cudaPitchedPtr){host, W, W, H}, 7, (struct cudaExtent){3, 2, D},
                         NULL));
    ok(cudaDeviceSynchronize());
    for (int z = 0; z < D; z++)
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++)
                ck_assert_int_eq(host[(z * H + y) * W + x], y < 2 && x < 3 ? 7 : 0);
    ok(cudaMemset3D((struct cudaPitchedPtr){host, W, W, H}, 7, (struct cudaExtent){0, 2, D}));
}
END_TEST

START_TEST(host_and_device_share_managed_memory)
{
    struct cudaPointerAttributes attributes;
    char *managed = NULL;
    char back = 0;

    ok(cudaMallocManaged((void **)&managed, 64, cudaMemAttachGlobal));
    managed[5] = 'm';
    ok(cudaMemcpy(&back, managed + 5, 1, cudaMemcpyDeviceToHost));
    ck_assert_int_eq(back, 'm');
    ok(cudaPointerGetAttributes(&attributes, managed));
    ck_assert_int_eq(attributes.type, cudaMemoryTypeManaged);
    ok(cudaFree(managed));
    fails(cudaErrorInvalidValue, cudaMallocManaged((void **)&managed, 0, cudaMemAttachGlobal));
    fails(cudaErrorInvalidValue, cudaMallocManaged(NULL, 64, cudaMemAttachGlobal));
    fails(cudaErrorInvalidValue, cudaMallocManaged((void **)&managed, 64, 77));
}
END_TEST

#if !defined(MAJOR)
START_TEST(hints_are_for_managed_memory)
{
    const struct cudaMemLocation here = {.type = cudaMemLocationTypeDevice};
    const struct cudaMemLocation nowhere = {.type = cudaMemLocationTypeDevice, .id = 40};
    cudaStream_t stream;
    void *managed = NULL;
    void *plain = NULL;

    ok(cudaStreamCreate(&stream));
    ok(cudaMallocManaged(&managed, 64, cudaMemAttachHost));
    ok(cudaMalloc(&plain, 64));
    ok(cudaMemPrefetchAsync(managed, 64, here, 0, stream));
    ok(cudaMemAdvise(managed, 64, cudaMemAdviseSetPreferredLocation, here));
    ok(cudaStreamAttachMemAsync(stream, managed, 0, cudaMemAttachSingle));
    fails(cudaErrorInvalidValue, cudaMemPrefetchAsync(plain, 64, here, 0, stream));
    fails(cudaErrorInvalidValue, cudaMemAdvise(plain, 64, cudaMemAdviseSetReadMostly, here));
    fails(cudaErrorInvalidDevice, cudaMemPrefetchAsync(managed, 64, nowhere, 0, stream));
    ok(cudaStreamSynchronize(stream));
}
END_TEST
#else
cudaError_t prefetch(const void *pointer, size_t bytes, int device,
                     cudaStream_t stream) __asm__("cudaMemPrefetchAsync");
cudaError_t advise(const void *pointer, size_t bytes, enum cudaMemoryAdvise advice,
                   int device) __asm__("cudaMemAdvise");

/* Which name a device, or the host by -1, before CUDA 13. */
START_TEST(hints_are_for_managed_memory)
{
    void *managed = NULL;
    void *plain = NULL;

    ok(cudaMallocManaged(&managed, 64, cudaMemAttachHost));
    ok(cudaMalloc(&plain, 64));
    ok(prefetch(managed, 64, 0, NULL));
    ok(prefetch(managed, 64, cudaCpuDeviceId, NULL));
    ok(advise(managed, 64, cudaMemAdviseSetPreferredLocation, cudaCpuDeviceId));
    fails(cudaErrorInvalidValue, prefetch(plain, 64, 0, NULL));
    fails(cudaErrorInvalidDevice, prefetch(managed, 64, 40, NULL));
    fails(cudaErrorInvalidValue, advise(plain, 64, cudaMemAdviseSetReadMostly, 0));
    ok(cudaDeviceSynchronize());
}
END_TEST
#endif

START_TEST(an_ipc_handle_names_one_allocation)
{
    cudaIpcMemHandle_t first, again, second;
    char *a = NULL;
    void *b = NULL;

    memset(&first, 0, sizeof(first));
    again = second = first;
    ok(cudaMalloc((void **)&a, 4096));
    ok(cudaMalloc(&b, 4096));
    ok(cudaIpcGetMemHandle(&first, a));
    ok(cudaIpcGetMemHandle(&again, a + 1));
    ok(cudaIpcGetMemHandle(&second, b));
    ck_assert_mem_eq(&first, &again, sizeof(first));
    ck_assert_mem_ne(&first, &second, sizeof(first));
    fails(cudaErrorInvalidValue, cudaIpcGetMemHandle(NULL, a));
    fails(cudaErrorInvalidValue, cudaIpcGetMemHandle(&first, &first));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        pitched_memory_has_room_for_its_rows,
        an_allocation_of_three_dimensions_says_how_it_lies,
        rows_survive_the_way_there_and_back_whatever_the_kind_says,
        asynchronous_rows_move_when_their_stream_gets_there,
        a_box_is_copied_out_of_the_middle_of_another,
        slices_are_set_one_by_one,
        host_and_device_share_managed_memory,
        hints_are_for_managed_memory,
        an_ipc_handle_names_one_allocation,
    };

    return run_tests("box", tests, sizeof(tests) / sizeof(tests[0]));
}
