/* SPDX-License-Identifier: MIT
 * What the hooks tell the engine of captures, contexts, exports, waits and other allocators.
 * Runs under libprobe.so, linked with the fake libcuda: every call goes through the ELF door. */
#include "check.h"
#include "driver_types.h"
#include "engine/engine.h"
#include "fake.h"
#include "probe.h"
#include <pthread.h>

alloc_type cuMemAlloc_v2;
free_type cuMemFree_v2;
free_async_type cuMemFreeAsync, cuMemFreeAsync_ptsz;
resolve5_type cuGetProcAddress_v2;
nothing_type cuCtxSynchronize;
context_type cuCtxSynchronize_v2, cuCtxSetCurrent, cuCtxDestroy, cuCtxDestroy_v2, cuCtxDetach;
stream_type cuStreamSynchronize, cuStreamSynchronize_ptsz, cuEventSynchronize;
stream_type cuStreamBeginCapture, cuStreamBeginCapture_ptsz;
begin_type cuStreamBeginCapture_v2, cuStreamBeginCapture_v2_ptsz;
begin_graph_type cuStreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph_ptsz;
end_type cuStreamEndCapture, cuStreamEndCapture_ptsz;
stream_type cuStreamDestroy, cuStreamDestroy_v2;
ipc_type cuIpcGetMemHandle;
range_type cuMemGetHandleForAddressRange;
attribute_type cuPointerGetAttribute, cuPointerSetAttribute;
retain_type cuDevicePrimaryCtxRetain;
device_type cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2;
device_type cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2;
peer_type cuCtxEnablePeerAccess;
nothing_type cuMemAllocAsync, cuMemAllocAsync_ptsz, cuMemAllocFromPoolAsync;
nothing_type cuMemAllocFromPoolAsync_ptsz, cuMemCreate, cuMemAllocManaged, cuMemAllocPitch_v2;
nothing_type cuArrayCreate_v2, cuArray3DCreate_v2, cuMipmappedArrayCreate;
nothing_type cuStreamQuery, cuStreamQuery_ptsz, cuEventQuery, cuMemcpy, cuMemcpy_ptds;
nothing_type cuMemcpyHtoD_v2, cuMemcpyHtoD_v2_ptds, cuMemcpyDtoH_v2, cuMemcpyDtoH_v2_ptds;
nothing_type cuMemcpy2D_v2, cuMemcpy2D_v2_ptds, cuMemcpy2DUnaligned_v2;
nothing_type cuMemcpy2DUnaligned_v2_ptds, cuMemcpy3D_v2, cuMemcpy3D_v2_ptds;
fake_calls_type fake_calls;
fake_answer_type fake_answer;
fake_capture_type fake_capture;
fake_foreign_type fake_foreign;
fake_primary_type fake_primary;

enum { STREAM = 0x100, OTHER = 0x200 };

static probe *seen;

static void direct_binding_is_served(void)
{
    void *found = NULL;
    uint64_t address = 0;

    CHECK(seen->attached == 1, "a libcuda the program needs is known before main");
    CHECK(cuMemAlloc_v2(&address, 64) == SUCCESS && seen->allocs == 1, "allocations are served");
    CHECK(seen->doors[SC_DOOR_ELF] == 1 && seen->doors[SC_DOOR_DLSYM] == 0,
          "only the ELF door is counted");
    CHECK(cuMemFree_v2(address) == SUCCESS && seen->frees == 1, "so are frees");
    CHECK(cuGetProcAddress_v2("cuMemFree", &found, 3020, 0, NULL) == SUCCESS &&
              found == (void *)(uintptr_t)cuMemFree_v2,
          "a resolver bound directly gives hooks");
}

static void begin_every_way(void)
{
    CHECK(cuStreamBeginCapture(STREAM) == SUCCESS, "begin");
    CHECK(cuStreamBeginCapture_v2(STREAM + 16, 0) == SUCCESS, "begin v2");
    CHECK(cuStreamBeginCaptureToGraph(STREAM + 32, NULL, NULL, NULL, 0, 0) == SUCCESS, "to graph");
    CHECK(cuStreamBeginCapture_ptsz(STREAM + 48) == SUCCESS, "begin ptsz");
    CHECK(cuStreamBeginCapture_v2_ptsz(0, 0) == SUCCESS, "begin v2 ptsz");
    CHECK(cuStreamBeginCaptureToGraph_ptsz(STREAM + 64, NULL, NULL, NULL, 0, 0) == SUCCESS,
          "to graph ptsz");
}

