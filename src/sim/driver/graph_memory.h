/* SPDX-License-Identifier: MIT
 * graph_memory.h - memory that a capture allocates: it belongs to the graph.
 *
 * CUDA maps such memory from the launch that allocates it to the free, at the address it had when
 * it was captured. Here it is taken from a pool of the device at the capture. It stays until the
 * graph, all that was made executable of it, and its launches are gone (the nodes own it), and,
 * where a launch allocated it and no node of the graph frees it, until the program does, be it
 * after the graph's end. What one node frees a later one of the same stream in the same capture is
 * given again, since the two follow each other in every launch. The judge's ledger knows none of
 * it, as one address is many allocations, one a launch.
 *
 * All functions expect the lock to be held. */
#ifndef SC_SIM_GRAPH_MEMORY_H
#define SC_SIM_GRAPH_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api.h"

struct sim_device;
struct sim_pool;
struct sim_stream;

/* The pool of a device's graphs; NULL: out of memory. */
struct sim_pool *sim_graph_memory_pool_locked(struct sim_device *device);

/* What cuMemAllocAsync and cuMemFreeAsync are on a stream that is capturing. */
CUresult sim_graph_memory_alloc_locked(struct sim_device *device, struct sim_stream *stream,
                                       size_t bytes, uintptr_t *address);
CUresult sim_graph_memory_free_locked(uintptr_t address, struct sim_stream *stream);

/* The same on one that is not, and of cuMemFree once the work has been waited for. */
CUresult sim_graph_memory_end_locked(uintptr_t address, struct sim_stream *stream);
void sim_graph_memory_drop_locked(uintptr_t address);

/* Is it memory of a graph? Takes the lock itself, where there is any such memory at all. */
bool sim_graph_memory_owns(uintptr_t address);

#endif
