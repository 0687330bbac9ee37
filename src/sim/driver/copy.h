/* SPDX-License-Identifier: MIT
 * copy.h - what all memory copies have in common: a box of bytes moves in stream order.
 *
 * The bytes move when the stream gets there. What the host waits for is what CUDA documents ("API
 * synchronization behavior"): a synchronous copy waits unless both ends are device memory; an
 * asynchronous one from pageable memory is staged first, so that the source may change at once; one
 * to pageable memory, or from host to host, returns when it is done. A captured copy is not staged:
 * it reads its source each time that its graph runs. */
#ifndef SC_SIM_COPY_H
#define SC_SIM_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api.h"

/* One end: where the first row begins, and how far apart rows and slices are. */
struct sim_end {
    uintptr_t address;
    size_t pitch, slice;
};

struct sim_copy {
    enum sim_call call;
    struct sim_end to, from;
    size_t width, height, depth; /* bytes, rows, slices */
    CUstream stream;
    bool per_thread;
    bool async;
    bool finish; /* the host waits in any case */
};

/* A copy of nothing is done at once. Addresses must have been checked, see sim_copy_end_valid(). */
CUresult sim_copy(struct sim_context *context, const struct sim_copy *copy);

/* Can a copy go there? device: it must be memory CUDA knows. */
bool sim_copy_end_valid(uintptr_t address, bool device);

/* Bytes from the first to the last of a box whose rows and slices are that far apart. */
size_t sim_box_extent(const struct sim_end *end, size_t width, size_t height, size_t depth);

#endif
