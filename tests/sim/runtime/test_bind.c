/* SPDX-License-Identifier: MIT
 * test_bind.c - how libcudart reaches its driver, watched by a dlopen and a dlsym of this program's
 * own and a driver that notes what its resolver is asked (fake_driver.c, first on the library
 * path). */
#include "fake_driver.h"
#include "run.h"

#include <cudaTypedefs.h>
#include <dlfcn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_LOOKUPS = 64 };

static const char *lookups[MAX_LOOKUPS];
static unsigned lookup_count;
static int open_flags = -1;
static bool hide_driver;
static bool hide_resolver;

static void *next(const char *name)
{
    void *found = dlvsym(RTLD_NEXT, name, "GLIBC_2.34");

    return found != NULL ? found : dlvsym(RTLD_NEXT, name, "GLIBC_2.2.5");
}

__attribute__((visibility("default"))) void *dlopen(const char *path, int flags)
{
    void *(*real)(const char *, int);
    void *found = next("dlopen");

    memcpy(&real, &found, sizeof(real));
    if (path != NULL && strcmp(path, "libcuda.so.1") == 0) {
        open_flags = flags;
        if (hide_driver)
            return NULL;
    }
    return real(path, flags);
}

__attribute__((visibility("default"))) void *dlsym(void *handle, const char *name)
{
    void *(*real)(void *, const char *);
    void *found = next("dlsym");

    memcpy(&real, &found, sizeof(real));
    if (lookup_count < MAX_LOOKUPS)
        lookups[lookup_count++] = name;
    if (hide_resolver && strcmp(name, "cuGetProcAddress_v2") == 0)
        return NULL;
    return real(handle, name);
}

static const fake_question *questions(unsigned *count)
{
    void *handle = dlopen("libcuda.so.1", RTLD_NOW);
    const unsigned *counted = dlsym(handle, "fake_question_count");
    const fake_question *asked = dlsym(handle, "fake_questions");

    ck_assert_ptr_nonnull(counted);
    ck_assert_ptr_nonnull(asked);
    *count = *counted;
    return asked;
}

static const fake_question *find_question(const char *name)
{
    unsigned count = 0;
    const fake_question *asked = questions(&count);

    for (unsigned i = 0; i < count; i++)
        if (strcmp(asked[i].name, name) == 0)
            return &asked[i];
    return NULL;
}

static void first_use(void)
{
    void *pointer = NULL;

    fails(cudaErrorNotSupported, cudaMalloc(&pointer, 1)); /* the fake has no memory */
}

START_TEST(one_dlsym_finds_the_resolver_and_the_rest_are_the_simulators_own)
{
    unsigned resolvers = 0;

    first_use();
    ck_assert_int_eq(open_flags, RTLD_NOW);
    for (unsigned i = 0; i < lookup_count; i++)
        if (strcmp(lookups[i], "cuGetProcAddress_v2") == 0)
            resolvers++;
        else
            ck_assert_msg(strncmp(lookups[i], "simcuda_", 8) == 0, "dlsym of %s", lookups[i]);
    ck_assert_uint_eq(resolvers, 1);
}
END_TEST

START_TEST(the_first_question_is_for_no_name_and_version_0)
{
    unsigned count = 0;
    const fake_question *asked;

    first_use();
    asked = questions(&count);
    ck_assert_uint_gt(count, 50);
    ck_assert_str_eq(asked[0].name, "");
    ck_assert_int_eq(asked[0].version, 0);
}
END_TEST

START_TEST(functions_are_asked_for_by_base_name_and_the_version_their_abi_appeared_in)
{
    static const struct {
        const char *name;
        int version;
    } expected[] = {
        {"cuMemAlloc", 3020},        {"cuMemFree", 3020},       {"cuMemGetInfo", 3020},
        {"cuCtxSynchronize", 2000},  {"cuLaunchKernel", 4000},  {"cuDevicePrimaryCtxReset", 11000},
        {"cuGetProcAddress", 12000}, {"cuStreamDestroy", 4000}, {"cuMemsetD8Async", 3020},
    };

    first_use();
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        const fake_question *asked = find_question(expected[i].name);

        ck_assert_msg(asked != NULL, "%s was not asked for", expected[i].name);
        ck_assert_int_eq(asked->version, expected[i].version);
        ck_assert_uint_eq(asked->flags, CU_GET_PROC_ADDRESS_DEFAULT);
    }
    ck_assert_ptr_null(find_question("cuMemAlloc_v2"));
}
END_TEST

