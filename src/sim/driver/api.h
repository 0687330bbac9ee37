/* SPDX-License-Identifier: MIT
 * api.h - CUDA's driver API as this library defines it, all its versions, and the way into every
 * call.
 *
 * cuda.h renames functions to their newest version; with __CUDA_API_VERSION_INTERNAL it declares
 * each of them under its exported name instead. The library hides everything by default, so the
 * declarations are made visible here, and a definition takes its visibility (and its type check)
 * from them.
 *
 * Every exported function begins with one of the entries below. They count the call, answer
 * for a forked child, and apply SIMCUDA_FAIL; the later ones also check what the call needs. What
 * they return is what the call returns, unless it is CUDA_SUCCESS. */
#ifndef SC_SIM_API_H
#define SC_SIM_API_H

#define __CUDA_API_VERSION_INTERNAL
#pragma GCC visibility push(default)
#include <cuda.h>
#pragma GCC visibility pop

#include "calls.h"

struct sim_context;

/* A call that works at any time, before cuInit too. */
CUresult sim_enter(enum sim_call call);

/* A call that needs cuInit; refused inside a host function or kernel (CUDA_ERROR_NOT_PERMITTED). */
CUresult sim_enter_ready(enum sim_call call);

/* A call that needs a current context without a sticky error; *context is set on success. */
CUresult sim_enter_context(enum sim_call call, struct sim_context **context);

/* The same for a call that stream capture calls unsafe, see capture.h. */
CUresult sim_enter_unsafe(enum sim_call call, struct sim_context **context);

/* Gives up `status` as the context's error for good when it is of the sticky kind; returns it. */
CUresult sim_error(struct sim_context *context, CUresult status);

#endif
