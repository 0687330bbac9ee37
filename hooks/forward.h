/* SPDX-License-Identifier: MIT
 * forward.h - where a runtime call must go on to: which libcudart the caller means.
 *
 * A preload stands before every library, so each object's cudaMalloc lands here, and one process
 * may hold several libcudart: linked to the program, brought by a wheel with RTLD_LOCAL, one a
 * plugin. In this order:
 *   1. the next definition, when it is no libcudart: another preload that wants the call first;
 *   2. the libcudart among what the calling object itself loads, or the program is linked with;
 *   3. the next definition;
 *   4. any libcudart that is loaded.
 * "A libcudart" is an object that defines cudaRuntimeGetVersion beside the function. Step 2
 * takes nothing else, or a preload that calls on from its own cudaMalloc would be sent back to
 * itself.
 *
 * Answers are kept by the caller's return address. What they point into is pinned, so a stale
 * answer, after the caller was unloaded and another loaded at its place, still calls a
 * libcudart. Lock-free; a full table only means that the question is asked each time. */
#ifndef SC_HOOKS_FORWARD_H
#define SC_HOOKS_FORWARD_H

#include <stddef.h>
#include <stdint.h>

enum { SC_FORWARD_SLOTS = 1024 };

typedef struct sc_forward_slot {
    _Atomic(uintptr_t) caller;
    _Atomic(uintptr_t) target;
} sc_forward_slot;

/* One a function, static and zero. */
typedef struct sc_forward {
    const char *name;
    sc_forward_slot slots[SC_FORWARD_SLOTS];
} sc_forward;

/* The function's address, or NULL: no libcudart is loaded. */
void *sc_forward_find(sc_forward *forward, const void *caller);

#endif
