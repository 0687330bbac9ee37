/* SPDX-License-Identifier: MIT
 * internal.h - what the simulated libcudart asks of the simulated libcuda beyond the public API.
 *
 * The two are separate shared objects, as the real ones are, and libcudart reaches the driver as
 * the real one does (dlopen, one dlsym, then the resolver). Only the report needs more: one file
 * must hold the calls of both. These symbols are exported by libcuda.so.1 under names no CUDA API
 * uses; libcudart finds them with dlsym. All are thread-safe. */
#ifndef SC_SIM_INTERNAL_H
#define SC_SIM_INTERNAL_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* A layer's call counters: names[i] was called counts[i] times; unsupported[i] is nonzero where the
 * call answers "not supported". The arrays are static in the caller and stay valid until exit. */
typedef struct simcuda_counters {
    const char *const *names;
    const unsigned char *unsupported;
    const _Atomic uint64_t *counts;
    size_t count;
} simcuda_counters;

/* Adds a layer's counters to the report. At most 16 layers; more are ignored. */
void simcuda_report_counters(const simcuda_counters *counters);

/* Mapped bytes of `device` now, and the most there were since the last call of this function: what
 * SIMCUDA_SAMPLES writes beside the program's own live bytes. */
void simcuda_mapped_bytes(int device, uint64_t *now, uint64_t *most);

/* Counts one violation of `kind` ("use-after-free", ...) and prints its first few on stderr. */
void simcuda_violation(const char *kind, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* For tests: stops the thread of that name (pthread_setname_np) at its next call of a function of
 * the driver, which it has then entered and done nothing in. simcuda_await_thread() returns when it
 * stands there, simcuda_release_thread() lets it go on. `function` must live as long. Nonzero: no
 * such function, or too many are held. A stream is held by a host function that waits. */
int simcuda_hold_thread(const char *thread, const char *function);
void simcuda_await_thread(const char *thread);
void simcuda_release_thread(const char *thread);

/* The judge. libcudart says what the program was given, and what it gives back, as the program sees
 * it: above whatever wraps the driver's calls. An allocation counts from its return: say so before
 * the program can know the address. A free is told of before the driver is (from then on another
 * thread may be given the address), and again with what came of it; what simcuda_freeing() returns
 * may be NULL. */
typedef struct simcuda_allocation simcuda_allocation;
void simcuda_allocated(const void *pointer, size_t bytes);
simcuda_allocation *simcuda_freeing(const void *pointer);
void simcuda_freed(simcuda_allocation *allocation, int succeeded);

/* The name as nvcc registered it -> the registered host function's presence is the driver's
 * business; see simcuda.h for simcuda_kernel(), which libcudart forwards too. */

#endif