static void every_begin_is_matched_by_one_end(void)
{
    void *graph = NULL;

    begin_every_way();
    CHECK(seen->captures == 6, "six captures are open");
    CHECK(cuStreamEndCapture(PER_THREAD_STREAM, &graph) == SUCCESS && seen->captures == 5,
          "the per-thread default stream has two names");
    CHECK(cuStreamEndCapture(STREAM, &graph) == SUCCESS && seen->captures == 4, "end");
    CHECK(cuStreamEndCapture_ptsz(STREAM + 16, &graph) == SUCCESS && seen->captures == 3,
          "end ptsz");
    CHECK(cuStreamDestroy_v2(STREAM + 32) == SUCCESS && seen->captures == 2,
          "destroying a capturing stream ends its capture");
    CHECK(cuStreamDestroy(STREAM + 48) == SUCCESS && seen->captures == 1, "by the old name, too");
    CHECK(cuStreamDestroy_v2(OTHER) == SUCCESS && seen->captures == 1,
          "destroying another stream ends nothing");
    CHECK(cuStreamEndCapture(STREAM, &graph) == SUCCESS && seen->captures == 1,
          "an end without a begin ends nothing");
    CHECK(cuCtxDestroy_v2(FAKE_CONTEXT) == SUCCESS && seen->captures == 0,
          "a context takes its captures with it");
}

static void a_capture_is_its_streams_contexts(void)
{
    fake_foreign(STREAM);
    CHECK(cuStreamBeginCapture_v2(STREAM, 0) == SUCCESS && seen->captures == 1, "begin");
    CHECK(cuCtxDestroy_v2(FAKE_CONTEXT) == SUCCESS && seen->captures == 1,
          "the context that was current when it began does not end it");
    CHECK(cuCtxDestroy_v2(FAKE_PRIMARY) == SUCCESS && seen->captures == 0,
          "the one its stream was made in does");
    fake_answer("cuStreamGetCtx", INVALID_VALUE);
    (void)cuStreamBeginCapture_v2(STREAM, 0);
    CHECK(cuCtxDestroy_v2(FAKE_PRIMARY) == SUCCESS && seen->captures == 1,
          "where the driver does not say which that is, none does");
    CHECK(cuStreamDestroy_v2(STREAM) == SUCCESS && seen->captures == 0, "but the stream's end");
    fake_answer("cuStreamGetCtx", SUCCESS);
    fake_foreign(0);
}

static void a_failed_begin_or_end_counts_as_the_driver_says(void)
{
    void *graph = NULL;
    const unsigned before = seen->captures_begun;

    fake_answer("cuStreamBeginCapture_v2", INVALID_VALUE);
    CHECK(cuStreamBeginCapture_v2(STREAM, 0) == INVALID_VALUE && seen->captures == 0,
          "a begin that failed opens nothing");
    CHECK(seen->captures_begun == before + 1, "and was counted before the driver refused it");
    fake_answer("cuStreamBeginCapture_v2", SUCCESS);
    (void)cuStreamBeginCapture_v2(STREAM, 0);
    fake_answer("cuStreamEndCapture", CAPTURE_WRONG_THREAD);
    fake_capture(1);
    CHECK(cuStreamEndCapture(STREAM, &graph) == CAPTURE_WRONG_THREAD && seen->captures == 1,
          "an end that the driver refused leaves the capture open");
    fake_answer("cuStreamEndCapture", CAPTURE_INVALIDATED);
    fake_capture(0);
    CHECK(cuStreamEndCapture(STREAM, &graph) == CAPTURE_INVALIDATED && seen->captures == 0,
          "the end of an invalidated capture ends it");
    fake_answer("cuStreamEndCapture", SUCCESS);
    (void)cuStreamBeginCapture_v2(STREAM, 0);
    fake_answer("cuStreamDestroy_v2", INVALID_VALUE);
    CHECK(cuStreamDestroy_v2(STREAM) == INVALID_VALUE && seen->captures == 1,
          "a stream that was not destroyed goes on capturing");
    fake_answer("cuStreamDestroy_v2", SUCCESS);
    (void)cuStreamDestroy_v2(STREAM);
}

