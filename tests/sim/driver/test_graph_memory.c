/* SPDX-License-Identifier: MIT
 * test_graph_memory.c - memory that a capture allocates and frees belongs to its graph. */
#include <stdlib.h>
#include <string.h>

#include "support.h"

#define CHUNK (32 * MIB)

static CUstream stream;

static void begin(void)
{
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
}

static CUgraph end(void)
{
    CUgraph graph = NULL;

    OK(cuStreamEndCapture(stream, &graph));
    return graph;
}

static CUdeviceptr alloc(size_t bytes)
{
    CUdeviceptr address = 0;

    OK(cuMemAllocAsync(&address, bytes, stream));
    return address;
}

static cuuint64_t graph_memory(CUgraphMem_attribute attribute)
{
    cuuint64_t value = 0;

    OK(cuDeviceGetGraphMemAttribute(0, attribute, &value));
    return value;
}

/* Allocates, fills, copies out, frees: all of it in a graph. */
static CUgraph capture(CUdeviceptr plain, CUdeviceptr *given)
{
    begin();
    *given = alloc(1000);
    OK(cuMemsetD8Async(*given, 'x', 1000, stream));
    OK(cuMemcpyDtoDAsync(plain, *given + 999, 1, stream));
    OK(cuMemFreeAsync(*given, stream));
    return end();
}

START_TEST(allocation_and_free_become_nodes_and_each_launch_uses_the_memory)
{
    CUgraphNodeType types[4];
    CUgraphNode nodes[4];
    CUgraphExec exec;
    CUdeviceptr plain, given;
    size_t count = 4;
    CUgraph graph;

    start();
    OK(cuMemAlloc(&plain, 1));
    graph = capture(plain, &given);
    OK(cuGraphGetNodes(graph, nodes, &count));
    ck_assert_uint_eq(count, 4);
    for (int i = 0; i < 4; i++)
        OK(cuGraphNodeGetType(nodes[i], &types[i]));
    ck_assert_int_eq(types[0], CU_GRAPH_NODE_TYPE_MEM_ALLOC);
    ck_assert_int_eq(types[3], CU_GRAPH_NODE_TYPE_MEM_FREE);
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < 3; i++) {
        char byte = 0;

        OK(cuMemsetD8(plain, 'a', 1));
        OK(cuCtxSynchronize());
        OK(cuGraphLaunch(exec, stream));
        OK(cuStreamSynchronize(stream));
        OK(cuMemcpyDtoH(&byte, plain, 1));
        ck_assert_int_eq(byte, 'x');
    }
}
END_TEST

START_TEST(the_memory_lasts_as_long_as_the_graph_or_what_was_made_of_it)
{
    CUgraphExec exec;
    CUdeviceptr plain, given, base = 0;
    CUgraph graph;
    size_t before, bytes = 0;

    start();
    OK(cuMemAlloc(&plain, 1));
    before = mapped();
    graph = capture(plain, &given);
    ck_assert_uint_eq(mapped(), before + CHUNK);
    ck_assert_uint_eq(graph_memory(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 1024);
    ck_assert_uint_eq(graph_memory(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), CHUNK);
    OK(cuMemGetAddressRange(&base, &bytes, given + 10));
    ck_assert_uint_eq(base, given);
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphDestroy(graph));
    ck_assert_uint_eq(mapped(), before + CHUNK);
    OK(cuGraphExecDestroy(exec));
    ck_assert_uint_eq(mapped(), before);
    ck_assert_uint_eq(graph_memory(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 0);
    ck_assert_uint_eq(graph_memory(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH), 1024);
    OK(cuDeviceGraphMemTrim(0));
}
END_TEST

START_TEST(what_one_node_frees_a_later_one_of_the_stream_is_given)
{
    CUdeviceptr first, second, third;

    start();
    begin();
    first = alloc(MIB);
    OK(cuMemFreeAsync(first, stream));
    INVALID(cuMemFreeAsync(first, stream));
    second = alloc(MIB - 100);
    ck_assert_uint_eq(second, first);
    third = alloc(MIB);
    ck_assert_uint_ne(third, second);
    OK(cuMemFreeAsync(third, stream));
    OK(cuMemFreeAsync(second, stream));
    OK(cuGraphDestroy(end()));
    ck_assert_uint_eq(mapped(), 0);
}
END_TEST

START_TEST(a_capture_that_fails_gives_its_memory_back)
{
    CUgraph graph = NULL;

    start();
    begin();
    (void)alloc(MIB);
    ANSWERS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamSynchronize(stream));
    ANSWERS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));
    ck_assert_uint_eq(mapped(), 0);
}
END_TEST

