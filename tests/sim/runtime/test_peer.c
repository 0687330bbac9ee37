/* SPDX-License-Identifier: MIT
 * test_peer.c - access between devices, and copies from one to another. */
#include "run.h"

#include <string.h>

START_TEST(devices_reach_each_other)
{
    int can = 0;

    ok(cudaDeviceCanAccessPeer(&can, 0, 1));
    ck_assert_int_eq(can, 1);
    ok(cudaDeviceCanAccessPeer(&can, 1, 1));
    ck_assert_int_eq(can, 0);
    ok(cudaDeviceGetP2PAttribute(&can, cudaDevP2PAttrAccessSupported, 0, 1));
    ck_assert_int_eq(can, 1);
    fails(cudaErrorInvalidDevice, cudaDeviceCanAccessPeer(&can, 0, 9));
    fails(cudaErrorInvalidValue, cudaDeviceCanAccessPeer(NULL, 0, 1));
    fails(cudaErrorInvalidDevice,
          cudaDeviceGetP2PAttribute(&can, cudaDevP2PAttrAccessSupported, 1, 1));
}
END_TEST

START_TEST(access_is_enabled_once_for_each_pair)
{
    fails(cudaErrorPeerAccessNotEnabled, cudaDeviceDisablePeerAccess(1));
    ok(cudaDeviceEnablePeerAccess(1, 0));
    fails(cudaErrorPeerAccessAlreadyEnabled, cudaDeviceEnablePeerAccess(1, 0));
    fails(cudaErrorInvalidValue, cudaDeviceEnablePeerAccess(2, 7));
    fails(cudaErrorInvalidDevice, cudaDeviceEnablePeerAccess(0, 0));
    fails(cudaErrorInvalidDevice, cudaDeviceEnablePeerAccess(9, 0));
    ok(cudaSetDevice(1));
    fails(cudaErrorPeerAccessNotEnabled, cudaDeviceDisablePeerAccess(0));
    ok(cudaSetDevice(0));
    ok(cudaDeviceDisablePeerAccess(1));
}
END_TEST

START_TEST(enabling_access_leaves_the_current_device_alone)
{
    int device = 9;

    ok(cudaDeviceEnablePeerAccess(2, 0));
    ok(cudaGetDevice(&device));
    ck_assert_int_eq(device, 0);
}
END_TEST

START_TEST(bytes_are_copied_between_devices)
{
    char back[8] = "";
    char *here = NULL;
    char *there = NULL;
    struct cudaMemcpy3DPeerParms box = {.srcDevice = 1, .dstDevice = 0, .extent = {4, 1, 1}};

    ok(cudaMalloc((void **)&here, 8));
    ok(cudaMemset(here, 0, 8));
    ok(cudaSetDevice(1));
    ok(cudaMalloc((void **)&there, 8));
    ok(cudaMemcpy(there, "peers!!", 8, cudaMemcpyHostToDevice));
    ok(cudaSetDevice(0));
    ok(cudaMemcpyPeer(here, 0, there, 1, 8));
    ok(cudaMemcpy(back, here, 8, cudaMemcpyDeviceToHost));
    ck_assert_str_eq(back, "peers!!");
    ok(cudaMemset(here, 0, 8));
    ok(cudaMemcpyPeerAsync(here, 0, there, 1, 4, NULL));
    box.srcPtr = (struct cudaPitchedPtr){there, 4, 4, 1};
    box.dstPtr = (struct cudaPitchedPtr){here + 4, 4, 4, 1};
    ok(cudaMemcpy3DPeerAsync(&box, NULL));
    ok(cudaMemcpy(back, here, 8, cudaMemcpyDeviceToHost));
    ck_assert_mem_eq(back, "peerpeer", 8);
    ok(cudaMemcpy3DPeer(&box));
    fails(cudaErrorInvalidDevice, cudaMemcpyPeer(here, 0, there, 9, 8));
    fails(cudaErrorInvalidValue, cudaMemcpyPeer(here, 0, back, 1, 8));
    fails(cudaErrorInvalidValue, cudaMemcpy3DPeer(NULL));
    box.srcDevice = 9;
    fails(cudaErrorInvalidDevice, cudaMemcpy3DPeer(&box));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        devices_reach_each_other,
        access_is_enabled_once_for_each_pair,
        enabling_access_leaves_the_current_device_alone,
        bytes_are_copied_between_devices,
    };

    return run_tests("peer", tests, sizeof(tests) / sizeof(tests[0]));
}
