/* SPDX-License-Identifier: MIT
 * test_before_13.c - what is different in libcudart 12 and 11, linked with one of them (MAJOR).
 *
 * CUDA 13's header is right for all that is the same. What is not is declared here under another
 * name, with the offsets and sizes that a program compiled with CUDA 12.9's or 11.8's headers has
 * inside. */
#include "run.h"
#include "sim/runtime/nvcc.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define AS(name) __asm__(#name)

enum { BYTES_11 = 728, BYTES_12 = 1032, POINTER_BYTES = 24, FUNCTION_BYTES_11 = 56 };
enum { ROOM = 2048, UNTOUCHED = 0x5a };

typedef struct member {
    const char *name;
    size_t offset;
    enum cudaDeviceAttr attribute;
} member;

/* int members of cudaDeviceProp up to 12. */
static const struct {
    const char *name;
    size_t offset;
    enum cudaDeviceAttr attribute;
} members[] = {
    {"warpSize", 308, cudaDevAttrWarpSize},
    {"maxThreadsPerBlock", 320, cudaDevAttrMaxThreadsPerBlock},
    {"clockRate", 348, cudaDevAttrClockRate},
    {"major", 360, cudaDevAttrComputeCapabilityMajor},
    {"multiProcessorCount", 388, cudaDevAttrMultiProcessorCount},
    {"memoryBusWidth", 612, cudaDevAttrGlobalMemoryBusWidth},
    {"l2CacheSize", 616, cudaDevAttrL2CacheSize},
    {"managedMemory", 652, cudaDevAttrManagedMemory},
    {"cooperativeLaunch", 688, cudaDevAttrCooperativeLaunch},
};
enum { OFFSET_MEMORY = 288, OFFSET_OPTIN = 696, OFFSET_RESERVED = 720 };

cudaError_t properties_11(void *properties, int device) AS(cudaGetDeviceProperties);
cudaError_t capture_info(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                         unsigned long long *id) AS(cudaStreamGetCaptureInfo);
cudaError_t capture_info_2(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                           unsigned long long *id, cudaGraph_t *graph,
                           const cudaGraphNode_t **dependencies, size_t *count)
    AS(cudaStreamGetCaptureInfo_v2);
cudaError_t thread_synchronize(void) AS(cudaThreadSynchronize);
cudaError_t thread_exit(void) AS(cudaThreadExit);
cudaError_t thread_get_limit(size_t *value, enum cudaLimit limit) AS(cudaThreadGetLimit);
#if MAJOR == 12
cudaError_t properties_12(void *properties, int device) AS(cudaGetDeviceProperties_v2);
cudaError_t elapsed_time(float *milliseconds, cudaEvent_t start, cudaEvent_t end)
    AS(cudaEventElapsedTime_v2);
#else
cudaError_t graph_instantiate(cudaGraphExec_t *executable, cudaGraph_t graph, cudaGraphNode_t *node,
                              char *text, size_t bytes) AS(cudaGraphInstantiate);
cudaError_t entry_point(const char *symbol, void **function, unsigned long long flags)
    AS(cudaGetDriverEntryPoint);
void register_texture(void **handle, const void *variable, const void **device, const char *name,
                      int dimensions, int normalized, int external) AS(__cudaRegisterTexture);
#endif

static void check_member(const unsigned char *properties, const char *name, size_t offset,
                         enum cudaDeviceAttr attribute)
{
    int expected = -1;
    int found = -2;

    ok(cudaDeviceGetAttribute(&expected, attribute, 0));
    memcpy(&found, properties + offset, sizeof(found));
    ck_assert_msg(found == expected, "%s: %d, not %d", name, found, expected);
}

static void check_untouched(const unsigned char *bytes, size_t from)
{
    for (size_t i = from; i < ROOM; i++)
        ck_assert_msg(bytes[i] == UNTOUCHED, "byte %zu was written", i);
}

