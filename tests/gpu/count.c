/* SPDX-License-Identifier: MIT
 * count.c - a preload that counts the work a program gives to the driver.
 *
 * Whether a cached free could ever leave its wait out depends on seeing all work that is enqueued.
 * So: every pointer to a function that enqueues, as the driver's resolver or dlsym give it out, is
 * replaced by a jump that counts and knows nothing of the function's arguments. What a program
 * launched and what was counted is then compared by launches.cu. Not part of the cache. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#define ENQUEUES(row)                                                                              \
    row(cuLaunchKernel) row(cuLaunchKernelEx) row(cuGraphLaunch) row(cuMemcpyAsync)                \
        row(cuMemcpyHtoDAsync) row(cuMemcpyDtoHAsync) row(cuMemcpyDtoDAsync) row(cuMemcpyHtoD)     \
            row(cuMemcpyDtoH) row(cuMemcpyDtoD) row(cuMemcpy) row(cuMemsetD8Async)                 \
                row(cuMemsetD32Async) row(cuMemsetD8) row(cuMemsetD32)

typedef int resolver_type(const char *name, void **function, int version, uint64_t flags,
                          void *status);

__attribute__((visibility("default"))) unsigned long long gpu_counted(void);

__attribute__((visibility("hidden"))) atomic_ullong gpu_count;
static _Atomic(resolver_type *) real_resolver;

/* Two slots a function: the resolver gives out one of the legacy and one of the per-thread stream.
 * Assembly, since C has no jump that leaves every argument where it is. */
#define SLOT(name)                                                                                 \
    __attribute__((visibility("hidden"))) void *gpu_target_##name;                                 \
    void gpu_jump_##name(void);                                                                    \
    __asm__(".text\n.globl gpu_jump_" #name "\n.hidden gpu_jump_" #name "\n.type gpu_jump_" #name  \
            ", @function\ngpu_jump_" #name ":\n"                                                   \
            "endbr64\nlock incq gpu_count(%rip)\njmp *gpu_target_" #name "(%rip)\n"                \
            ".size gpu_jump_" #name ", .-gpu_jump_" #name "\n");
#define SLOTS(name) SLOT(name) SLOT(name##_per_thread)
ENQUEUES(SLOTS)

static const struct slot {
    const char *name;
    void **target;
    void (*jump)(void);
} slots[][2] = {
#define ROW(name)                                                                                  \
    {{#name, &gpu_target_##name, gpu_jump_##name},                                                 \
     {#name, &gpu_target_##name##_per_thread, gpu_jump_##name##_per_thread}},
    ENQUEUES(ROW)};

/* The jump to `function`, or `function` itself where it is not one that enqueues, or a third. */
static void *counting(const char *name, void *function)
{
    for (size_t i = 0; i < sizeof slots / sizeof *slots; i++)
        for (size_t j = 0; j < 2 && strcmp(name, slots[i]->name) == 0; j++) {
            const struct slot *slot = &slots[i][j];

            if (*slot->target == NULL)
                *slot->target = function;
            if (*slot->target == function)
                return (void *)(uintptr_t)slot->jump;
        }
    return function;
}

static int resolver(const char *name, void **function, int version, uint64_t flags, void *status)
{
    const int result = atomic_load(&real_resolver)(name, function, version, flags, status);

    if (result == 0 && *function != NULL)
        *function = counting(name, *function);
    return result;
}

unsigned long long gpu_counted(void)
{
    return atomic_load(&gpu_count);
}

/* As the program's own dlsym, for all that asks with a handle. */
__attribute__((visibility("default"))) void *dlsym(void *restrict handle, const char *restrict name)
{
    static void *(*real)(void *, const char *);
    void *found;

    if (real == NULL)
        real =
            (void *(*)(void *, const char *))(uintptr_t)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    found = real(handle, name);
    if (found == NULL || strcmp(name, "cuGetProcAddress_v2") != 0)
        return found;
    atomic_store(&real_resolver, (resolver_type *)(uintptr_t)found);
    return (void *)(uintptr_t)resolver;
}
