/* SPDX-License-Identifier: MIT
 * sample.h - SIMCUDA_SAMPLES: after each allocation call, what the program holds and what the
 * device does.
 *
 * The witness that no log of a cache can fake. It knows the program's allocations by libcudart's
 * own calls, pointer by pointer, whatever the driver below was made to do, and asks the simulated
 * device how much memory is mapped. One line of CSV a successful cudaMalloc or cudaFree of memory:
 *
 *     call,op,bytes,live,live_mapped,device_mapped,device_most
 *
 * `live` is what the program holds on that device, `live_mapped` the same by the driver's rule: an
 * allocation of 1 MiB and more is rounded up to 2 MiB, smaller ones to 512 B and their sum to 2
 * MiB. An allocation counts from its return, a free from its return. Lines gather in a buffer of 64
 * KiB that is written when full and at exit; a child forked after the driver's start writes
 * nothing.
 *
 * One lock; it is held while the device is asked. Without SIMCUDA_SAMPLES every function returns at
 * once. A record belongs to this module between the calls that pass it. */
#ifndef SIMRT_SAMPLE_H
#define SIMRT_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct simrt_sample_record simrt_sample_record;

/* `pointer` is the program's now. */
void simrt_sample_allocated(void *pointer, size_t bytes);

/* Before the driver frees `pointer`: takes its record out, for the address may be given away again
 * before the driver returns. NULL when there is none. Then simrt_sample_freed() with what came of
 * it. */
simrt_sample_record *simrt_sample_freeing(void *pointer);
void simrt_sample_freed(simrt_sample_record *record, bool succeeded);

/* The device was reset: what the program held there is gone. */
void simrt_sample_forget(int device);

/* At exit, and in a forked child. */
void simrt_sample_flush(void);
void simrt_sample_abandon(void);

#endif