static void check_members(const unsigned char *properties)
{
    size_t bytes = 0;
    size_t free_bytes;
    size_t total_bytes;
    int expected;

    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
        check_member(properties, members[i].name, members[i].offset, members[i].attribute);
    ok(cudaMemGetInfo(&free_bytes, &total_bytes));
    memcpy(&bytes, properties + OFFSET_MEMORY, sizeof(bytes));
    ck_assert_uint_eq(bytes, total_bytes);
    ok(cudaDeviceGetAttribute(&expected, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    memcpy(&bytes, properties + OFFSET_OPTIN, sizeof(bytes));
    ck_assert_uint_eq(bytes, (size_t)expected);
    ok(cudaDeviceGetAttribute(&expected, cudaDevAttrReservedSharedMemoryPerBlock, 0));
    memcpy(&bytes, properties + OFFSET_RESERVED, sizeof(bytes));
    ck_assert_uint_eq(bytes, (size_t)expected);
    ck_assert_uint_gt(strlen((const char *)properties), 0);
}

START_TEST(properties_have_the_layout_of_11_under_the_plain_name)
{
    unsigned char properties[ROOM];

    memset(properties, UNTOUCHED, sizeof(properties));
    ok(properties_11(properties, 0));
    check_members(properties);
    check_untouched(properties, BYTES_11);
    fails(cudaErrorInvalidDevice, properties_11(properties, 99));
    fails(cudaErrorInvalidValue, properties_11(NULL, 0));
}
END_TEST

#if MAJOR == 12
static const member members_12[] = {
    {"hostRegisterSupported", 728, cudaDevAttrHostRegisterSupported},
    {"memoryPoolsSupported", 744, cudaDevAttrMemoryPoolsSupported},
    {"ipcEventSupported", 768, cudaDevAttrIpcEventSupport},
};

START_TEST(properties_have_the_layout_of_12_under_the_name_its_header_gives)
{
    unsigned char properties[ROOM];

    memset(properties, UNTOUCHED, sizeof(properties));
    ok(properties_12(properties, 0));
    check_members(properties);
    for (size_t i = 0; i < sizeof(members_12) / sizeof(members_12[0]); i++)
        check_member(properties, members_12[i].name, members_12[i].offset, members_12[i].attribute);
    check_untouched(properties, BYTES_12);
    fails(cudaErrorInvalidDevice, properties_12(properties, 99));
}
END_TEST

START_TEST(the_time_between_events_has_two_names)
{
    cudaEvent_t start;
    cudaEvent_t end;
    float first = -1;
    float second = -2;

    ok(cudaEventCreate(&start));
    ok(cudaEventCreate(&end));
    ok(cudaEventRecord(start, NULL));
    ok(cudaEventRecord(end, NULL));
    ok(cudaEventSynchronize(end));
    ok(cudaEventElapsedTime(&first, start, end));
    ok(elapsed_time(&second, start, end));
    ck_assert(first >= 0 && first == second);
}
END_TEST
#else
START_TEST(an_entry_point_is_asked_for_without_a_status)
{
    void *function = NULL;

    ok(entry_point("cuMemAlloc", &function, cudaEnableDefault));
    ck_assert_ptr_nonnull(function);
    fails(cudaErrorSymbolNotFound, entry_point("cuNoSuchThing", &function, cudaEnableDefault));
}
END_TEST

START_TEST(registering_a_texture_reference_is_no_error)
{
    static int variable;

    register_texture(NULL, &variable, NULL, "texture", 2, 0, 0);
    ck_assert_int_eq(cudaGetLastError(), cudaSuccess);
}
END_TEST
#endif

START_TEST(pointer_attributes_end_after_the_host_pointer)
{
    unsigned char attributes[ROOM];
    void *pointer = NULL;
    void *found = NULL;

    ok(cudaMalloc(&pointer, 100));
    memset(attributes, UNTOUCHED, sizeof(attributes));
    ok(cudaPointerGetAttributes((struct cudaPointerAttributes *)(void *)attributes, pointer));
    memcpy(&found, attributes + 8, sizeof(found));
    ck_assert_ptr_eq(found, pointer);
    check_untouched(attributes, POINTER_BYTES);
}
END_TEST

START_TEST(a_graph_is_instantiated_by_the_signature_of_its_version)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t executable = NULL;
#if MAJOR == 11
    cudaGraphNode_t node = (cudaGraphNode_t)&graph;
    char text[8] = "unset";
#endif

    ok(cudaGraphCreate(&graph, 0));
#if MAJOR == 11
    ok(graph_instantiate(&executable, graph, &node, text, sizeof(text)));
    ck_assert(node == NULL && text[0] == '\0');
#else
    ok(cudaGraphInstantiate(&executable, graph, 0));
#endif
    ok(cudaGraphLaunch(executable, NULL));
    ok(cudaDeviceSynchronize());
    ok(cudaGraphExecDestroy(executable));
    ok(cudaGraphDestroy(graph));
}
END_TEST

static void stub(void)
{
}

static void register_kernel(void)
{
    static const char no_image[64];
    static simrt_fat_binary binary = {0x466243b1, 1, no_image, NULL};
    void **handle = __cudaRegisterFatBinary(&binary);

    __cudaRegisterFunction(handle, *(const char *const *)&(void (*)(void)){stub}, NULL, "kernel",
                           -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterFatBinaryEnd(handle);
}

START_TEST(function_attributes_have_the_size_of_their_version)
{
    unsigned char attributes[ROOM];

    register_kernel();
    memset(attributes, UNTOUCHED, sizeof(attributes));
    ok(cudaFuncGetAttributes((struct cudaFuncAttributes *)(void *)attributes,
                             *(void *const *)&(void (*)(void)){stub}));
    check_untouched(attributes,
                    MAJOR == 11 ? (size_t)FUNCTION_BYTES_11 : sizeof(struct cudaFuncAttributes));
}
END_TEST

START_TEST(a_kernel_is_launched_by_the_address_of_its_stub)
{
    dim3 grid = {1, 2, 3};
    dim3 block = {4, 5, 6};
    size_t shared_bytes = 0;
    void *stream = &shared_bytes;
    void *arguments[1] = {NULL};

    register_kernel();
    ck_assert_uint_eq(__cudaPushCallConfiguration(grid, block, 16, NULL), 0);
    ok(__cudaPopCallConfiguration(&grid, &block, &shared_bytes, (void *)&stream));
    ck_assert_uint_eq(shared_bytes, 16);
    ck_assert_ptr_null(stream);
    ok(cudaLaunchKernel(*(void *const *)&(void (*)(void)){stub}, grid, block, arguments,
                        shared_bytes, stream));
    ok(cudaDeviceSynchronize());
}
END_TEST

START_TEST(captures_are_asked_about_by_the_older_signatures)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusActive;
    unsigned long long id = 7;

    ok(capture_info(cudaStreamPerThread, &status, &id));
    ck_assert_int_eq(status, cudaStreamCaptureStatusNone);
    status = cudaStreamCaptureStatusActive;
    ok(capture_info_2(cudaStreamPerThread, &status, &id, NULL, NULL, NULL));
    ck_assert_int_eq(status, cudaStreamCaptureStatusNone);
}
END_TEST

START_TEST(the_thread_functions_are_the_devices_by_their_old_names)
{
    void *pointer = NULL;
    size_t stack = 0;
    size_t expected = 1;

    ok(cudaMalloc(&pointer, MIB));
    ok(thread_synchronize());
    ok(thread_get_limit(&stack, cudaLimitStackSize));
    ok(cudaDeviceGetLimit(&expected, cudaLimitStackSize));
    ck_assert_uint_eq(stack, expected);
    ok(thread_exit());
    fails(cudaErrorInvalidValue, cudaFree(pointer)); /* it went with the context */
}
END_TEST

START_TEST(it_says_which_version_it_is)
{
    int version = 0;
    Dl_info found;
    void *function = NULL;
    cudaError_t (*get)(int *) = cudaRuntimeGetVersion;

    ok(cudaRuntimeGetVersion(&version));
    ck_assert_int_eq(version / 1000, MAJOR);
    memcpy(&function, &get, sizeof(function));
    ck_assert_int_ne(dladdr(function, &found), 0);
    ck_assert_ptr_nonnull(strstr(found.dli_fname, MAJOR == 12 ? "libcudart.so.12" : ".so.11.0"));
}
END_TEST

/* The driver's report, written by a child that allocated once. */
static void read_report(char *text, size_t room)
{
    char path[] = "/tmp/simrt_before.XXXXXX";
    void *pointer = NULL;
    int status = -1;
    FILE *file;
    pid_t child;

    ck_assert_int_ge(mkstemp(path), 0);
    ck_assert_int_eq(setenv("SIMCUDA_REPORT", path, 1), 0);
    child = fork();
    if (child == 0)
        exit(cudaMalloc(&pointer, 1) == cudaSuccess ? 0 : 1);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, room - 1, file)] = '\0';
    fclose(file);
    unlink(path);
}

