/* SPDX-License-Identifier: MIT
 * fake_driver.h - what the fake driver of test_bind.c was asked for, in order. */
#ifndef TESTS_SIM_RUNTIME_FAKE_DRIVER_H
#define TESTS_SIM_RUNTIME_FAKE_DRIVER_H

#include <cuda.h>

enum { FAKE_MAX_QUESTIONS = 1024 };

typedef struct fake_question {
    char name[64];
    int version;
    unsigned long long flags;
} fake_question;

CUresult cuGetProcAddress_v2(const char *name, void **function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *status);

#endif