static void *end_elsewhere(void *graph)
{
    (void)cuStreamEndCapture_ptsz(0, graph);
    return NULL;
}

static void each_thread_has_its_own_default_stream(void)
{
    pthread_t other;
    void *graph = NULL;

    (void)cuStreamBeginCapture_v2_ptsz(0, 0);
    (void)pthread_create(&other, NULL, end_elsewhere, &graph);
    (void)pthread_join(other, NULL);
    CHECK(seen->captures == 1, "another thread's per-thread stream is another stream");
    (void)cuStreamEndCapture_ptsz(0, &graph);
    CHECK(seen->captures == 0, "this thread's end is this capture's");
}

static void more_captures_than_slots_pass_through_for_good(void)
{
    void *graph = NULL;
    const int many = 70;

    for (int i = 0; i < many; i++)
        (void)cuStreamBeginCapture_v2(0x10000 + 16 * (uintptr_t)i, 0);
    CHECK(seen->captures == many, "all are counted");
    for (int i = 0; i < many; i++)
        (void)cuStreamEndCapture(0x10000 + 16 * (uintptr_t)i, &graph);
    CHECK(seen->captures > 0 && seen->captures < many, "those without a slot stay counted");
    seen->captures = 0;
}

static void contexts_are_forgotten_before_they_die(void)
{
    const unsigned before = seen->contexts_ended;

    CHECK(cuCtxDestroy(0x3000) == SUCCESS && cuCtxDetach(0x3010) == SUCCESS &&
              seen->contexts_ended == before + 2 && seen->last_context == 0x3010,
          "destroy and detach end the context they name");
    fake_primary(3);
    CHECK(cuDevicePrimaryCtxReset(0) == SUCCESS && seen->contexts_ended == before + 3 &&
              seen->last_context == FAKE_PRIMARY,
          "a reset ends the primary context");
    CHECK(cuDevicePrimaryCtxReset_v2(0) == SUCCESS && seen->contexts_ended == before + 4,
          "by both names");
    fake_primary(0);
    CHECK(cuDevicePrimaryCtxReset_v2(0) == SUCCESS && seen->contexts_ended == before + 4,
          "where there is none, none ends");
    CHECK(fake_calls("cuDevicePrimaryCtxRetain") == 2 &&
              fake_calls("cuDevicePrimaryCtxRelease_v2") == 2,
          "each reference taken to learn its name is given back");
}

static void only_the_last_release_ends_the_primary_context(void)
{
    const unsigned before = seen->contexts_ended;
    uintptr_t context = 0;

    fake_primary(0);
    CHECK(cuDevicePrimaryCtxRetain(&context, 0) == SUCCESS && context == FAKE_PRIMARY &&
              seen->contexts_ended == before + 1,
          "a primary context that comes up is a new one");
    CHECK(cuDevicePrimaryCtxRetain(&context, 0) == SUCCESS && seen->contexts_ended == before + 1,
          "one that was there is not");
    CHECK(cuDevicePrimaryCtxRelease_v2(0) == SUCCESS && seen->contexts_ended == before + 1,
          "a release that is not the last ends nothing");
    CHECK(cuDevicePrimaryCtxRelease(0) == SUCCESS && seen->contexts_ended == before + 2,
          "the last one ends it");
    CHECK(cuDevicePrimaryCtxRelease_v2(0) == INVALID_CONTEXT && seen->contexts_ended == before + 2,
          "one too many is the driver's error");
}