START_TEST(nothing_is_asked_twice)
{
    unsigned before = 0;
    unsigned after = 0;

    first_use();
    questions(&before);
    first_use();
    questions(&after);
    ck_assert_uint_eq(before, after);
}
END_TEST

START_TEST(without_a_driver_there_is_none_sufficient)
{
    int value = 42;
    void *pointer = &value;

    hide_driver = true;
    fails(cudaErrorInsufficientDriver, cudaGetDeviceCount(&value));
    fails(cudaErrorInsufficientDriver, cudaMalloc(&pointer, 1));
    fails(cudaErrorInsufficientDriver, cudaFree(NULL));
    ck_assert_int_eq(value, 42);
    ck_assert_ptr_eq(pointer, &value);
    ok(cudaDriverGetVersion(&value));
    ck_assert_int_eq(value, 0);
    ok(cudaRuntimeGetVersion(&value));
    ck_assert_str_eq(cudaGetErrorName(cudaErrorNoDevice), "cudaErrorNoDevice");
}
END_TEST

START_TEST(a_driver_without_a_resolver_is_none)
{
    int value = 0;

    hide_resolver = true;
    fails(cudaErrorInsufficientDriver, cudaGetDeviceCount(&value));
}
END_TEST

START_TEST(a_driver_of_an_older_major_version_is_insufficient)
{
    int value = 0;

    ck_assert_int_eq(setenv("FAKE_VERSION", "12090", 1), 0);
    fails(cudaErrorInsufficientDriver, cudaGetDeviceCount(&value));
    ok(cudaDriverGetVersion(&value));
    ck_assert_int_eq(value, 12090);
}
END_TEST

START_TEST(a_machine_without_a_device_says_so)
{
    int value = 42;

    ck_assert_int_eq(setenv("FAKE_VERSION", "-1", 1), 0);
    fails(cudaErrorNoDevice, cudaGetDeviceCount(&value));
    fails(cudaErrorNoDevice, cudaSetDevice(0));
    ck_assert_int_eq(value, 42);
}
END_TEST

START_TEST(a_forked_child_does_not_ask_the_driver)
{
    int device = -1;
    int status = -1;
    pid_t child;

    ok(cudaGetDevice(&device)); /* the fake would answer a child too */
    child = fork();
    if (child == 0)
        _exit(cudaGetDevice(&device) == cudaErrorInitializationError ? 0 : 1);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(entry_points_come_from_the_resolver_the_driver_gave_out)
{
    void *function = &function;
    enum cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSuccess;

    /* The fake's resolver does not give itself out, so nothing can be asked of it. */
    fails(cudaErrorNotSupported,
          cudaGetDriverEntryPointByVersion("cuInit", &function, 12000, cudaEnableDefault, &status));
    ck_assert_ptr_eq(function, &function);
}
END_TEST

START_TEST(a_driver_that_is_no_simulator_registers_no_kernel)
{
    int (*forward)(const char *, void *, const size_t *, unsigned, void *);
    void *found = dlsym(RTLD_DEFAULT, "simcuda_kernel");

    ck_assert_ptr_nonnull(found);
    memcpy(&forward, &found, sizeof(forward));
    ck_assert_int_eq(forward("k", NULL, NULL, 0, NULL), 1);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        one_dlsym_finds_the_resolver_and_the_rest_are_the_simulators_own,
        the_first_question_is_for_no_name_and_version_0,
        functions_are_asked_for_by_base_name_and_the_version_their_abi_appeared_in,
        nothing_is_asked_twice,
        without_a_driver_there_is_none_sufficient,
        a_driver_without_a_resolver_is_none,
        a_driver_of_an_older_major_version_is_insufficient,
        a_machine_without_a_device_says_so,
        a_forked_child_does_not_ask_the_driver,
        entry_points_come_from_the_resolver_the_driver_gave_out,
        a_driver_that_is_no_simulator_registers_no_kernel,
    };

    return run_tests("bind", tests, sizeof(tests) / sizeof(tests[0]));
}
