/* SPDX-License-Identifier: MIT
 * event_record.c - what an event does in a stream. Compiled twice (call.h). */
#include "call.h"

SIMRT_API cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    cudaError_t error = simrt_enter(SIMRT_CALL(cudaEventRecord), SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = event == NULL ? cudaErrorInvalidResourceHandle
                              : simrt_error(SIMRT_DRIVER.cuEventRecord(event, stream));
    return simrt_leave(error);
}

SIMRT_API cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream,
                                               unsigned int flags)
{
    cudaError_t error = simrt_enter(SIMRT_CALL(cudaEventRecordWithFlags), SIMRT_CONTEXT);

    if (error == cudaSuccess)
        error = event == NULL
                    ? cudaErrorInvalidResourceHandle
                    : simrt_error(SIMRT_DRIVER.cuEventRecordWithFlags(event, stream, flags));
    return simrt_leave(error);
}
