/* SPDX-License-Identifier: MIT
 * stub.c - what the linker needs of libcuda.so.1 to bind a program to it. Never loaded. */
__attribute__((visibility("default"))) int cuMemAlloc_v2(void);
__attribute__((visibility("default"))) int cuMemFree_v2(void);
int cuMemAlloc_v2(void)
{
    return 0;
}
int cuMemFree_v2(void)
{
    return 0;
}
