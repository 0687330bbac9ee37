/* SPDX-License-Identifier: MIT
 * counters.h - how often each function of libcudart was called.
 *
 * One counter a name of the list, zero from the start, never reset. The driver's report reads them
 * at exit, so they are static and this object is never unloaded. */
#ifndef SIMRT_COUNTERS_H
#define SIMRT_COUNTERS_H

#include "../internal.h"
#include "cudart_names.h"

extern const simcuda_counters simrt_counters;

void simrt_count(enum simrt_call call);

#endif
