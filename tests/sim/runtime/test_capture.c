/* SPDX-License-Identifier: MIT
 * test_capture.c - captures by the runtime's calls: what is captured runs when its graph does. */
#include "run.h"

#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static cudaStream_t stream;
static char *device;

static void begin(enum cudaStreamCaptureMode mode)
{
    ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    ok(cudaMalloc((void **)&device, 4));
    ok(cudaMemset(device, 'a', 4));
    ok(cudaDeviceSynchronize());
    ok(cudaStreamBeginCapture(stream, mode));
}

static enum cudaStreamCaptureStatus status_of(cudaStream_t of)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusInvalidated;

    ok(cudaStreamIsCapturing(of, &status));
    return status;
}

static char first_byte(void)
{
    char byte = 0;

    ok(cudaMemcpy(&byte, device, 1, cudaMemcpyDeviceToHost));
    return byte;
}

START_TEST(a_stream_is_capturing_from_begin_to_end)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    unsigned long long id = 0;
    cudaGraph_t graph = NULL;

    begin(cudaStreamCaptureModeRelaxed);
    ck_assert_int_eq(status_of(stream), cudaStreamCaptureStatusActive);
    ck_assert_int_eq(status_of(cudaStreamPerThread), cudaStreamCaptureStatusNone);
    ok(cudaStreamGetCaptureInfo(stream, &status, &id, NULL, NULL, NULL, NULL));
    ck_assert_int_eq(status, cudaStreamCaptureStatusActive);
    ck_assert_uint_gt(id, 0);
    ok(cudaStreamEndCapture(stream, &graph));
    ck_assert_ptr_nonnull(graph);
    ck_assert_int_eq(status_of(stream), cudaStreamCaptureStatusNone);
    ok(cudaGraphDestroy(graph));
    fails(cudaErrorInvalidValue, cudaStreamIsCapturing(stream, NULL));
}
END_TEST

START_TEST(captured_work_runs_at_each_launch_of_its_graph_and_not_before)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t executable = NULL;

    begin(cudaStreamCaptureModeRelaxed);
    ok(cudaMemsetAsync(device, 'b', 4, stream));
    ok(cudaStreamEndCapture(stream, &graph));
    ck_assert_int_eq(first_byte(), 'a');
    ok(cudaGraphInstantiate(&executable, graph, 0));
    ok(cudaGraphDestroy(graph));
    for (int i = 0; i < 2; i++) {
        ok(cudaMemset(device, 'c', 4));
        ok(cudaDeviceSynchronize());
        ok(cudaGraphLaunch(executable, stream));
        ok(cudaStreamSynchronize(stream));
        ck_assert_int_eq(first_byte(), 'b');
    }
    ok(cudaGraphExecDestroy(executable));
}
END_TEST

