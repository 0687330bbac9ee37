/* SPDX-License-Identifier: MIT
 * capture.cu - what a stream capture forbids, and what spoils it. In each mode, by the thread that
 * captures and by another one, one call at a time in a capture of its own:
 *     MODE.THREAD.CALL      what the call answered
 *     MODE.THREAD.CALL.end  what the end of the capture answered: 0, or 901 for a spoilt one
 * Every line must be the same with the cache as without. */
#include "say.cuh"

#include <functional>
#include <thread>

enum { SETTLE = 12 };

static const size_t BYTES = 4 * MIB;
static void *block, *given;
static cudaStream_t stream;
static cudaEvent_t event;
static CUcontext context;

extern "C" __global__ void gpu_step(void)
{
}

static const struct mode {
    const char *name;
    enum cudaStreamCaptureMode mode;
} modes[] = {{"global", cudaStreamCaptureModeGlobal},
             {"thread", cudaStreamCaptureModeThreadLocal},
             {"relaxed", cudaStreamCaptureModeRelaxed}};

static int record_context_event(void)
{
    auto record = DRIVER(cuCtxRecordEvent);

    return record != NULL ? record(context, event) : CUDA_ERROR_NOT_SUPPORTED;
}

static int create_page(void)
{
    CUmemAllocationProp wanted = {};
    CUmemGenericAllocationHandle page = 0;
    int code;

    wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    code = DRIVER(cuMemCreate)(&page, 2 * MIB, &wanted, 0);
    if (code == CUDA_SUCCESS)
        MUST(DRIVER(cuMemRelease)(page));
    return code;
}

static const struct call {
    const char *name;
    std::function<int(void)> make;
} calls[] = {
    {"nothing", [] { return 0; }},
    {"cudaMalloc", [] { return (int)cudaMalloc(&given, BYTES); }},
    {"cudaFree",
     [] {
         const int code = (int)cudaFree(block);

         if (code == 0)
             block = NULL;
         return code;
     }},
    {"cuCtxSynchronize", [] { return (int)DRIVER(cuCtxSynchronize)(); }},
    {"cudaEventQuery", [] { return (int)cudaEventQuery(event); }},
    {"cudaMemGetInfo",
     [] {
         size_t available, total;
         return (int)cudaMemGetInfo(&available, &total);
     }},
    {"cuCtxRecordEvent", record_context_event},
    {"cuMemCreate", create_page},
};

static void tidy(void)
{
    (void)cudaGetLastError();
    if (given != NULL)
        MUST(cudaFree(given));
    given = NULL;
    if (block == NULL)
        MUST(cudaMalloc(&block, BYTES));
}

static void try_call(const struct mode &mode, const struct call &call, bool in_another_thread)
{
    const std::string name =
        std::string(mode.name) + (in_another_thread ? ".other." : ".same.") + call.name;
    cudaGraph_t graph = NULL;
    int code = 0;

    MUST(cudaStreamBeginCapture(stream, mode.mode));
    gpu_step<<<1, 1, 0, stream>>>();
    if (in_another_thread)
        std::thread([&] {
            MUST(DRIVER(cuCtxSetCurrent)(context));
            code = call.make();
        }).join();
    else
        code = call.make();
    say_code(name, code);
    say_code(name + ".end", (int)cudaStreamEndCapture(stream, &graph));
    if (graph != NULL)
        MUST(cudaGraphDestroy(graph));
    tidy();
}

static bool is_supported(void)
{
    cudaGraph_t graph = NULL;
    const bool yes = cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed) == cudaSuccess;

    if (yes)
        MUST(cudaStreamEndCapture(stream, &graph));
    if (graph != NULL)
        MUST(cudaGraphDestroy(graph));
    (void)cudaGetLastError();
    return yes;
}

int main(void)
{
    MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    MUST(DRIVER(cuCtxGetCurrent)(&context));
    MUST(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    MUST(cudaEventRecord(event, stream));
    gpu_step<<<1, 1, 0, stream>>>(); /* loads the module */
    MUST(cudaDeviceSynchronize());
    if (!is_supported()) {
        say_unsupported("capture");
        return 0;
    }
    for (int step = 0; step < SETTLE; step++) {
        MUST(cudaMalloc(&block, BYTES));
        MUST(cudaFree(block));
        end_step();
    }
    MUST(cudaMalloc(&block, BYTES));
    for (const struct mode &mode : modes)
        for (const struct call &call : calls)
            for (bool in_another_thread : {false, true})
                try_call(mode, call, in_another_thread);
    MUST(cudaFree(block));
    return 0;
}
