/* SPDX-License-Identifier: MIT
 * fake_driver.c - a libcuda.so.1 that knows only its resolver, which notes what it is asked for.
 *
 * FAKE_VERSION (environment): the version it claims; -1: its cuInit finds no device. */
#include "fake_driver.h"

#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT fake_question fake_questions[FAKE_MAX_QUESTIONS];
EXPORT unsigned fake_question_count;

static int claimed(void)
{
    const char *text = getenv("FAKE_VERSION");

    return text == NULL ? 13000 : atoi(text);
}

static CUresult initialise(unsigned flags)
{
    (void)flags;
    return claimed() < 0 ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}

static CUresult get_version(int *version)
{
    *version = claimed();
    return CUDA_SUCCESS;
}

static CUresult get_current(CUcontext *context)
{
    *context = (CUcontext)(void *)fake_questions; /* any address will do */
    return CUDA_SUCCESS;
}

static CUresult get_zero(CUdevice *value)
{
    *value = 0;
    return CUDA_SUCCESS;
}

static CUresult get_device(CUdevice *device, int ordinal)
{
    *device = ordinal;
    return CUDA_SUCCESS;
}

static CUresult get_attribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    (void)attribute;
    (void)device;
    *value = 1;
    return CUDA_SUCCESS;
}

static CUresult retain(CUcontext *context, CUdevice device)
{
    (void)device;
    return get_current(context);
}

EXPORT CUresult cuGetProcAddress_v2(const char *name, void **function, int version,
                                    cuuint64_t flags, CUdriverProcAddressQueryResult *status)
{
    static const struct {
        const char *name;
        union {
            CUresult (*initialise)(unsigned);
            CUresult (*get)(int *);
            CUresult (*get_current)(CUcontext *);
            CUresult (*get_device)(CUdevice *, int);
            CUresult (*get_attribute)(int *, CUdevice_attribute, CUdevice);
            CUresult (*retain)(CUcontext *, CUdevice);
            void *pointer;
        } call;
    } known[] = {
        {"cuInit", {.initialise = initialise}},
        {"cuDriverGetVersion", {.get = get_version}},
        {"cuCtxGetCurrent", {.get_current = get_current}},
        {"cuCtxGetDevice", {.get = get_zero}},
        {"cuDeviceGet", {.get_device = get_device}},
        {"cuDeviceGetAttribute", {.get_attribute = get_attribute}},
        {"cuDevicePrimaryCtxRetain", {.retain = retain}},
    };

    if (fake_question_count < FAKE_MAX_QUESTIONS) {
        fake_question *asked = &fake_questions[fake_question_count++];

        strncpy(asked->name, name, sizeof(asked->name) - 1);
        asked->version = version;
        asked->flags = flags;
    }
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcmp(name, known[i].name) == 0) {
            *function = known[i].call.pointer;
            *status = CU_GET_PROC_ADDRESS_SUCCESS;
            return CUDA_SUCCESS;
        }
    }
    *function = NULL;
    *status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return CUDA_ERROR_NOT_FOUND;
}