START_TEST(only_memory_of_a_graph_is_freed_in_a_capture)
{
    CUdeviceptr plain;

    start();
    OK(cuMemAllocAsync(&plain, MIB, NULL));
    begin();
    INVALID(cuMemFreeAsync(plain, stream));
    OK(cuGraphDestroy(end()));
    OK(cuMemFreeAsync(plain, NULL));
}
END_TEST

START_TEST(a_free_outside_the_capture_leaves_the_memory_to_the_graph)
{
    CUdeviceptr address;
    CUgraph graph;

    start();
    begin();
    address = alloc(MIB);
    graph = end();
    OK(cuMemFreeAsync(address, stream));
    OK(cuMemFree(address));
    ck_assert_uint_eq(graph_memory(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), MIB);
    OK(cuGraphDestroy(graph));
    ck_assert_uint_eq(mapped(), 0);
}
END_TEST

START_TEST(what_a_launch_leaves_allocated_outlives_the_graph_until_it_is_freed)
{
    CUgraphExec exec;
    CUdeviceptr address;
    CUgraph graph;
    char byte = 0;

    start();
    for (int by_stream = 0; by_stream < 2; by_stream++) {
        begin();
        address = alloc(MIB);
        OK(cuMemsetD8Async(address, 'x', 1, stream));
        graph = end();
        OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
        OK(cuGraphLaunch(exec, stream));
        OK(cuGraphExecDestroy(exec));
        OK(cuGraphDestroy(graph));
        OK(cuMemcpyDtoHAsync(&byte, address, 1, stream));
        OK(cuStreamSynchronize(stream));
        ck_assert_int_eq(byte, 'x');
        ck_assert_uint_eq(mapped(), CHUNK);
        OK(by_stream ? cuMemFreeAsync(address, stream) : cuMemFree(address));
        OK(cuStreamSynchronize(stream));
        ck_assert_uint_eq(mapped(), 0);
        INVALID(cuMemFree(address));
    }
}
END_TEST

START_TEST(a_graphs_memory_is_bounded_by_the_devices)
{
    CUdeviceptr address;

    with("MEMORY", "16MiB");
    start();
    begin();
    ANSWERS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocAsync(&address, 17 * MIB, stream));
    (void)alloc(16 * MIB);
    OK(cuGraphDestroy(end()));
}
END_TEST

START_TEST(attributes_of_graph_memory_can_be_asked_and_reset)
{
    cuuint64_t value = 1;

    start();
    INVALID(cuDeviceGetGraphMemAttribute(0, (CUgraphMem_attribute)9, &value));
    INVALID(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, NULL));
    ANSWERS(CUDA_ERROR_INVALID_DEVICE,
            cuDeviceGetGraphMemAttribute(1, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &value));
    INVALID(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &value));
    value = 0;
    OK(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &value));
    INVALID(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &value));
}
END_TEST

/* As libcudart does: the judge is told of each allocation, captured ones too. */
static void replay_and_go(void)
{
    CUgraphExec exec;
    CUdeviceptr address;
    CUgraph graph;

    start();
    begin();
    address = alloc(MIB);
    simcuda_allocated((void *)address, MIB);
    OK(cuMemsetD8Async(address, 1, MIB, stream));
    simcuda_freed(simcuda_freeing((void *)address), cuMemFreeAsync(address, stream) == 0);
    graph = end();
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < 3; i++)
        OK(cuGraphLaunch(exec, stream));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    OK(cuCtxSynchronize());
}

static void use_after_the_graph(void)
{
    CUdeviceptr address;

    start();
    begin();
    address = alloc(MIB);
    OK(cuGraphDestroy(end()));
    OK(cuMemsetD8(address, 1, 1));
    OK(cuCtxSynchronize());
}

START_TEST(replays_are_no_violation_and_memory_of_a_graph_that_is_gone_is)
{
    char *report = report_of(replay_and_go);

    ck_assert_ptr_nonnull(strstr(report, "\"violations\": {}"));
    free(report);
    report = report_of(use_after_the_graph);
    ck_assert_int_eq(number_in(report, "use-after-free"), 1);
    free(report);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        allocation_and_free_become_nodes_and_each_launch_uses_the_memory,
        the_memory_lasts_as_long_as_the_graph_or_what_was_made_of_it,
        what_one_node_frees_a_later_one_of_the_stream_is_given,
        a_capture_that_fails_gives_its_memory_back,
        only_memory_of_a_graph_is_freed_in_a_capture,
        a_free_outside_the_capture_leaves_the_memory_to_the_graph,
        what_a_launch_leaves_allocated_outlives_the_graph_until_it_is_freed,
        a_graphs_memory_is_bounded_by_the_devices,
        attributes_of_graph_memory_can_be_asked_and_reset,
        replays_are_no_violation_and_memory_of_a_graph_that_is_gone_is,
        NULL};

    return run_tests("graph memory", tests);
}
