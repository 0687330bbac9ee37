/* SPDX-License-Identifier: MIT */
#include "capture.h"
#include "engine/engine.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

enum { SLOTS = 64 };

/* What a slot holds: 0 when free, CLAIMED while it is being filled, else a stream. Streams are
 * aligned pointers; the per-thread default stream, another one in each thread, is the thread's
 * address plus one. */
typedef uintptr_t identity;

#define CLAIMED ((identity)2)

typedef struct slot {
    _Atomic(identity) stream;
    _Atomic(CUcontext) context;
} slot;

static slot slots[SLOTS];

static identity identity_of(CUstream stream, bool zero_is_per_thread)
{
    if (stream == CU_STREAM_PER_THREAD || (stream == NULL && zero_is_per_thread))
        return (identity)pthread_self() | 1;
    return (identity)stream;
}

static CUstream stream_of(identity stream)
{
    return (stream & 1) != 0 ? CU_STREAM_PER_THREAD : (CUstream)stream;
}

/* The stream's own, which need not be the current one. NULL where the driver does not say: then the
 * end of a context ends no capture of it, which is slow and right. */
static CUcontext context_of(const sc_real *real, identity stream)
{
    CUcontext context = NULL;
    const CUresult result = (stream & 1) != 0 ? real->cuCtxGetCurrent(&context)
                                              : real->cuStreamGetCtx((CUstream)stream, &context);

    return result == CUDA_SUCCESS ? context : NULL;
}

static void remember(identity stream, CUcontext context)
{
    for (int i = 0; i < SLOTS; i++) {
        identity is_free = 0;

        if (atomic_compare_exchange_strong(&slots[i].stream, &is_free, CLAIMED)) {
            atomic_store(&slots[i].context, context);
            atomic_store(&slots[i].stream, stream);
            return;
        }
    }
}

static bool release(slot *at, identity stream)
{
    return stream > CLAIMED && atomic_compare_exchange_strong(&at->stream, &stream, 0);
}

static void forget(identity stream)
{
    for (int i = 0; i < SLOTS; i++) {
        if (atomic_load(&slots[i].stream) == stream && release(&slots[i], stream)) {
            sc_engine_capture_end();
            return;
        }
    }
}

void sc_capture_context_ended(CUcontext context)
{
    for (int i = 0; i < SLOTS; i++) {
        const identity stream = atomic_load(&slots[i].stream);

        if (atomic_load(&slots[i].context) == context && release(&slots[i], stream))
            sc_engine_capture_end();
    }
}

typedef struct beginning {
    const sc_real *real;
    identity stream;
    CUcontext context;
} beginning;

/* The count goes up before the driver is asked: from its "yes" on, a wait of ours could spoil
 * the capture. */
static beginning begin(CUstream stream, bool zero_is_per_thread)
{
    beginning one = {.real = sc_real_find(), .stream = identity_of(stream, zero_is_per_thread)};

    if (sc_real_is_watched(one.real)) {
        sc_engine_capture_begin();
        one.context = context_of(one.real, one.stream);
    }
    return one;
}

static CUresult begun(beginning one, CUresult result)
{
    if (!sc_real_is_watched(one.real))
        return result;
    if (result == CUDA_SUCCESS)
        remember(one.stream, one.context);
    else
        sc_engine_capture_end();
    return result;
}

/* A failed end may have ended the capture (invalidated, unjoined) or not (wrong thread): the
 * driver knows. */
static CUresult ended(const sc_real *real, identity stream, CUresult result)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;

    if (result != CUDA_SUCCESS && real->serves)
        (void)real->cuStreamIsCapturing(stream_of(stream), &status);
    if (result == CUDA_SUCCESS || status == CU_STREAM_CAPTURE_STATUS_NONE)
        forget(stream);
    return result;
}

CUresult cuStreamBeginCapture(CUstream stream)
{
    const beginning one = begin(stream, false);

    return begun(one, one.real->cuStreamBeginCapture(stream));
}

CUresult cuStreamBeginCapture_ptsz(CUstream stream)
{
    const beginning one = begin(stream, true);

    return begun(one, one.real->cuStreamBeginCapture_ptsz(stream));
}

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
    const beginning one = begin(stream, false);

    return begun(one, one.real->cuStreamBeginCapture_v2(stream, mode));
}

CUresult cuStreamBeginCapture_v2_ptsz(CUstream stream, CUstreamCaptureMode mode)
{
    const beginning one = begin(stream, true);

    return begun(one, one.real->cuStreamBeginCapture_v2_ptsz(stream, mode));
}

CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph,
                                     const CUgraphNode *dependencies, const CUgraphEdgeData *edges,
                                     size_t count, CUstreamCaptureMode mode)
{
    const beginning one = begin(stream, false);

    return begun(one, one.real->cuStreamBeginCaptureToGraph(stream, graph, dependencies, edges,
                                                            count, mode));
}

CUresult cuStreamBeginCaptureToGraph_ptsz(CUstream stream, CUgraph graph,
                                          const CUgraphNode *dependencies,
                                          const CUgraphEdgeData *edges, size_t count,
                                          CUstreamCaptureMode mode)
{
    const beginning one = begin(stream, true);

    return begun(one, one.real->cuStreamBeginCaptureToGraph_ptsz(stream, graph, dependencies, edges,
                                                                 count, mode));
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
    const sc_real *real = sc_real_find();

    return ended(real, identity_of(stream, false), real->cuStreamEndCapture(stream, graph));
}

CUresult cuStreamEndCapture_ptsz(CUstream stream, CUgraph *graph)
{
    const sc_real *real = sc_real_find();

    return ended(real, identity_of(stream, true), real->cuStreamEndCapture_ptsz(stream, graph));
}

static CUresult destroyed(CUstream stream, CUresult result)
{
    if (result == CUDA_SUCCESS)
        forget(identity_of(stream, false));
    return result;
}

CUresult cuStreamDestroy(CUstream stream)
{
    return destroyed(stream, sc_real_find()->cuStreamDestroy(stream));
}

CUresult cuStreamDestroy_v2(CUstream stream)
{
    return destroyed(stream, sc_real_find()->cuStreamDestroy_v2(stream));
}
