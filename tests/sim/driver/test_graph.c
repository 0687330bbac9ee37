/* SPDX-License-Identifier: MIT
 * test_graph.c - graphs: what they tell of themselves, and that a launch does what was captured. */
#include <string.h>

#include "support.h"

static CUstream non_blocking(void)
{
    CUstream stream;

    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
}

static void begin(CUstream stream)
{
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
}

/* Ends the capture and makes its graph executable, which needs the graph no more. */
static CUgraphExec end(CUstream stream)
{
    CUgraphExec exec;
    CUgraph graph;

    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuGraphDestroy(graph));
    return exec;
}

START_TEST(a_launch_replays_copies_fills_kernels_and_host_functions_in_order)
{
    unsigned char *out;
    CUdeviceptr device;
    CUgraphExec exec;
    CUstream stream;

    start();
    OK(cuMemAlloc(&device, 32));
    OK(cuMemAllocHost((void **)&out, 32));
    stream = non_blocking();
    note_by_kernel(stream, 0);
    begin(stream);
    OK(cuMemsetD8Async(device, 7, 16, stream));
    note(stream, 1);
    OK(cuMemcpyDtoDAsync(device + 16, device, 16, stream));
    note_by_kernel(stream, 2);
    OK(cuMemcpyDtoHAsync(out, device, 32, stream));
    exec = end(stream);
    for (int i = 0; i < 3; i++) {
        memset(out, 0, 32);
        OK(cuMemsetD8Async(device, 0, 32, stream));
        OK(cuGraphLaunch(exec, stream));
        OK(cuStreamSynchronize(stream));
        for (size_t b = 0; b < 32; b++)
            ck_assert_uint_eq(out[b], 7);
    }
    ck_assert_uint_eq(note_count(), 7);
    for (size_t i = 1; i < 7; i++)
        ck_assert_int_eq(note_at(i), i % 2 == 1 ? 1 : 2);
}
END_TEST

START_TEST(a_captured_copy_reads_its_source_when_it_runs)
{
    unsigned char source[16], back[16];
    CUdeviceptr device;
    CUgraphExec exec;
    CUstream stream;

    start();
    OK(cuMemAlloc(&device, 16));
    stream = non_blocking();
    memset(source, 1, sizeof source);
    begin(stream);
    OK(cuMemcpyHtoDAsync(device, source, sizeof source, stream));
    exec = end(stream);
    memset(source, 2, sizeof source);
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH(back, device, sizeof back));
    ck_assert_mem_eq(back, source, sizeof source);
}
END_TEST