START_TEST(a_global_capture_forbids_cudaMalloc_and_is_invalidated_by_it)
{
    cudaGraph_t graph = NULL;
    void *pointer = NULL;

    begin(cudaStreamCaptureModeGlobal);
    fails(cudaErrorStreamCaptureUnsupported, cudaMalloc(&pointer, 1));
    ck_assert_int_eq(status_of(stream), cudaStreamCaptureStatusInvalidated);
    fails(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
    ok(cudaMalloc(&pointer, 1));
}
END_TEST

START_TEST(a_relaxed_capture_allows_cudaMalloc)
{
    cudaGraph_t graph = NULL;
    void *pointer = NULL;

    begin(cudaStreamCaptureModeRelaxed);
    ok(cudaMalloc(&pointer, 1));
    ok(cudaStreamEndCapture(stream, &graph));
}
END_TEST

START_TEST(a_threads_mode_is_exchanged)
{
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    void *pointer = NULL;
    cudaGraph_t graph = NULL;

    ok(cudaThreadExchangeStreamCaptureMode(&mode));
    ck_assert_int_eq(mode, cudaStreamCaptureModeGlobal);
    begin(cudaStreamCaptureModeGlobal);
    ok(cudaMalloc(&pointer, 1)); /* in this thread */
    ok(cudaStreamEndCapture(stream, &graph));
    ok(cudaThreadExchangeStreamCaptureMode(&mode));
    ck_assert_int_eq(mode, cudaStreamCaptureModeRelaxed);
    mode = (enum cudaStreamCaptureMode)7;
    fails(cudaErrorInvalidValue, cudaThreadExchangeStreamCaptureMode(&mode));
}
END_TEST

START_TEST(a_graph_tells_what_it_is_made_of)
{
    enum cudaGraphNodeType type = cudaGraphNodeTypeCount;
    cudaGraphNode_t nodes[3], to[3], empty;
    cudaGraph_t graph = NULL;
    size_t count = 3;

    begin(cudaStreamCaptureModeRelaxed);
    ok(cudaMemsetAsync(device, 'b', 4, stream));
    ok(cudaMemcpyAsync(device, device + 2, 2, cudaMemcpyDeviceToDevice, stream));
    ok(cudaStreamEndCapture(stream, &graph));
    ok(cudaGraphGetNodes(graph, nodes, &count));
    ck_assert_uint_eq(count, 2);
    ok(cudaGraphNodeGetType(nodes[0], &type));
    ck_assert_int_eq(type, cudaGraphNodeTypeMemset);
    ok(cudaGraphNodeGetType(nodes[1], &type));
    ck_assert_int_eq(type, cudaGraphNodeTypeMemcpy);
    fails(cudaErrorInvalidValue, cudaGraphNodeGetType(nodes[1], NULL));
    ok(cudaGraphAddEmptyNode(&empty, graph, &nodes[1], 1));
    count = 3;
    ok(cudaGraphGetEdges(graph, nodes, to, NULL, &count));
    ck_assert_uint_eq(count, 2);
    ck_assert_ptr_eq(to[1], empty);
    count = 3;
    ok(cudaGraphGetRootNodes(graph, nodes, &count));
    ck_assert_uint_eq(count, 1);
    count = 3;
    ok(cudaGraphNodeGetDependencies(empty, nodes, NULL, &count));
    ck_assert_uint_eq(count, 1);
    ok(cudaGraphNodeGetDependentNodes(nodes[0], to, NULL, &count));
    ck_assert_uint_eq(count, 1);
    ck_assert_ptr_eq(to[0], empty);
    ok(cudaGraphDestroy(graph));
    fails(cudaErrorInvalidValue, cudaGraphGetNodes(graph, NULL, &count));
}
END_TEST

START_TEST(a_graph_is_written_down_with_its_nodes_and_edges)
{
    char path[] = "/tmp/simrt-dot-XXXXXX";
    char text[1024] = "";
    cudaGraph_t graph = NULL;
    FILE *file;

    begin(cudaStreamCaptureModeRelaxed);
    ok(cudaMemsetAsync(device, 'b', 4, stream));
    ok(cudaMemsetAsync(device, 'c', 4, stream));
    ok(cudaStreamEndCapture(stream, &graph));
    ck_assert_int_ge(close(mkstemp(path)), 0);
    ok(cudaGraphDebugDotPrint(graph, path, 0));
    file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_gt(fread(text, 1, sizeof(text) - 1, file), 0);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_ptr_eq(strstr(text, "digraph"), text);
    ck_assert_ptr_nonnull(strstr(text, "MEMSET"));
    ck_assert_ptr_nonnull(strstr(text, "\"node_0\" -> \"node_1\""));
    fails(cudaErrorOperatingSystem, cudaGraphDebugDotPrint(graph, "/no/such/folder/file", 0));
    fails(cudaErrorInvalidValue, cudaGraphDebugDotPrint(graph, NULL, 0));
    ok(cudaGraphDestroy(graph));
}
END_TEST

static void post(void *data)
{
    sem_post(data);
}

START_TEST(an_object_is_kept_by_the_graph_it_was_given_to)
{
    static sem_t ended;
    cudaUserObject_t object = NULL;
    cudaGraph_t graph = NULL;

    ck_assert_int_eq(sem_init(&ended, 0, 0), 0);
    ok(cudaGraphCreate(&graph, 0));
    ok(cudaUserObjectCreate(&object, &ended, post, 1, cudaUserObjectNoDestructorSync));
    ok(cudaUserObjectRetain(object, 1));
    ok(cudaGraphRetainUserObject(graph, object, 1, 0));
    ok(cudaGraphReleaseUserObject(graph, object, 1));
    ok(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
    ok(cudaUserObjectRelease(object, 1));
    ck_assert_int_ne(sem_trywait(&ended), 0);
    ok(cudaGraphDestroy(graph));
    while (sem_wait(&ended) != 0)
        continue;
    fails(cudaErrorInvalidValue, cudaUserObjectRelease(object, 1));
}
END_TEST

START_TEST(a_capture_can_add_to_a_graph_and_change_what_comes_next)
{
    cudaGraphInstantiateParams params = {.flags = cudaGraphInstantiateFlagAutoFreeOnLaunch};
    cudaGraphExec_t executable = NULL;
    cudaGraph_t graph = NULL, ended = NULL;
    unsigned long long flags = 0;
    cudaGraphNode_t node = NULL;

    ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    ok(cudaMalloc((void **)&device, 4));
    ok(cudaGraphCreate(&graph, 0));
    ok(cudaGraphAddEmptyNode(&node, graph, NULL, 0));
    ok(cudaStreamBeginCaptureToGraph(stream, graph, &node, NULL, 1, cudaStreamCaptureModeGlobal));
    ok(cudaMemsetAsync(device, 'b', 4, stream));
    ok(cudaStreamUpdateCaptureDependencies(stream, &node, NULL, 1,
                                           cudaStreamAddCaptureDependencies));
    ok(cudaStreamEndCapture(stream, &ended));
    ck_assert_ptr_eq(ended, graph);
    ok(cudaGraphInstantiateWithParams(&executable, graph, &params));
    ck_assert_int_eq(params.result_out, cudaGraphInstantiateSuccess);
    ok(cudaGraphExecGetFlags(executable, &flags));
    ck_assert_uint_eq(flags, cudaGraphInstantiateFlagAutoFreeOnLaunch);
    ok(cudaGraphLaunch(executable, stream));
    ok(cudaStreamSynchronize(stream));
    ck_assert_int_eq(first_byte(), 'b');
    fails(cudaErrorIllegalState, cudaStreamUpdateCaptureDependencies(stream, &node, NULL, 1, 0));
}
END_TEST

static void called(cudaStream_t of, cudaError_t status, void *data)
{
    (void)of;
    (void)status;
    (void)data;
}

START_TEST(a_callback_cannot_be_captured)
{
    cudaGraph_t graph = NULL;

    begin(cudaStreamCaptureModeRelaxed);
    fails(cudaErrorStreamCaptureUnsupported, cudaStreamAddCallback(stream, called, NULL, 0));
    fails(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
}
END_TEST

START_TEST(the_legacy_stream_cannot_be_captured)
{
    fails(cudaErrorStreamCaptureUnsupported,
          cudaStreamBeginCapture(NULL, cudaStreamCaptureModeRelaxed));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_stream_is_capturing_from_begin_to_end,
        captured_work_runs_at_each_launch_of_its_graph_and_not_before,
        a_global_capture_forbids_cudaMalloc_and_is_invalidated_by_it,
        a_relaxed_capture_allows_cudaMalloc,
        a_threads_mode_is_exchanged,
        a_graph_tells_what_it_is_made_of,
        a_graph_is_written_down_with_its_nodes_and_edges,
        an_object_is_kept_by_the_graph_it_was_given_to,
        a_capture_can_add_to_a_graph_and_change_what_comes_next,
        a_callback_cannot_be_captured,
        the_legacy_stream_cannot_be_captured,
    };

    return run_tests("capture", tests, sizeof(tests) / sizeof(tests[0]));
}
