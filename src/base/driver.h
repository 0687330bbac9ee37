/* SPDX-License-Identifier: MIT
 * driver.h - the CUDA driver as the core sees it: one table of function pointers.
 *
 * The core never includes a CUDA header. hooks/ fills the table with the real driver's functions
 * before the first request; tests fill it with a fake that can fail its n-th call. Every function
 * returns the driver's own CUresult number, which passes through the core unchanged; the few
 * numbers the core must know are below. Outputs are written on success only.
 *
 * No function of the table may be called while one of our locks is held: the driver takes locks of
 * its own and may wait for the device. */
#ifndef SC_BASE_DRIVER_H
#define SC_BASE_DRIVER_H

#include <stddef.h>
#include <stdint.h>

enum {
    SC_CUDA_SUCCESS = 0,
    SC_CUDA_INVALID_VALUE = 1,
    SC_CUDA_OUT_OF_MEMORY = 2,
    SC_CUDA_NOT_INITIALIZED = 3,
    SC_CUDA_NOT_READY = 600,           /* an event that has not come yet */
    SC_CUDA_CAPTURE_UNSUPPORTED = 900, /* not while a stream capture is open */
};

typedef uint64_t sc_address;  /* a device pointer; 0 is none */
typedef uintptr_t sc_context; /* a CUcontext; 0 is none */

typedef struct sc_driver {
    int (*mem_alloc)(sc_address *address, size_t bytes); /* in the current context */
    int (*mem_free)(sc_address address);                 /* from any context, or none */
    int (*mem_info)(size_t *free_bytes, size_t *total_bytes);
    int (*mem_range)(sc_address *base, size_t *bytes, sc_address inside);
    int (*context_current)(sc_context *context); /* 0 when there is none */
    int (*context_device)(int *device);          /* of the current context */
    int (*context_push)(sc_context context);
    int (*context_pop)(void);
    int (*context_wait)(void); /* for everything enqueued in the current context */
    /* Page-locks memory of the program's for every context, and undoes it in the one it was done.
     */
    int (*host_register)(void *memory, size_t bytes);
    int (*host_unregister)(void *memory);
} sc_driver;

typedef uintptr_t sc_stream;    /* a CUstream; 0: the legacy default one */
typedef uintptr_t sc_gpu_event; /* a CUevent; 0 is none */

/* What copying between host and device takes. All in the current context. */
typedef struct sc_copy_driver {
    int (*stream_create)(sc_stream *stream); /* one that does not wait for the default stream */
    int (*stream_destroy)(sc_stream stream);
    int (*stream_finish)(sc_stream stream); /* the caller waits for all of it */
    int (*stream_wait)(sc_stream stream,
                       sc_gpu_event event); /* what is enqueued from now on does */
    int (*event_create)(sc_gpu_event *event);
    int (*event_destroy)(sc_gpu_event event);
    int (*event_record)(sc_gpu_event event, sc_stream stream);
    int (*event_query)(sc_gpu_event event);  /* success, SC_CUDA_NOT_READY, or an error */
    int (*event_finish)(sc_gpu_event event); /* the caller waits for it */
    int (*copy_out)(void *host, sc_address device, size_t bytes, sc_stream stream);
    int (*copy_in)(sc_address device, const void *host, size_t bytes, sc_stream stream);
    int (*copy_within)(sc_address to, sc_address from, size_t bytes, sc_stream stream);
    /* Where the device sits: "0000:3b:00.0", terminated. */
    int (*device_bus)(char *out, int bytes, int device);
} sc_copy_driver;

#endif
