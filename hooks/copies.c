/* SPDX-License-Identifier: MIT */
#include "copies.h"
#include "real.h"

/* A handle is a pointer to the driver, and a number to the core. */
static CUstream stream_of(sc_stream stream)
{
    return (CUstream)stream; /* NOLINT(performance-no-int-to-ptr) */
}

static CUevent event_of(sc_gpu_event event)
{
    return (CUevent)event; /* NOLINT(performance-no-int-to-ptr) */
}

static int stream_create(sc_stream *stream)
{
    CUstream made = NULL;
    const CUresult result = sc_real_find()->cuStreamCreate(&made, CU_STREAM_NON_BLOCKING);

    if (result == CUDA_SUCCESS)
        *stream = (sc_stream)made;
    return (int)result;
}

static int stream_destroy(sc_stream stream)
{
    return (int)sc_real_find()->cuStreamDestroy_v2(stream_of(stream));
}

static int stream_finish(sc_stream stream)
{
    return (int)sc_real_find()->cuStreamSynchronize(stream_of(stream));
}

static int stream_wait(sc_stream stream, sc_gpu_event event)
{
    return (int)sc_real_find()->cuStreamWaitEvent(stream_of(stream), event_of(event), 0);
}

static int event_create(sc_gpu_event *event)
{
    CUevent made = NULL;
    const CUresult result = sc_real_find()->cuEventCreate(&made, CU_EVENT_DISABLE_TIMING);

    if (result == CUDA_SUCCESS)
        *event = (sc_gpu_event)made;
    return (int)result;
}

static int event_destroy(sc_gpu_event event)
{
    return (int)sc_real_find()->cuEventDestroy_v2(event_of(event));
}

static int event_record(sc_gpu_event event, sc_stream stream)
{
    return (int)sc_real_find()->cuEventRecord(event_of(event), stream_of(stream));
}

static int event_query(sc_gpu_event event)
{
    return (int)sc_real_find()->cuEventQuery(event_of(event));
}

static int event_finish(sc_gpu_event event)
{
    return (int)sc_real_find()->cuEventSynchronize(event_of(event));
}

static int copy_out(void *host, sc_address device, size_t bytes, sc_stream stream)
{
    return (int)sc_real_find()->cuMemcpyDtoHAsync_v2(host, device, bytes, stream_of(stream));
}

static int copy_in(sc_address device, const void *host, size_t bytes, sc_stream stream)
{
    return (int)sc_real_find()->cuMemcpyHtoDAsync_v2(device, host, bytes, stream_of(stream));
}

static int copy_within(sc_address to, sc_address from, size_t bytes, sc_stream stream)
{
    return (int)sc_real_find()->cuMemcpyDtoDAsync_v2(to, from, bytes, stream_of(stream));
}

static int device_bus(char *out, int bytes, int device)
{
    return (int)sc_real_find()->cuDeviceGetPCIBusId(out, bytes, device);
}

const sc_copy_driver sc_copies_of_driver = {
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .stream_finish = stream_finish,
    .stream_wait = stream_wait,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_query = event_query,
    .event_finish = event_finish,
    .copy_out = copy_out,
    .copy_in = copy_in,
    .copy_within = copy_within,
    .device_bus = device_bus,
};