static void exported_memory_is_named(void)
{
    enum { P2P_TOKENS = 5, SYNC_MEMOPS = 6, MEMORY_TYPE = 2 };
    char handle[64];
    int flag = 1;

    CHECK(cuIpcGetMemHandle(handle, 0x7000) == SUCCESS && seen->exported == 1 &&
              seen->last_exported == 0x7000,
          "an IPC handle exports");
    CHECK(cuMemGetHandleForAddressRange(handle, 0x7100, 64, 1, 0) == SUCCESS && seen->exported == 2,
          "so does a dma-buf");
    CHECK(cuPointerGetAttribute(handle, P2P_TOKENS, 0x7200) == SUCCESS && seen->exported == 3,
          "so does a peer-to-peer token");
    CHECK(cuPointerSetAttribute(&flag, SYNC_MEMOPS, 0x7300) == SUCCESS && seen->exported == 4 &&
              seen->last_exported == 0x7300,
          "so does making its copies synchronous, which would outlive the free");
    CHECK(cuPointerGetAttribute(handle, MEMORY_TYPE, 0x7400) == SUCCESS && seen->exported == 4,
          "asking for another attribute does not");
    fake_answer("cuIpcGetMemHandle", INVALID_VALUE);
    CHECK(cuIpcGetMemHandle(handle, 0x7500) == INVALID_VALUE && seen->exported == 4,
          "nor does a handle that was refused");
}

static void waits_report_their_result(void)
{
    const unsigned before = seen->results;

    fake_answer("cuEventSynchronize", ILLEGAL_ADDRESS);
    CHECK(cuCtxSynchronize() == SUCCESS && cuCtxSynchronize_v2(FAKE_CONTEXT) == SUCCESS &&
              cuStreamSynchronize(STREAM) == SUCCESS && cuStreamSynchronize_ptsz(0) == SUCCESS,
          "waits succeed");
    CHECK(cuEventSynchronize(STREAM) == ILLEGAL_ADDRESS && seen->last_result == ILLEGAL_ADDRESS,
          "an error is passed on and reported");
    CHECK(seen->results == before + 5, "every wait reports");
    CHECK(seen->waits == 2 && seen->last_waited == FAKE_CONTEXT,
          "those for a whole context say so, and which");
    CHECK(cuCtxSynchronize() == SUCCESS && seen->last_waited == 0, "0 is the current one");
}

static void copies_that_wait_and_questions_report_too(void)
{
    static const struct {
        const char *name;
        nothing_type *call;
    } calls[] = {
        {"cuStreamQuery", cuStreamQuery},
        {"cuStreamQuery_ptsz", cuStreamQuery_ptsz},
        {"cuEventQuery", cuEventQuery},
        {"cuMemcpy", cuMemcpy},
        {"cuMemcpy_ptds", cuMemcpy_ptds},
        {"cuMemcpyHtoD_v2", cuMemcpyHtoD_v2},
        {"cuMemcpyHtoD_v2_ptds", cuMemcpyHtoD_v2_ptds},
        {"cuMemcpyDtoH_v2", cuMemcpyDtoH_v2},
        {"cuMemcpyDtoH_v2_ptds", cuMemcpyDtoH_v2_ptds},
        {"cuMemcpy2D_v2", cuMemcpy2D_v2},
        {"cuMemcpy2D_v2_ptds", cuMemcpy2D_v2_ptds},
        {"cuMemcpy2DUnaligned_v2", cuMemcpy2DUnaligned_v2},
        {"cuMemcpy2DUnaligned_v2_ptds", cuMemcpy2DUnaligned_v2_ptds},
        {"cuMemcpy3D_v2", cuMemcpy3D_v2},
        {"cuMemcpy3D_v2_ptds", cuMemcpy3D_v2_ptds},
    };

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        const unsigned before = seen->results;

        CHECK(calls[i].call() == SUCCESS && fake_calls(calls[i].name) == 1, calls[i].name);
        fake_answer(calls[i].name, ILLEGAL_ADDRESS);
        CHECK(calls[i].call() == ILLEGAL_ADDRESS && seen->last_result == ILLEGAL_ADDRESS &&
                  seen->results == before + 2,
              calls[i].name);
        seen->last_result = SUCCESS;
    }
}

static unsigned async_frees_made;

static void note_async_frees(void)
{
    async_frees_made += fake_calls("cuMemFreeAsync") + fake_calls("cuMemFreeAsync_ptsz");
}