START_TEST(a_launch_takes_its_place_in_stream_order)
{
    static struct gate gate;
    CUgraphExec exec;
    CUstream stream;

    start();
    stream = non_blocking();
    begin(stream);
    note(stream, 2);
    exec = end(stream);
    gate_hold(&gate, stream);
    note(stream, 1);
    OK(cuGraphLaunch(exec, stream));
    note(stream, 3);
    ANSWERS(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
    gate_open(&gate);
    OK(cuStreamSynchronize(stream));
    ck_assert_uint_eq(note_count(), 3);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(note_at((size_t)i), i + 1);
}
END_TEST

START_TEST(launches_of_one_executable_follow_one_another_across_streams)
{
    static struct gate gate;
    CUstream held, stream;
    CUgraphExec exec;

    start();
    held = non_blocking();
    stream = non_blocking();
    begin(stream);
    note(stream, 2);
    exec = end(stream);
    gate_hold(&gate, held);
    note(held, 1);
    OK(cuGraphLaunch(exec, held));
    OK(cuGraphLaunch(exec, stream));
    note(stream, 3);
    ANSWERS(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
    gate_open(&gate);
    OK(cuStreamSynchronize(stream));
    ck_assert_uint_eq(note_count(), 4);
    ck_assert_int_eq(note_at(0), 1);
    ck_assert_int_eq(note_at(3), 3);
}
END_TEST

START_TEST(what_was_launched_runs_after_the_executable_is_destroyed)
{
    static struct gate gate;
    CUgraphExec exec;
    CUstream stream;

    start();
    stream = non_blocking();
    begin(stream);
    note(stream, 1);
    exec = end(stream);
    gate_hold(&gate, stream);
    OK(cuGraphLaunch(exec, stream));
    OK(cuGraphExecDestroy(exec));
    INVALID(cuGraphLaunch(exec, stream));
    INVALID(cuGraphExecDestroy(exec));
    gate_open(&gate);
    OK(cuStreamSynchronize(stream));
    ck_assert_uint_eq(note_count(), 1);
}
END_TEST

START_TEST(a_launch_can_itself_be_captured)
{
    CUgraphExec inner, outer;
    CUgraphNodeType type;
    CUgraphNode node;
    CUstream stream;
    CUgraph graph;
    size_t count = 1;

    start();
    stream = non_blocking();
    begin(stream);
    note(stream, 1);
    inner = end(stream);
    begin(stream);
    OK(cuGraphLaunch(inner, stream));
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphGetNodes(graph, &node, &count));
    OK(cuGraphNodeGetType(node, &type));
    ck_assert_int_eq(type, CU_GRAPH_NODE_TYPE_GRAPH);
    OK(cuGraphInstantiate(&outer, graph, 0));
    OK(cuGraphExecDestroy(inner));
    OK(cuGraphLaunch(outer, stream));
    OK(cuStreamSynchronize(stream));
    ck_assert_uint_eq(note_count(), 1);
}
END_TEST

START_TEST(forks_and_joins_run_in_an_order_that_respects_them)
{
    CUstream origin, fork;
    CUevent forked, joined;
    CUgraphExec exec;

    start();
    origin = non_blocking();
    fork = non_blocking();
    OK(cuEventCreate(&forked, CU_EVENT_DISABLE_TIMING));
    OK(cuEventCreate(&joined, CU_EVENT_DISABLE_TIMING));
    begin(origin);
    note(origin, 1);
    OK(cuEventRecord(forked, origin));
    OK(cuStreamWaitEvent(fork, forked, 0));
    note(fork, 2);
    OK(cuEventRecord(joined, fork));
    OK(cuStreamWaitEvent(origin, joined, 0));
    note(origin, 3);
    exec = end(origin);
    OK(cuGraphLaunch(exec, fork));
    OK(cuStreamSynchronize(fork));
    ck_assert_uint_eq(note_count(), 3);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(note_at((size_t)i), i + 1);
}
END_TEST

static void replay_into_freed_memory(void)
{
    CUdeviceptr device;
    CUgraphExec exec;
    CUstream stream;

    start();
    OK(cuMemAlloc(&device, 64));
    stream = non_blocking();
    begin(stream);
    OK(cuMemsetD8Async(device, 1, 64, stream));
    exec = end(stream);
    OK(cuMemFree(device));
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
}

START_TEST(a_replay_into_freed_memory_is_a_violation)
{
    char *report = report_of(replay_into_freed_memory);

    ck_assert_int_eq(number_in(report, "use-after-free"), 1);
    free(report);
}
END_TEST

START_TEST(a_graph_lists_its_roots_edges_and_dependents)
{
    CUgraphNode a, b, c, nodes[4], to[4];
    CUgraphNode both[2];
    CUgraphEdgeData data[4];
    CUgraph graph, other;
    size_t count;

    start();
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphCreate(&other, 0));
    INVALID(cuGraphCreate(&other, 1));
    OK(cuGraphAddEmptyNode(&a, graph, NULL, 0));
    OK(cuGraphAddEmptyNode(&b, graph, NULL, 0));
    both[0] = a;
    both[1] = b;
    OK(cuGraphAddEmptyNode(&c, graph, both, 2));
    INVALID(cuGraphAddEmptyNode(&c, other, both, 2)); /* nodes of another graph */
    count = 4;
    OK(cuGraphGetRootNodes(graph, nodes, &count));
    ck_assert_uint_eq(count, 2);
    ck_assert_ptr_eq(nodes[0], a);
    ck_assert_ptr_null(nodes[3]);
    count = 1; /* as many as there is room for */
    OK(cuGraphGetRootNodes(graph, nodes, &count));
    ck_assert_uint_eq(count, 1);
    OK(cuGraphGetEdges(graph, NULL, NULL, NULL, &count));
    ck_assert_uint_eq(count, 2);
    count = 4;
    OK(cuGraphGetEdges(graph, nodes, to, data, &count));
    ck_assert_uint_eq(count, 2);
    ck_assert_ptr_eq(to[1], c);
    INVALID(cuGraphGetEdges(graph, nodes, NULL, NULL, &count));
    count = 4;
    OK(cuGraphNodeGetDependentNodes(a, nodes, NULL, &count));
    ck_assert_uint_eq(count, 1);
    ck_assert_ptr_eq(nodes[0], c);
    OK(cuGraphDestroy(graph));
    INVALID(cuGraphDestroy(graph));
    INVALID(cuGraphNodeGetDependentNodes(a, nodes, NULL, &count)); /* its nodes went with it */
}
END_TEST

START_TEST(an_executable_keeps_its_flags_and_refuses_what_is_not_modelled)
{
    CUDA_GRAPH_INSTANTIATE_PARAMS params = {.flags =
                                                CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH};
    CUgraphExec exec;
    CUgraph graph;
    cuuint64_t flags;

    start();
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphInstantiateWithParams(&exec, graph, &params));
    ck_assert_int_eq(params.result_out, CUDA_GRAPH_INSTANTIATE_SUCCESS);
    OK(cuGraphExecGetFlags(exec, &flags));
    ck_assert_uint_eq(flags, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
    OK(cuGraphUpload(exec, NULL));
    OK(cuGraphLaunch(exec, NULL)); /* of nothing */
    ANSWERS(CUDA_ERROR_NOT_SUPPORTED,
            cuGraphInstantiate(&exec, graph, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH));
    INVALID(cuGraphInstantiate(&exec, graph, 1u << 20));
    INVALID(cuGraphInstantiate(&exec, NULL, 0));
    INVALID(cuGraphInstantiateWithParams(&exec, graph, NULL));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {a_launch_replays_copies_fills_kernels_and_host_functions_in_order,
                                  a_captured_copy_reads_its_source_when_it_runs,
                                  a_launch_takes_its_place_in_stream_order,
                                  launches_of_one_executable_follow_one_another_across_streams,
                                  what_was_launched_runs_after_the_executable_is_destroyed,
                                  a_launch_can_itself_be_captured,
                                  forks_and_joins_run_in_an_order_that_respects_them,
                                  a_replay_into_freed_memory_is_a_violation,
                                  a_graph_lists_its_roots_edges_and_dependents,
                                  an_executable_keeps_its_flags_and_refuses_what_is_not_modelled,
                                  NULL};

    return run_tests("graph", tests);
}
