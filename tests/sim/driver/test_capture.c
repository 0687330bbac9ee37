/* SPDX-License-Identifier: MIT
 * test_capture.c - stream capture: what a sequence takes, how streams join it, and how it ends.
 * What it forbids is in test_capture_rules.c. */
#include "support.h"

static CUstream non_blocking(void)
{
    CUstream stream;

    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
}

static CUevent new_event(void)
{
    CUevent event;

    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    return event;
}

static CUstreamCaptureStatus status_of(CUstream stream)
{
    CUstreamCaptureStatus status = (CUstreamCaptureStatus)-1;

    OK(cuStreamIsCapturing(stream, &status));
    return status;
}

static size_t nodes_of(CUgraph graph)
{
    size_t count = 0;

    OK(cuGraphGetNodes(graph, NULL, &count));
    return count;
}

START_TEST(captured_work_does_not_run)
{
    CUstream stream;
    CUgraph graph;

    start();
    stream = non_blocking();
    note_by_kernel(stream, 0); /* also loads its module, which a capture would not allow */
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    ck_assert_int_eq(status_of(stream), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    note(stream, 1);
    note_by_kernel(stream, 2);
    OK(cuStreamEndCapture(stream, &graph));
    ck_assert_int_eq(status_of(stream), CU_STREAM_CAPTURE_STATUS_NONE);
    note(stream, 3);
    OK(cuStreamSynchronize(stream));
    ck_assert_uint_eq(note_count(), 2);
    ck_assert_int_eq(note_at(1), 3);
    ck_assert_uint_eq(nodes_of(graph), 2);
    OK(cuGraphDestroy(graph));
}
END_TEST

START_TEST(what_was_enqueued_before_a_capture_runs_and_is_not_part_of_it)
{
    static struct gate gate;
    CUstream stream;
    CUgraph graph;

    start();
    stream = non_blocking();
    gate_hold(&gate, stream);
    note(stream, 1);
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    note(stream, 2);
    gate_open(&gate);
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuStreamSynchronize(stream));
    ck_assert_uint_eq(note_count(), 1);
    ck_assert_uint_eq(nodes_of(graph), 1);
}
END_TEST

START_TEST(each_operation_becomes_a_node_of_its_kind)
{
    const CUgraphNodeType expected[] = {CU_GRAPH_NODE_TYPE_MEMCPY, CU_GRAPH_NODE_TYPE_MEMSET,
                                        CU_GRAPH_NODE_TYPE_KERNEL, CU_GRAPH_NODE_TYPE_HOST};
    CUgraphNode nodes[6], needs[2];
    size_t count = 6, needed;
    CUgraphNodeType type;
    CUdeviceptr device;
    CUstream stream;
    CUgraph graph;
    CUfunction kernel;

    start();
    kernel = function("whatever");
    OK(cuMemAlloc(&device, 64));
    stream = non_blocking();
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuMemcpyDtoDAsync(device, device + 32, 32, stream));
    OK(cuMemsetD8Async(device, 1, 64, stream));
    OK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
    note(stream, 1);
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphGetNodes(graph, nodes, &count));
    ck_assert_uint_eq(count, 4);
    ck_assert_ptr_null(nodes[4]);
    for (size_t i = 0; i < count; i++) {
        OK(cuGraphNodeGetType(nodes[i], &type));
        ck_assert_int_eq(type, expected[i]);
        needed = 2;
        OK(cuGraphNodeGetDependencies(nodes[i], needs, NULL, &needed));
        ck_assert_uint_eq(needed, i > 0 ? 1 : 0);
        ck_assert_ptr_eq(needs[0], i > 0 ? nodes[i - 1] : NULL);
    }
}
END_TEST