static void async_frees_are_told_before_they_happen(void)
{
    seen->on_free_elsewhere = note_async_frees;
    CHECK(cuMemFreeAsync(0x8000, STREAM) == SUCCESS && seen->frees_elsewhere == 1 &&
              seen->last_freed == 0x8000 && async_frees_made == 0,
          "from the driver's call on the address may be anybody's");
    CHECK(cuMemFreeAsync_ptsz(0x8100, 0) == SUCCESS && seen->frees_elsewhere == 2 &&
              seen->last_freed == 0x8100 && async_frees_made == 1,
          "so it is for per-thread default streams");
    fake_answer("cuMemFreeAsync", INVALID_VALUE);
    CHECK(cuMemFreeAsync(0x8200, STREAM) == INVALID_VALUE, "an error is passed on");
}

static void peers_are_told_after_they_succeed(void)
{
    CHECK(cuCtxEnablePeerAccess(FAKE_CONTEXT, 0) == SUCCESS && seen->peers == 1, "peer access");
    fake_answer("cuCtxEnablePeerAccess", PEER_ALREADY);
    CHECK(cuCtxEnablePeerAccess(FAKE_CONTEXT, 0) == PEER_ALREADY && seen->peers == 2,
          "peer access that was on already is on");
    fake_answer("cuCtxEnablePeerAccess", INVALID_VALUE);
    CHECK(cuCtxEnablePeerAccess(FAKE_CONTEXT, 0) == INVALID_VALUE && seen->peers == 2,
          "peer access that was refused is not");
}

static void other_allocators_get_one_retry(void)
{
    static const struct {
        const char *name;
        nothing_type *call;
    } allocators[] = {
        {"cuMemAllocAsync", cuMemAllocAsync},
        {"cuMemAllocAsync_ptsz", cuMemAllocAsync_ptsz},
        {"cuMemAllocFromPoolAsync", cuMemAllocFromPoolAsync},
        {"cuMemAllocFromPoolAsync_ptsz", cuMemAllocFromPoolAsync_ptsz},
        {"cuMemCreate", cuMemCreate},
        {"cuMemAllocManaged", cuMemAllocManaged},
        {"cuMemAllocPitch_v2", cuMemAllocPitch_v2},
        {"cuArrayCreate_v2", cuArrayCreate_v2},
        {"cuArray3DCreate_v2", cuArray3DCreate_v2},
        {"cuMipmappedArrayCreate", cuMipmappedArrayCreate},
    };

    for (size_t i = 0; i < sizeof(allocators) / sizeof(allocators[0]); i++) {
        const char *name = allocators[i].name;
        const unsigned rooms = seen->rooms, granted = seen->granted;

        CHECK(allocators[i].call() == SUCCESS && fake_calls(name) == 1, name);
        CHECK(seen->granted == granted + 1, "what was granted is told");
        fake_answer(name, INVALID_VALUE);
        CHECK(allocators[i].call() == INVALID_VALUE && seen->rooms == rooms, name);
        CHECK(seen->granted == granted + 1, "what was refused is not");
        fake_answer(name, OUT_OF_MEMORY);
        seen->has_room = false;
        CHECK(allocators[i].call() == OUT_OF_MEMORY && fake_calls(name) == 3 &&
                  seen->rooms == rooms + 1,
              "without room made there is no retry");
        seen->has_room = true;
        CHECK(allocators[i].call() == OUT_OF_MEMORY && fake_calls(name) == 5 &&
                  seen->rooms == rooms + 2,
              "with room made there is one");
    }
}

int main(void)
{
    seen = FIND(probe_state_type, RTLD_DEFAULT, "probe_state")();
    (void)cuCtxSetCurrent(FAKE_CONTEXT);
    direct_binding_is_served();
    every_begin_is_matched_by_one_end();
    a_capture_is_its_streams_contexts();
    a_failed_begin_or_end_counts_as_the_driver_says();
    each_thread_has_its_own_default_stream();
    contexts_are_forgotten_before_they_die();
    only_the_last_release_ends_the_primary_context();
    exported_memory_is_named();
    waits_report_their_result();
    copies_that_wait_and_questions_report_too();
    async_frees_are_told_before_they_happen();
    peers_are_told_after_they_succeed();
    other_allocators_get_one_retry();
    more_captures_than_slots_pass_through_for_good();
    return check_failures != 0;
}
