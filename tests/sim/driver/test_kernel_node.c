/* SPDX-License-Identifier: MIT
 * test_kernel_node.c - graphs of kernels that a program builds node by node. */
#include "support.h"

#include <stdlib.h>

/* Parameters of a launch of "note", which notes *number. */
static CUDA_KERNEL_NODE_PARAMS noting(void *arguments[1], int *number)
{
    CUDA_KERNEL_NODE_PARAMS params = {.func = function("note"),
                                      .gridDimX = 1,
                                      .gridDimY = 1,
                                      .gridDimZ = 1,
                                      .blockDimX = 1,
                                      .blockDimY = 1,
                                      .blockDimZ = 1,
                                      .kernelParams = arguments};

    arguments[0] = number;
    return params;
}

static CUgraphNode add(CUgraph graph, const CUgraphNode *needs, int number)
{
    void *arguments[1];
    CUDA_KERNEL_NODE_PARAMS params = noting(arguments, &number);
    CUgraphNode node;

    OK(cuGraphAddKernelNode(&node, graph, needs, needs != NULL, &params));
    return node;
}

static void begin(CUgraph *graph, CUstream *stream)
{
    start();
    OK(cuStreamCreate(stream, CU_STREAM_NON_BLOCKING));
    note_by_kernel(*stream, 0); /* registers the kernel */
    OK(cuStreamSynchronize(*stream));
    OK(cuGraphCreate(graph, 0));
}

START_TEST(kernels_added_by_hand_run_with_the_arguments_they_had_then)
{
    CUgraphNodeType type;
    CUgraphExec executable;
    CUgraphNode first, second;
    CUgraph graph;
    CUstream stream;

    begin(&graph, &stream);
    first = add(graph, NULL, 1);
    second = add(graph, &first, 2);
    OK(cuGraphNodeGetType(second, &type));
    ck_assert_int_eq(type, CU_GRAPH_NODE_TYPE_KERNEL);
    OK(cuGraphInstantiate(&executable, graph, 0));
    ck_assert_uint_eq(note_count(), 1);
    OK(cuGraphLaunch(executable, stream));
    OK(cuGraphLaunch(executable, stream));
    OK(cuStreamSynchronize(stream));
    ck_assert_uint_eq(note_count(), 5);
    for (size_t i = 1; i < 5; i++)
        ck_assert_int_eq(note_at(i), i % 2 ? 1 : 2);
}
END_TEST

START_TEST(an_executable_takes_new_parameters_and_what_is_queued_keeps_its_own)
{
    static struct gate gate;
    static const int wanted[] = {0, 1, 2, 1, 7, 1, 2};
    void *arguments[1];
    int seven = 7;
    CUDA_KERNEL_NODE_PARAMS params;
    CUgraphExec executable, later;
    CUgraphNode first, second;
    CUgraph graph;
    CUstream stream;

    begin(&graph, &stream);
    first = add(graph, NULL, 1);
    second = add(graph, &first, 2);
    OK(cuGraphInstantiate(&executable, graph, 0));
    gate_hold(&gate, stream);
    gate_reached(&gate);
    OK(cuGraphLaunch(executable, stream));
    params = noting(arguments, &seven);
    OK(cuGraphExecKernelNodeSetParams(executable, second, &params));
    OK(cuGraphLaunch(executable, stream));
    OK(cuGraphInstantiate(&later, graph, 0)); /* the graph is as it was */
    OK(cuGraphLaunch(later, stream));
    gate_open(&gate);
    OK(cuStreamSynchronize(stream));
    ck_assert_uint_eq(note_count(), 7);
    for (size_t i = 0; i < 7; i++)
        ck_assert_int_eq(note_at(i), wanted[i]);
}
END_TEST

START_TEST(a_node_takes_new_parameters_for_what_is_instantiated_later)
{
    void *arguments[1];
    int nine = 9;
    CUDA_KERNEL_NODE_PARAMS params;
    CUgraphExec before, after;
    CUgraphNode node;
    CUgraph graph;
    CUstream stream;

    begin(&graph, &stream);
    node = add(graph, NULL, 1);
    OK(cuGraphInstantiate(&before, graph, 0));
    params = noting(arguments, &nine);
    OK(cuGraphKernelNodeSetParams(node, &params));
    OK(cuGraphInstantiate(&after, graph, 0));
    OK(cuGraphLaunch(before, stream));
    OK(cuGraphLaunch(after, stream));
    OK(cuStreamSynchronize(stream));
    ck_assert_int_eq(note_at(1), 1);
    ck_assert_int_eq(note_at(2), 9);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
    void *arguments[1];
    int number = 1;
    CUDA_KERNEL_NODE_PARAMS params, wrong;
    CUgraphExec executable;
    CUgraphNode node, empty, strange;
    CUgraph graph, other;
    CUstream stream;

    begin(&graph, &stream);
    params = wrong = noting(arguments, &number);
    wrong.blockDimX = 4096;
    node = add(graph, NULL, 1);
    OK(cuGraphAddEmptyNode(&empty, graph, NULL, 0));
    OK(cuGraphCreate(&other, 0));
    strange = add(other, NULL, 1);
    OK(cuGraphInstantiate(&executable, graph, 0));
    INVALID(cuGraphAddKernelNode(NULL, graph, NULL, 0, &params));
    INVALID(cuGraphAddKernelNode(&node, graph, NULL, 0, NULL));
    INVALID(cuGraphAddKernelNode(&node, graph, NULL, 0, &wrong));
    INVALID(cuGraphAddKernelNode(&node, graph, &strange, 1, &params));
    INVALID(cuGraphExecKernelNodeSetParams(executable, strange, &params));
    INVALID(cuGraphExecKernelNodeSetParams(executable, empty, &params));
    INVALID(cuGraphKernelNodeSetParams(empty, &params));
    params.func = NULL;
    ANSWERS(CUDA_ERROR_INVALID_HANDLE, cuGraphAddKernelNode(&node, graph, NULL, 0, &params));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        kernels_added_by_hand_run_with_the_arguments_they_had_then,
        an_executable_takes_new_parameters_and_what_is_queued_keeps_its_own,
        a_node_takes_new_parameters_for_what_is_instantiated_later, what_does_not_fit_is_refused,
        NULL};

    return run_tests("kernel_node", tests);
}
