/* SPDX-License-Identifier: MIT
 * error.h - error codes: the table, the driver's codes as the runtime's, which ones are sticky.
 *
 * Who remembers the last error is call.h's business. */
#ifndef SIMRT_ERROR_H
#define SIMRT_ERROR_H

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdbool.h>

/* The runtime's code for a driver's. The two agree in value wherever both exist; a code only the
 * driver has is cudaErrorUnknown. */
cudaError_t simrt_error(CUresult result);

/* Whether the error leaves the context unusable. */
bool simrt_error_is_sticky(cudaError_t error);

#endif
