/* SPDX-License-Identifier: MIT */
#include "fake.h"
#include <stdatomic.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* Beside hooks.def: what programs call and nobody hooks. */
#define EXTRAS                                                                                     \
    HOOK(cuInit, cuInit, 2000, PLAIN)                                                              \
    HOOK(cuCtxSetCurrent, cuCtxSetCurrent, 4000, PLAIN)                                            \
    HOOK(cuMemAlloc, cuMemAlloc, 2000, PLAIN)                                                      \
    HOOK(cuMemFree, cuMemFree, 2000, PLAIN)

/* Each counts; fake_cuda.c has the ones that do more. */
#define HOOK(name, base, version, stream)                                                          \
    EXPORT __attribute__((weak)) int name(void);                                                   \
    int name(void)                                                                                 \
    {                                                                                              \
        return fake_called(#name);                                                                 \
    }
#define NEED HOOK
EXTRAS
#include "hooks.def"

#define IS_PLAIN   0, 0
#define IS_LEGACY  0, 1
#define IS_THREAD  1, 1
#define IS_DEFAULT 1, 1

#define HOOK(name, base, version, stream)                                                          \
    {#name, #base, version, IS_##stream, (void *)(uintptr_t)name},
#define NEED HOOK
const fake_function fake_functions[] = {
#include "hooks.def"
#define HOOK(name, base, version, stream)                                                          \
    {#name, #base, version, IS_##stream, (void *)(uintptr_t)name},
    EXTRAS};

enum { COUNT = sizeof(fake_functions) / sizeof(fake_functions[0]) };

const unsigned fake_function_count = COUNT;

static atomic_uint calls[COUNT];
static atomic_int answers[COUNT];

static unsigned number_of(const char *name)
{
    unsigned i = 0;

    while (i + 1 < COUNT && strcmp(fake_functions[i].name, name) != 0)
        i++;
    return i;
}

int fake_called(const char *name)
{
    const unsigned number = number_of(name);

    atomic_fetch_add(&calls[number], 1);
    return atomic_load(&answers[number]);
}

EXPORT fake_calls_type fake_calls;
EXPORT fake_answer_type fake_answer;
EXPORT fake_address_type fake_address;

unsigned fake_calls(const char *name)
{
    return atomic_load(&calls[number_of(name)]);
}

void fake_answer(const char *name, int result)
{
    atomic_store(&answers[number_of(name)], result);
}

void *fake_address(const char *name)
{
    return fake_functions[number_of(name)].address;
}
