/* SPDX-License-Identifier: MIT
 * driver_types.h - the driver functions that the tests call, as types. Written by hand: the
 * programs stand for ones that were compiled long ago against whatever cuda.h, and handles are
 * numbers here. */
#ifndef SC_TEST_DRIVER_TYPES_H
#define SC_TEST_DRIVER_TYPES_H

#include <stddef.h>
#include <stdint.h>

enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    INVALID_CONTEXT = 201,
    PEER_ALREADY = 704,
    ILLEGAL_ADDRESS = 700,
    CAPTURE_INVALIDATED = 901,
    CAPTURE_WRONG_THREAD = 908,
};

enum { LEGACY_STREAM = 1, PER_THREAD_STREAM = 2 };

typedef int alloc_type(uint64_t *address, size_t bytes);
typedef int free_type(uint64_t address);
typedef int free_async_type(uint64_t address, uintptr_t stream);
typedef int resolve4_type(const char *symbol, void **function, int version, uint64_t flags);
typedef int resolve5_type(const char *symbol, void **function, int version, uint64_t flags,
                          int *status);
typedef int context_type(uintptr_t context);
typedef int nothing_type(void);
typedef int stream_type(uintptr_t stream);
typedef int begin_type(uintptr_t stream, int mode);
typedef int begin_graph_type(uintptr_t stream, void *graph, const void *nodes, const void *edges,
                             size_t count, int mode);
typedef int end_type(uintptr_t stream, void **graph);
typedef int device_type(int device);
typedef int retain_type(uintptr_t *context, int device);
typedef int state_type(int device, unsigned *flags, int *is_active);
typedef int peer_type(uintptr_t context, unsigned flags);
typedef int ipc_type(void *handle, uint64_t address);
typedef int range_type(void *handle, uint64_t address, size_t bytes, int type,
                       unsigned long long flags);
typedef int attribute_type(void *data, int attribute, uint64_t address);
typedef int runtime_malloc_type(void **address, size_t bytes);
typedef int runtime_free_type(void *address);

#endif
