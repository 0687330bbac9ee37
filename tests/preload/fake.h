/* SPDX-License-Identifier: MIT
 * fake.h - a libcuda.so.1 that does nothing much, counts every call and answers what it is told.
 *
 * It knows the functions of hooks.def and the few more that a program needs; most only count.
 * Device addresses are numbers, and a freed one is the next one handed out for its size, as real
 * drivers like to. Tests find the controls with dlsym, by the names of the types below less
 * "_type". */
#ifndef SC_TEST_FAKE_H
#define SC_TEST_FAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef unsigned fake_calls_type(const char *name);
typedef void fake_answer_type(const char *name,
                              int result);         /* not 0: from now on, and do nothing */
typedef void *fake_address_type(const char *name); /* the driver's own function */
typedef void fake_twins_type(bool are_twins);     /* cuGetProcAddress's cuMemAlloc is not dlsym's */
typedef void fake_memory_type(size_t bytes);      /* live at most; then out of memory */
typedef unsigned fake_live_type(void);            /* blocks */
typedef void fake_capture_type(int status);       /* of every stream, to cuStreamIsCapturing */
typedef void fake_primary_type(int count);        /* references to device 0's primary context */
typedef void fake_foreign_type(uintptr_t stream); /* is the primary context's; else the current */
typedef void fake_reenter_type(bool does); /* cuMemAlloc_v2 first calls a cuMemFree_v2 by name */

enum { FAKE_CONTEXT = 0x1000, FAKE_PRIMARY = 0x2000 };

/* Between the fake's own files. */
typedef struct fake_function {
    const char *name;
    const char *base;
    int version;
    int is_thread; /* the per-thread default stream flavour */
    int has_thread;
    void *address;
} fake_function;

extern const fake_function fake_functions[];
extern const unsigned fake_function_count;

int fake_called(const char *name); /* counts; what to answer, 0: go on */

#endif