START_TEST(a_capture_has_an_id_of_its_own_and_tells_its_frontier)
{
    CUstreamCaptureStatus status;
    cuuint64_t first, second;
    const CUgraphNode *nodes;
    const CUgraphEdgeData *edges;
    CUgraphNode last;
    CUstream stream;
    CUgraph graph;
    size_t count, all = 2;
    CUgraphNode both[2];

    start();
    stream = non_blocking();
    OK(cuStreamGetCaptureInfo(stream, &status, &first, NULL, NULL, NULL, NULL));
    ck_assert_int_eq(status, CU_STREAM_CAPTURE_STATUS_NONE);
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuStreamGetCaptureInfo(stream, &status, &first, &graph, &nodes, &edges, &count));
    ck_assert_uint_eq(count, 0);
    note(stream, 1);
    note(stream, 2);
    OK(cuStreamGetCaptureInfo(stream, &status, &first, &graph, &nodes, &edges, &count));
    ck_assert_int_eq(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    ck_assert_uint_eq(count, 1);
    ck_assert_uint_eq(edges[0].type, 0);
    last = nodes[0];
    OK(cuGraphGetNodes(graph, both, &all));
    ck_assert_ptr_eq(last, both[1]);
    INVALID(cuGraphDestroy(graph)); /* it is not the program's yet */
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuStreamGetCaptureInfo(stream, &status, &second, NULL, NULL, NULL, NULL));
    ck_assert_uint_ne(first, second);
    INVALID(cuStreamGetCaptureInfo(stream, NULL, &second, NULL, NULL, NULL, NULL));
    INVALID(cuStreamGetCaptureInfo(stream, &status, NULL, NULL, NULL, &edges, &count));
    INVALID(cuStreamIsCapturing(stream, NULL));
    OK(cuStreamEndCapture(stream, &graph));
}
END_TEST

