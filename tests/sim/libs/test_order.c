/* SPDX-License-Identifier: MIT
 * test_order.c - that a stand-in's calls are work on their stream, and its handles handles. */
#include "support.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SUCCESS = 0, NOT_INITIALIZED = 1, BAD_PLAN = 1, EXECUTION_FAILED = 13, UNSUPPORTED = 15 };

typedef struct library_handle *handle; /* of any of them */

int cublasCreate_v2(handle *out);
int cublasDestroy_v2(handle it);
int cublasSetStream_v2(handle it, CUstream stream);
int cublasGetStream_v2(handle it, CUstream *stream);
int cublasSgemm_v2(handle it);
int cublasGetVersion_v2(handle it, int *version);
int cublasGetBackdoor(void);
int cublasLtMatmul(handle it, void *b, void *c, void *d, void *e, void *f, void *g, void *h,
                   void *i, void *j, void *k, void *l, void *m, void *n, size_t o, CUstream stream);
int cublasLtMatmulAlgoGetHeuristic(handle it, void *a, void *b, void *c, void *d, void *e, void *f,
                                   int wanted, void *results, int *found);
int cufftPlan1d(int *plan, int count, int type, int batch);
int cufftExecC2C(int plan);
int cufftDestroy(int plan);
int cusparseSpMM_bufferSize(handle it, int a, int b, const void *c, void *d, void *e, const void *f,
                            void *g, int h, int i, size_t *bytes);
int ncclCommInitAll(handle *out, int ranks, const int *devices);
int ncclCommUserRank(handle it, int *rank);
int ncclCommCount(handle it, int *count);
int ncclAllReduce(const void *from, void *to, size_t count, int type, int op, handle it,
                  CUstream stream);
int ncclAllGather(const void *from, void *to, size_t count, int type, handle it, CUstream stream);
int ncclReduceScatter(const void *from, void *to, size_t count, int type, int op, handle it,
                      CUstream stream);
int ncclBroadcast(const void *from, void *to, size_t count, int type, int root, handle it,
                  CUstream stream);
int ncclGroupStart(void);
int ncclGroupEnd(void);
int nvmlInit_v2(void);
int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, handle *device);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, handle *device);

static atomic_int launches;   /* of the kernel that is watched */
static atomic_size_t seen_at; /* how many notes there were when it last ran */

static void watched(const simcuda_launch *launch, void **args)
{
    (void)launch;
    (void)args;
    atomic_store(&seen_at, note_count());
    atomic_fetch_add(&launches, 1);
}

static void watch(const char *kernel)
{
    ck_assert_int_eq(simcuda_kernel(kernel, watched, NULL, 0, NULL), 0);
}

static CUstream new_stream(void)
{
    CUstream stream;

    start();
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
}

START_TEST(a_call_runs_on_the_stream_its_handle_was_given_between_what_is_before_and_behind)
{
    static struct gate gate;
    CUstream stream = new_stream(), told = NULL;
    handle cublas;

    watch("cublasSgemm_v2");
    ANSWERS(SUCCESS, cublasCreate_v2(&cublas));
    ANSWERS(SUCCESS, cublasSetStream_v2(cublas, stream));
    ANSWERS(SUCCESS, cublasGetStream_v2(cublas, &told));
    ck_assert_ptr_eq(told, stream);
    gate_hold(&gate, stream);
    gate_reached(&gate);
    note(stream, 1);
    ANSWERS(SUCCESS, cublasSgemm_v2(cublas));
    note(stream, 2);
    ANSWERS(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
    ck_assert_int_eq(atomic_load(&launches), 0);
    gate_open(&gate);
    OK(cuStreamSynchronize(stream));
    ck_assert_int_eq(atomic_load(&launches), 1);
    ck_assert_uint_eq(atomic_load(&seen_at), 1);
}
END_TEST

START_TEST(a_stream_that_is_an_argument_is_the_one)
{
    static struct gate gate;
    CUstream stream = new_stream();
    handle lt = NULL, comm;

    watch("cublasLtMatmul");
    watch("ncclAllReduce");
    ANSWERS(SUCCESS, ncclCommInitAll(&comm, 1, NULL));
    gate_hold(&gate, stream);
    gate_reached(&gate);
    ANSWERS(SUCCESS, cublasLtMatmul(lt, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                                    NULL, NULL, NULL, 0, stream));
    ANSWERS(SUCCESS, ncclAllReduce(NULL, NULL, 0, 0, 0, comm, stream));
    ck_assert_int_eq(atomic_load(&launches), 0);
    gate_open(&gate);
    OK(cuStreamSynchronize(stream));
    ck_assert_int_eq(atomic_load(&launches), 2);
}
END_TEST

START_TEST(a_call_is_captured_and_runs_with_its_graph)
{
    CUstream stream = new_stream();
    CUgraph graph;
    CUgraphExec executable;
    size_t nodes = 0;
    handle cublas;

    watch("cublasSgemm_v2");
    ANSWERS(SUCCESS, cublasCreate_v2(&cublas));
    ANSWERS(SUCCESS, cublasSetStream_v2(cublas, stream));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    ANSWERS(SUCCESS, cublasSgemm_v2(cublas));
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphGetNodes(graph, NULL, &nodes));
    ck_assert_uint_eq(nodes, 1);
    ck_assert_int_eq(atomic_load(&launches), 0);
    OK(cuGraphInstantiateWithFlags(&executable, graph, 0));
    for (int i = 0; i < 3; i++)
        OK(cuGraphLaunch(executable, stream));
    OK(cuStreamSynchronize(stream));
    ck_assert_int_eq(atomic_load(&launches), 3);
}
END_TEST

