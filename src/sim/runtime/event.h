/* SPDX-License-Identifier: MIT
 * event.h - cudaEventElapsedTime(), which exists under two names: a whole call, counted as `call`.
 */
#ifndef SIMRT_EVENT_H
#define SIMRT_EVENT_H

#include "cudart_names.h"

#include <cuda_runtime_api.h>

cudaError_t simrt_event_elapsed_time(enum simrt_call call, float *milliseconds, cudaEvent_t start,
                                     cudaEvent_t end);

#endif
