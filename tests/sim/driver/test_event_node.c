/* SPDX-License-Identifier: MIT
 * test_event_node.c - external events: recorded and waited for by the nodes of a graph. */
#include "support.h"

static CUstream stream, other;
static CUevent event;

static void begin(void)
{
    start();
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&event, CU_EVENT_DEFAULT));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
}

static CUgraphExec end(CUgraphNodeType expected)
{
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    CUgraphExec exec = NULL;
    CUgraphNode nodes[2];
    size_t count = 2;
    CUgraph graph;

    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphGetNodes(graph, nodes, &count));
    for (size_t i = 0; i < count && type != expected; i++)
        OK(cuGraphNodeGetType(nodes[i], &type));
    ck_assert_int_eq(type, expected);
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphDestroy(graph));
    return exec;
}

START_TEST(each_launch_records_the_event_when_the_node_has_run)
{
    static struct gate gates[2];
    CUgraphExec exec;

    begin();
    OK(cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_EXTERNAL));
    exec = end(CU_GRAPH_NODE_TYPE_EVENT_RECORD);
    OK(cuEventQuery(event)); /* the capture recorded nothing */
    for (int i = 0; i < 2; i++) {
        gate_hold(&gates[i], stream);
        OK(cuGraphLaunch(exec, stream));
        ANSWERS(CUDA_ERROR_NOT_READY, cuEventQuery(event));
        gate_open(&gates[i]);
        OK(cuEventSynchronize(event));
        OK(cuEventQuery(event));
    }
}
END_TEST

START_TEST(the_last_of_several_launches_is_the_one_that_is_waited_for)
{
    static struct gate gates[2];
    CUgraphExec exec;

    begin();
    OK(cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_EXTERNAL));
    exec = end(CU_GRAPH_NODE_TYPE_EVENT_RECORD);
    for (int i = 0; i < 2; i++) {
        gate_hold(&gates[i], stream);
        OK(cuGraphLaunch(exec, stream));
    }
    gate_open(&gates[0]);
    gate_reached(&gates[1]);
    ANSWERS(CUDA_ERROR_NOT_READY, cuEventQuery(event));
    gate_open(&gates[1]);
    OK(cuEventSynchronize(event));
}
END_TEST

START_TEST(a_stream_waits_for_what_a_launch_records)
{
    static struct gate gate;
    CUgraphExec exec;

    begin();
    note(stream, 1);
    OK(cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_EXTERNAL));
    exec = end(CU_GRAPH_NODE_TYPE_EVENT_RECORD);
    gate_hold(&gate, stream);
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamWaitEvent(other, event, 0));
    note(other, 2);
    gate_open(&gate);
    OK(cuStreamSynchronize(other));
    ck_assert_uint_eq(note_count(), 2);
    ck_assert_int_eq(note_at(0), 1);
}
END_TEST

START_TEST(a_launch_waits_for_an_event_outside_its_graph)
{
    static struct gate gate;
    CUgraphExec exec;

    begin();
    OK(cuStreamWaitEvent(stream, event, CU_EVENT_WAIT_EXTERNAL));
    note(stream, 2);
    exec = end(CU_GRAPH_NODE_TYPE_WAIT_EVENT);
    gate_hold(&gate, other);
    note(other, 1);
    OK(cuEventRecord(event, other));
    OK(cuGraphLaunch(exec, stream));
    ANSWERS(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
    gate_open(&gate);
    OK(cuStreamSynchronize(stream));
    ck_assert_uint_eq(note_count(), 2);
    ck_assert_int_eq(note_at(1), 2);
}
END_TEST

START_TEST(an_event_may_be_destroyed_before_its_graph)
{
    CUgraphExec exec;

    begin();
    OK(cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_EXTERNAL));
    OK(cuStreamWaitEvent(stream, event, CU_EVENT_WAIT_EXTERNAL));
    exec = end(CU_GRAPH_NODE_TYPE_WAIT_EVENT);
    OK(cuEventDestroy(event));
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuGraphExecDestroy(exec));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {each_launch_records_the_event_when_the_node_has_run,
                                  the_last_of_several_launches_is_the_one_that_is_waited_for,
                                  a_stream_waits_for_what_a_launch_records,
                                  a_launch_waits_for_an_event_outside_its_graph,
                                  an_event_may_be_destroyed_before_its_graph,
                                  NULL};

    return run_tests("event node", tests);
}
