/* SPDX-License-Identifier: MIT
 * test_peer.c - access between devices, and copies between contexts. */
#include <string.h>

#include "support.h"

static CUcontext first, second;

static void start_two(void)
{
    with("DEVICES", "2");
    first = start();
    OK(cuDevicePrimaryCtxRetain(&second, 1));
}

START_TEST(devices_can_reach_each_other_but_not_themselves)
{
    int can;

    start_two();
    OK(cuDeviceCanAccessPeer(&can, 0, 1));
    ck_assert_int_eq(can, 1);
    OK(cuDeviceCanAccessPeer(&can, 1, 1));
    ck_assert_int_eq(can, 0);
    ANSWERS(CUDA_ERROR_INVALID_DEVICE, cuDeviceCanAccessPeer(&can, 0, 2));
    INVALID(cuDeviceCanAccessPeer(NULL, 0, 1));
    OK(cuDeviceGetP2PAttribute(&can, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 1));
    ck_assert_int_eq(can, 1);
    ANSWERS(CUDA_ERROR_INVALID_DEVICE,
            cuDeviceGetP2PAttribute(&can, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 0));
    INVALID(cuDeviceGetP2PAttribute(&can, (CUdevice_P2PAttribute)77, 0, 1));
}
END_TEST

START_TEST(peer_access_is_enabled_once_and_one_way)
{
    start_two();
    ANSWERS(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(second));
    OK(cuCtxEnablePeerAccess(second, 0));
    ANSWERS(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, cuCtxEnablePeerAccess(second, 0));
    OK(cuCtxSetCurrent(second));
    ANSWERS(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(first));
    OK(cuCtxEnablePeerAccess(first, 0));
    OK(cuCtxSetCurrent(first));
    OK(cuCtxDisablePeerAccess(second));
    OK(cuCtxEnablePeerAccess(second, 0));
    ANSWERS(CUDA_ERROR_INVALID_CONTEXT, cuCtxEnablePeerAccess(first, 0));
    ANSWERS(CUDA_ERROR_INVALID_CONTEXT, cuCtxEnablePeerAccess((CUcontext)&first, 0));
    INVALID(cuCtxEnablePeerAccess(second, 1));
}
END_TEST

START_TEST(peer_access_ends_with_either_context)
{
    start_two();
    OK(cuCtxEnablePeerAccess(second, 0));
    OK(cuDevicePrimaryCtxReset(1));
    OK(cuDevicePrimaryCtxRetain(&second, 1));
    ANSWERS(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(second));
    OK(cuCtxEnablePeerAccess(second, 0));
}
END_TEST

START_TEST(a_device_is_no_peer_of_itself)
{
    CUcontext other;

    first = start();
    OK(cuCtxCreate(&other, NULL, 0, 0));
    ANSWERS(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, cuCtxEnablePeerAccess(first, 0));
}
END_TEST

START_TEST(copies_between_contexts_come_after_the_work_of_both)
{
    static struct gate gate;
    unsigned char back[64];
    CUdeviceptr here, there;
    CUstream stream;

    start_two();
    OK(cuMemAlloc(&here, 64));
    OK(cuCtxSetCurrent(second));
    OK(cuMemAlloc(&there, 64));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    gate_hold(&gate, stream);
    OK(cuMemsetD8Async(there, 3, 64, stream));
    gate_open(&gate);
    OK(cuCtxSetCurrent(first));
    OK(cuMemcpyPeer(here, first, there, second, 64));
    OK(cuMemcpyDtoH(back, here, 64));
    ck_assert_uint_eq(back[63], 3);
    ANSWERS(CUDA_ERROR_INVALID_CONTEXT, cuMemcpyPeer(here, first, there, (CUcontext)&gate, 64));
    INVALID(cuMemcpyPeer(here, first, (CUdeviceptr)(uintptr_t)back, second, 64));
    OK(cuMemcpyPeer(here, first, there, second, 0));
}
END_TEST

START_TEST(asynchronous_copies_between_contexts_follow_their_stream)
{
    static struct gate gate;
    unsigned char back[8];
    CUdeviceptr here, there;
    CUstream stream;

    start_two();
    OK(cuMemAlloc(&here, 64));
    OK(cuMemsetD8(here, 1, 64));
    OK(cuCtxSetCurrent(second));
    OK(cuMemAlloc(&there, 64));
    OK(cuMemsetD8(there, 3, 64));
    OK(cuCtxSynchronize());
    OK(cuCtxSetCurrent(first));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuCtxSynchronize());
    gate_hold(&gate, stream);
    OK(cuMemcpyPeerAsync(here, first, there, second, 64, stream));
    ANSWERS(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
    gate_open(&gate);
    OK(cuMemcpy3DPeerAsync(&(CUDA_MEMCPY3D_PEER){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                                 .srcDevice = there,
                                                 .srcContext = second,
                                                 .srcPitch = 8,
                                                 .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                                 .dstDevice = here,
                                                 .dstContext = first,
                                                 .dstPitch = 8,
                                                 .WidthInBytes = 8,
                                                 .Height = 2,
                                                 .Depth = 1},
                           stream));
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH(back, here + 56, 8));
    ck_assert_uint_eq(back[7], 3);
    ANSWERS(CUDA_ERROR_INVALID_CONTEXT,
            cuMemcpy3DPeer(&(CUDA_MEMCPY3D_PEER){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                                 .srcDevice = there,
                                                 .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                                 .dstDevice = here,
                                                 .WidthInBytes = 8,
                                                 .Height = 1,
                                                 .Depth = 1}));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {devices_can_reach_each_other_but_not_themselves,
                                  peer_access_is_enabled_once_and_one_way,
                                  peer_access_ends_with_either_context,
                                  a_device_is_no_peer_of_itself,
                                  copies_between_contexts_come_after_the_work_of_both,
                                  asynchronous_copies_between_contexts_follow_their_stream,
                                  NULL};

    return run_tests("peer", tests);
}