START_TEST(what_is_no_handle_is_refused_and_not_followed)
{
    handle cublas, other;
    int number = 0;

    start();
    ANSWERS(NOT_INITIALIZED, cublasCreate_v2(NULL));
    ANSWERS(NOT_INITIALIZED, cublasSgemm_v2(NULL));
    ANSWERS(NOT_INITIALIZED, cublasSgemm_v2((handle)&number));
    ANSWERS(NOT_INITIALIZED, cublasSetStream_v2((handle)(uintptr_t)1, NULL));
    ANSWERS(SUCCESS, cublasCreate_v2(&cublas));
    ANSWERS(NOT_INITIALIZED, cublasSgemm_v2((handle)((char *)cublas + 1)));
    ANSWERS(SUCCESS, cublasCreate_v2(&other));
    ck_assert_ptr_ne(cublas, other);
    ANSWERS(SUCCESS, cublasDestroy_v2(cublas));
    ANSWERS(NOT_INITIALIZED, cublasSgemm_v2(cublas));
    ANSWERS(NOT_INITIALIZED, cublasDestroy_v2(cublas));
    ANSWERS(SUCCESS, cublasSgemm_v2(other));
}
END_TEST

START_TEST(a_plan_of_cufft_is_a_number)
{
    int first, second;

    start();
    ANSWERS(SUCCESS, cufftPlan1d(&first, 8, 0, 1));
    ANSWERS(SUCCESS, cufftPlan1d(&second, 8, 0, 1));
    ck_assert_int_ne(first, second);
    ANSWERS(SUCCESS, cufftExecC2C(second));
    ANSWERS(SUCCESS, cufftDestroy(second));
    ANSWERS(BAD_PLAN, cufftExecC2C(second));
    ANSWERS(BAD_PLAN, cufftExecC2C(0));
    ANSWERS(SUCCESS, cufftExecC2C(first));
}
END_TEST

START_TEST(a_workspace_has_a_size_and_a_product_an_algorithm)
{
    unsigned char results[256];
    size_t bytes = 0, workspace;
    int found = 0, version = 0;
    handle cublas;

    start();
    ANSWERS(SUCCESS,
            cusparseSpMM_bufferSize(NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, 0, 0, &bytes));
    ck_assert_uint_eq(bytes, MIB);
    memset(results, 0xff, sizeof results);
    ANSWERS(SUCCESS, cublasLtMatmulAlgoGetHeuristic(NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1,
                                                    results, &found));
    ck_assert_int_eq(found, 1);
    memcpy(&workspace, results + 64, sizeof workspace);
    ck_assert_uint_eq(workspace, 0);
    ANSWERS(SUCCESS, cublasCreate_v2(&cublas));
    ANSWERS(SUCCESS, cublasGetVersion_v2(cublas, &version));
    ck_assert_int_ge(version, 130000);
}
END_TEST

START_TEST(a_thread_without_a_context_is_given_one)
{
    CUcontext current = NULL;
    handle cublas;

    OK(cuInit(0));
    ANSWERS(SUCCESS, cublasCreate_v2(&cublas));
    ANSWERS(SUCCESS, cublasSgemm_v2(cublas));
    OK(cuCtxGetCurrent(&current));
    ck_assert_ptr_nonnull(current);
    OK(cuCtxSynchronize());
}
END_TEST

START_TEST(a_forked_child_is_refused_its_work)
{
    handle cublas;
    int status;
    pid_t child;

    start();
    ANSWERS(SUCCESS, cublasCreate_v2(&cublas));
    ANSWERS(SUCCESS, cublasSgemm_v2(cublas));
    child = fork();
    if (child == 0)
        _exit(cublasSgemm_v2(cublas));
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(WEXITSTATUS(status), EXECUTION_FAILED);
}
END_TEST

START_TEST(ranks_of_a_communicator_know_their_places)
{
    handle comms[3];
    int number = -1;

    start();
    ANSWERS(SUCCESS, ncclCommInitAll(comms, 3, NULL));
    for (int i = 0; i < 3; i++) {
        ANSWERS(SUCCESS, ncclCommUserRank(comms[i], &number));
        ck_assert_int_eq(number, i);
        ANSWERS(SUCCESS, ncclCommCount(comms[i], &number));
        ck_assert_int_eq(number, 3);
    }
}
END_TEST

