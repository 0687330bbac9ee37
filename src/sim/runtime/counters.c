/* SPDX-License-Identifier: MIT
 * counters.c - see counters.h. */
#include "counters.h"

#include "call.h"
#include "unsupported.h"

static _Atomic uint64_t counts[SIMRT_CALLS];

/* Set by the call itself: which definition of a name the link took, weak or modelled, only running
 * it tells. */
static unsigned char unsupported[SIMRT_CALLS];

const simcuda_counters simrt_counters = {
    .names = simrt_call_names,
    .unsupported = unsupported,
    .counts = counts,
    .count = SIMRT_CALLS,
};

void simrt_count(enum simrt_call call)
{
    atomic_fetch_add_explicit(&counts[call], 1, memory_order_relaxed);
}

int simrt_unsupported(enum simrt_call call)
{
    cudaError_t error = simrt_enter(call, SIMRT_NOTHING);

    __atomic_store_n(&unsupported[call], 1, __ATOMIC_RELAXED);
    return (int)simrt_leave(error == cudaSuccess ? cudaErrorNotSupported : error);
}