/* The older spellings, as a program of their time would ask for them. */
START_TEST(the_older_calls_answer_the_same)
{
    CUresult (*begin)(CUstream);
    CUresult (*info)(CUstream, CUstreamCaptureStatus *, cuuint64_t *);
    CUresult (*info_v2)(CUstream, CUstreamCaptureStatus *, cuuint64_t *, CUgraph *,
                        const CUgraphNode **, size_t *);
    CUstreamCaptureStatus status;
    cuuint64_t id = 0, same = 0;
    const CUgraphNode *nodes;
    CUstream stream;
    CUgraph graph, ended;
    size_t count = 9;

    start();
    OK(cuGetProcAddress("cuStreamBeginCapture", (void **)&begin, 10000, 0, NULL));
    OK(cuGetProcAddress("cuStreamGetCaptureInfo", (void **)&info, 10010, 0, NULL));
    OK(cuGetProcAddress("cuStreamGetCaptureInfo", (void **)&info_v2, 11030, 0, NULL));
    stream = non_blocking();
    OK(begin(stream));
    OK(info(stream, &status, &id));
    ck_assert_int_eq(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    OK(info_v2(stream, &status, &same, &graph, &nodes, &count));
    ck_assert_uint_eq(same, id);
    ck_assert_uint_eq(count, 0);
    OK(cuStreamEndCapture(stream, &ended));
    ck_assert_ptr_eq(ended, graph);
}
END_TEST

START_TEST(a_stream_that_waits_for_a_captured_event_takes_part)
{
    CUstream origin, fork;
    CUevent forked, joined;
    CUgraphNode from[8], to[8];
    CUgraph graph;
    size_t edges = 8;

    start();
    origin = non_blocking();
    fork = non_blocking();
    forked = new_event();
    joined = new_event();
    OK(cuStreamBeginCapture(origin, CU_STREAM_CAPTURE_MODE_GLOBAL));
    note(origin, 1);
    OK(cuEventRecord(forked, origin));
    OK(cuStreamWaitEvent(fork, forked, 0));
    ck_assert_int_eq(status_of(fork), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    note(fork, 2);
    note(origin, 3);
    OK(cuEventRecord(joined, fork));
    OK(cuStreamWaitEvent(origin, joined, 0));
    note(origin, 4);
    OK(cuStreamEndCapture(origin, &graph));
    ck_assert_int_eq(status_of(fork), CU_STREAM_CAPTURE_STATUS_NONE);
    ck_assert_uint_eq(note_count(), 0);
    ck_assert_uint_eq(nodes_of(graph), 4);
    OK(cuGraphGetEdges(graph, from, to, NULL, &edges));
    ck_assert_uint_eq(edges, 4); /* 1-2, 1-3, 2-4, 3-4 */
}
END_TEST

START_TEST(a_fork_that_is_not_joined_ends_the_capture_with_unjoined)
{
    CUstream origin, fork;
    CUgraph graph = (CUgraph)1;
    CUevent event;

    start();
    origin = non_blocking();
    fork = non_blocking();
    event = new_event();
    OK(cuStreamBeginCapture(origin, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuEventRecord(event, origin));
    OK(cuStreamWaitEvent(fork, event, 0));
    note(fork, 1);
    ANSWERS(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, cuStreamEndCapture(origin, &graph));
    ck_assert_ptr_null(graph);
    ck_assert_int_eq(status_of(origin), CU_STREAM_CAPTURE_STATUS_NONE);
    ck_assert_int_eq(status_of(fork), CU_STREAM_CAPTURE_STATUS_NONE);
    note(fork, 2);
    OK(cuStreamSynchronize(fork));
    ck_assert_uint_eq(note_count(), 1);
}
END_TEST

START_TEST(a_fork_that_captured_nothing_need_not_be_joined)
{
    CUstream origin, fork;
    CUgraph graph;
    CUevent event;

    start();
    origin = non_blocking();
    fork = non_blocking();
    event = new_event();
    OK(cuStreamBeginCapture(origin, CU_STREAM_CAPTURE_MODE_GLOBAL));
    note(origin, 1);
    OK(cuEventRecord(event, origin));
    OK(cuStreamWaitEvent(fork, event, 0));
    OK(cuStreamEndCapture(origin, &graph));
    ck_assert_uint_eq(nodes_of(graph), 1);
}
END_TEST

START_TEST(dependencies_can_be_added_and_replaced_by_hand)
{
    CUstreamCaptureStatus status;
    CUgraphNode empty, nodes[4];
    const CUgraphNode *frontier;
    CUstream stream;
    CUgraph graph;
    size_t count;

    start();
    stream = non_blocking();
    ANSWERS(CUDA_ERROR_ILLEGAL_STATE,
            cuStreamUpdateCaptureDependencies(stream, NULL, NULL, 0,
                                              CU_STREAM_SET_CAPTURE_DEPENDENCIES));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    note(stream, 1);
    OK(cuStreamGetCaptureInfo(stream, &status, NULL, &graph, &frontier, NULL, &count));
    nodes[0] = frontier[0];
    OK(cuGraphAddEmptyNode(&empty, graph, NULL, 0));
    OK(cuStreamUpdateCaptureDependencies(stream, &empty, NULL, 1, 0));
    OK(cuStreamGetCaptureInfo(stream, &status, NULL, NULL, &frontier, NULL, &count));
    ck_assert_uint_eq(count, 2);
    OK(cuStreamUpdateCaptureDependencies(stream, &empty, NULL, 1,
                                         CU_STREAM_SET_CAPTURE_DEPENDENCIES));
    OK(cuStreamGetCaptureInfo(stream, &status, NULL, NULL, &frontier, NULL, &count));
    ck_assert_uint_eq(count, 1);
    ck_assert_ptr_eq(frontier[0], empty);
    INVALID(cuStreamUpdateCaptureDependencies(stream, &empty, NULL, 1, 7));
    nodes[1] = (CUgraphNode)&count;
    INVALID(cuStreamUpdateCaptureDependencies(stream, &nodes[1], NULL, 1, 0));
    note(stream, 2);
    OK(cuStreamEndCapture(stream, &graph)); /* the node taken out by hand need not be joined */
    ck_assert_uint_eq(nodes_of(graph), 3);
}
END_TEST

START_TEST(a_capture_can_add_to_a_graph_of_the_programs)
{
    CUgraphNode first, needs[2], nodes[2];
    size_t count = 2;
    CUstream stream;
    CUgraph graph, ended;
    CUgraphExec exec;

    start();
    stream = non_blocking();
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddEmptyNode(&first, graph, NULL, 0));
    INVALID(
        cuStreamBeginCaptureToGraph(stream, NULL, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuStreamBeginCaptureToGraph(stream, graph, &first, NULL, 1, CU_STREAM_CAPTURE_MODE_GLOBAL));
    note(stream, 1);
    INVALID(cuGraphInstantiate(&exec, graph, 0)); /* not before the capture has ended */
    OK(cuStreamEndCapture(stream, &ended));
    ck_assert_ptr_eq(ended, graph);
    OK(cuGraphGetNodes(graph, nodes, &count));
    ck_assert_uint_eq(count, 2);
    count = 2;
    OK(cuGraphNodeGetDependencies(nodes[1], needs, NULL, &count));
    ck_assert_uint_eq(count, 1);
    ck_assert_ptr_eq(needs[0], first);
    OK(cuGraphInstantiate(&exec, graph, 0));
}
END_TEST

START_TEST(the_default_stream_of_a_thread_can_be_captured)
{
    CUgraph graph;

    start();
    OK(cuStreamBeginCapture(CU_STREAM_PER_THREAD, CU_STREAM_CAPTURE_MODE_GLOBAL));
    note(CU_STREAM_PER_THREAD, 1);
    OK(cuStreamEndCapture(CU_STREAM_PER_THREAD, &graph));
    OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    ck_assert_uint_eq(note_count(), 0);
    ck_assert_uint_eq(nodes_of(graph), 1);
}
END_TEST

START_TEST(destroying_the_origin_ends_the_capture)
{
    CUstream origin, fork;
    CUdeviceptr address;
    CUevent event;

    start();
    origin = non_blocking();
    fork = non_blocking();
    event = new_event();
    OK(cuStreamBeginCapture(origin, CU_STREAM_CAPTURE_MODE_GLOBAL));
    note(origin, 1);
    OK(cuEventRecord(event, origin));
    OK(cuStreamWaitEvent(fork, event, 0));
    OK(cuStreamDestroy(origin));
    ck_assert_int_eq(status_of(fork), CU_STREAM_CAPTURE_STATUS_NONE);
    OK(cuMemAlloc(&address, 512)); /* nothing is open any more */
    OK(cuCtxSynchronize());
    ck_assert_uint_eq(note_count(), 0);
}
END_TEST

START_TEST(the_end_of_its_context_ends_a_capture)
{
    CUcontext primary = start(), other;
    CUstream stream;
    CUdeviceptr address;

    OK(cuCtxCreate(&other, NULL, 0, 0));
    stream = non_blocking();
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    note(stream, 1);
    OK(cuCtxDestroy(other));
    OK(cuCtxSetCurrent(primary));
    OK(cuMemAlloc(&address, 512));
}
END_TEST

static void capture_cleanly(void)
{
    CUstream stream;
    CUgraph graph;

    start();
    stream = non_blocking();
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    note(stream, 1);
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphDestroy(graph));
}

START_TEST(a_capture_that_breaks_no_rule_is_no_violation)
{
    char *report = report_of(capture_cleanly);

    ck_assert_int_eq(number_in(report, "capture"), -1);
    free(report);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {captured_work_does_not_run,
                                  what_was_enqueued_before_a_capture_runs_and_is_not_part_of_it,
                                  each_operation_becomes_a_node_of_its_kind,
                                  a_capture_has_an_id_of_its_own_and_tells_its_frontier,
                                  the_older_calls_answer_the_same,
                                  a_stream_that_waits_for_a_captured_event_takes_part,
                                  a_fork_that_is_not_joined_ends_the_capture_with_unjoined,
                                  a_fork_that_captured_nothing_need_not_be_joined,
                                  dependencies_can_be_added_and_replaced_by_hand,
                                  a_capture_can_add_to_a_graph_of_the_programs,
                                  the_default_stream_of_a_thread_can_be_captured,
                                  destroying_the_origin_ends_the_capture,
                                  the_end_of_its_context_ends_a_capture,
                                  a_capture_that_breaks_no_rule_is_no_violation,
                                  NULL};

    return run_tests("capture", tests);
}