START_TEST(a_rank_hears_itself_in_place_of_the_others)
{
    enum { INT32 = 2 };
    const int sent[4] = {1, 2, 3, 4};
    int heard[6] = {0};
    CUstream stream = new_stream();
    CUdeviceptr from, to;
    handle comms[3];

    ANSWERS(SUCCESS, ncclCommInitAll(comms, 3, NULL));
    OK(cuMemAlloc(&from, sizeof sent));
    OK(cuMemAlloc(&to, sizeof heard));
    OK(cuMemcpyHtoD(from, sent, sizeof sent));
    ANSWERS(SUCCESS, ncclAllGather((void *)from, (void *)to, 2, INT32, comms[1], stream));
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH(heard, to, sizeof heard));
    for (int i = 0; i < 6; i++)
        ck_assert_int_eq(heard[i], i % 2 + 1);
    ANSWERS(SUCCESS, ncclReduceScatter((void *)from, (void *)to, 1, INT32, 0, comms[2], stream));
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH(heard, to, sizeof heard));
    ck_assert_int_eq(heard[0], 3);
}
END_TEST

START_TEST(a_group_of_broadcasts_is_a_gathering)
{
    enum { INT32 = 2 };
    const int sent = 7;
    int heard[3] = {0};
    CUstream stream = new_stream();
    CUdeviceptr from, to;
    handle comms[3];

    ANSWERS(SUCCESS, ncclCommInitAll(comms, 3, NULL));
    OK(cuMemAlloc(&from, sizeof sent));
    OK(cuMemAlloc(&to, sizeof heard));
    OK(cuMemcpyHtoD(from, &sent, sizeof sent));
    OK(cuMemsetD32Async(to, 0, 3, stream)); /* in order with what follows: no stream waits here */
    ck_assert_int_ne(ncclGroupEnd(), SUCCESS);
    ANSWERS(SUCCESS, ncclGroupStart());
    for (int root = 0; root < 3; root++) {
        void *slot = (void *)(to + (size_t)root * sizeof sent);

        ANSWERS(SUCCESS, ncclBroadcast(root == 1 ? (void *)from : slot, slot, 1, INT32, root,
                                       comms[1], stream));
    }
    ANSWERS(SUCCESS, ncclGroupEnd());
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH(heard, to, sizeof heard));
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(heard[i], 7);
}
END_TEST

START_TEST(a_device_is_found_by_its_bus)
{
    char bus[32];
    handle by_bus = NULL, by_index = NULL;

    start();
    OK(cuDeviceGetPCIBusId(bus, sizeof bus, 0));
    ANSWERS(SUCCESS, nvmlInit_v2());
    ANSWERS(SUCCESS, nvmlDeviceGetHandleByPciBusId_v2(bus, &by_bus));
    ANSWERS(SUCCESS, nvmlDeviceGetHandleByIndex_v2(0, &by_index));
    ck_assert_ptr_eq(by_bus, by_index);
    ck_assert_int_ne(nvmlDeviceGetHandleByIndex_v2(1, &by_index), SUCCESS);
}
END_TEST

static void report(void)
{
    handle cublas;

    with("REPORT", "-");
    start();
    ANSWERS(SUCCESS, cublasCreate_v2(&cublas));
    for (int i = 0; i < 3; i++)
        ANSWERS(SUCCESS, cublasSgemm_v2(cublas));
    ANSWERS(UNSUPPORTED, cublasGetBackdoor());
}

START_TEST(calls_are_in_the_report_and_those_that_are_not_supported_apart)
{
    char *text = stderr_of(report);
    const char *apart = strstr(text, "\"unsupported\"");

    ck_assert_ptr_nonnull(strstr(text, "\"cublasSgemm_v2\": 3"));
    ck_assert_ptr_nonnull(apart);
    ck_assert_ptr_nonnull(strstr(apart, "\"cublasGetBackdoor\": 1"));
    ck_assert_ptr_null(strstr(apart, "cublasSgemm_v2"));
    free(text);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_call_runs_on_the_stream_its_handle_was_given_between_what_is_before_and_behind,
        a_stream_that_is_an_argument_is_the_one,
        a_call_is_captured_and_runs_with_its_graph,
        what_is_no_handle_is_refused_and_not_followed,
        a_plan_of_cufft_is_a_number,
        a_workspace_has_a_size_and_a_product_an_algorithm,
        a_thread_without_a_context_is_given_one,
        a_forked_child_is_refused_its_work,
        ranks_of_a_communicator_know_their_places,
        a_rank_hears_itself_in_place_of_the_others,
        a_group_of_broadcasts_is_a_gathering,
        a_device_is_found_by_its_bus,
        calls_are_in_the_report_and_those_that_are_not_supported_apart,
        NULL};

    return run_tests("libs.order", tests);
}