START_TEST(the_driver_is_reached_by_the_resolver_of_its_time)
{
    char text[16384];

    read_report(text, sizeof(text));
    ck_assert_msg((strstr(text, "\"cuGetProcAddress\"") != NULL) == (MAJOR == 11), "%s", text);
    ck_assert_msg((strstr(text, "\"cuGetProcAddress_v2\"") != NULL) == (MAJOR == 12), "%s", text);
    ck_assert_ptr_nonnull(strstr(text, "\"cudaMalloc\": 1"));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        properties_have_the_layout_of_11_under_the_plain_name,
#if MAJOR == 12
        properties_have_the_layout_of_12_under_the_name_its_header_gives,
        the_time_between_events_has_two_names,
#else
        an_entry_point_is_asked_for_without_a_status,
        registering_a_texture_reference_is_no_error,
#endif
        a_graph_is_instantiated_by_the_signature_of_its_version,
        pointer_attributes_end_after_the_host_pointer,
        function_attributes_have_the_size_of_their_version,
        a_kernel_is_launched_by_the_address_of_its_stub,
        captures_are_asked_about_by_the_older_signatures,
        the_thread_functions_are_the_devices_by_their_old_names,
        it_says_which_version_it_is,
        the_driver_is_reached_by_the_resolver_of_its_time,
    };

    return run_tests("before 13", tests, sizeof(tests) / sizeof(tests[0]));
}
