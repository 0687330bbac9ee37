/* SPDX-License-Identifier: MIT
 * test_user_object.c - objects that graphs keep for the program. */
#include <stdlib.h>

#include "support.h"

static sem_t ended;
static CUresult inside;
static int number; /* of the object that ended */

static void destroy(void *data)
{
    inside = cuCtxSynchronize();
    number = *(int *)data;
    sem_post(&ended);
}

static CUuserObject create(int *data, unsigned references)
{
    CUuserObject object = NULL;

    ck_assert_int_eq(sem_init(&ended, 0, 0), 0);
    OK(cuUserObjectCreate(&object, data, destroy, references, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    return object;
}

static void await_end(int expected)
{
    while (sem_wait(&ended) != 0)
        continue;
    ck_assert_int_eq(number, expected);
}

static bool has_ended(void)
{
    int value = 0;

    sem_getvalue(&ended, &value);
    return value > 0;
}

START_TEST(an_object_ends_with_its_last_reference_where_cuda_may_not_be_called)
{
    int data = 41;
    CUuserObject object;

    start();
    object = create(&data, 2);
    OK(cuUserObjectRetain(object, 1));
    OK(cuUserObjectRelease(object, 2));
    ck_assert(!has_ended());
    OK(cuUserObjectRelease(object, 1));
    await_end(41);
    ck_assert_int_eq(inside, CUDA_ERROR_NOT_PERMITTED);
    INVALID(cuUserObjectRelease(object, 1));
}
END_TEST

START_TEST(graph_executable_and_launch_each_keep_it)
{
    static struct gate gate;
    int data = 42;
    CUuserObject object;
    CUgraphExec exec;
    CUstream stream;
    CUgraph graph;

    start();
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    object = create(&data, 1);
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphDestroy(graph));
    gate_hold(&gate, stream);
    OK(cuGraphLaunch(exec, stream));
    OK(cuGraphExecDestroy(exec));
    gate_reached(&gate);
    ck_assert(!has_ended());
    gate_open(&gate);
    await_end(42);
}
END_TEST

START_TEST(a_graph_gives_up_what_it_keeps_and_no_more)
{
    int data = 43;
    CUuserObject object;
    CUgraph graph;

    start();
    object = create(&data, 1);
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphRetainUserObject(graph, object, 2, 0));
    OK(cuUserObjectRelease(object, 1));
    INVALID(cuGraphReleaseUserObject(graph, object, 3));
    OK(cuGraphReleaseUserObject(graph, object, 1));
    ck_assert(!has_ended());
    OK(cuGraphReleaseUserObject(graph, object, 1));
    await_end(43);
    OK(cuGraphDestroy(graph));
}
END_TEST

START_TEST(calls_that_make_no_sense_are_invalid)
{
    int data = 44;
    CUuserObject object;
    CUgraph graph;

    start();
    INVALID(cuUserObjectCreate(NULL, &data, destroy, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    INVALID(cuUserObjectCreate(&object, &data, NULL, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    INVALID(cuUserObjectCreate(&object, &data, destroy, 0, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    INVALID(cuUserObjectCreate(&object, &data, destroy, 1, 0));
    object = create(&data, 1);
    OK(cuGraphCreate(&graph, 0));
    INVALID(cuUserObjectRetain(object, 0));
    INVALID(cuUserObjectRelease(object, 2));
    INVALID(cuUserObjectRelease((CUuserObject)graph, 1));
    INVALID(cuGraphRetainUserObject(graph, object, 1, 2));
    INVALID(cuGraphRetainUserObject(NULL, object, 1, 0));
    INVALID(cuGraphReleaseUserObject(graph, object, 1));
    OK(cuUserObjectRelease(object, 1));
    await_end(44);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        an_object_ends_with_its_last_reference_where_cuda_may_not_be_called,
        graph_executable_and_launch_each_keep_it, a_graph_gives_up_what_it_keeps_and_no_more,
        calls_that_make_no_sense_are_invalid, NULL};

    return run_tests("user object", tests);
}
