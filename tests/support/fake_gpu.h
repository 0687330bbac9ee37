/* SPDX-License-Identifier: MIT
 * fake_gpu.h - streams and events for tests of an arena, run in any order that the events allow.
 *
 * A copy or a kernel is only queued. fake_gpu_step() picks one stream at random among those whose
 * first operation need not wait, and runs that; so a missing event shows as wrong bytes in one
 * order or another, without a delay anywhere. A device address is a host pointer. Every call is
 * counted, and the n-th may be made to fail: it has then done nothing. One thread. */
#ifndef SC_TESTS_FAKE_GPU_H
#define SC_TESTS_FAKE_GPU_H

#include "base/driver.h"
#include "support/seed.h"
#include <stdbool.h>

extern const sc_copy_driver fake_gpu_copies;
extern const sc_driver fake_gpu_driver; /* registers host memory, pushes and pops; no more */

void fake_gpu_init(sc_random *random);
/* A stream of the program's. */
sc_stream fake_gpu_stream(void);
void fake_gpu_kernel(sc_stream stream, void (*run)(void *argument), void *argument);

bool fake_gpu_step(void);   /* false: nothing is queued */
void fake_gpu_finish(void); /* everything */
/* Streams of this number (in order of their making, from 0) run only when nothing else can. */
void fake_gpu_delay(unsigned stream);

void fake_gpu_fail_at(unsigned n, int result); /* the n-th call from now; 0: none */
unsigned fake_gpu_calls(void);                 /* since init */
bool fake_gpu_has_failed(void);                /* the call that was to fail came */

/* What has been made and not destroyed. */
unsigned fake_gpu_streams(void);
unsigned fake_gpu_events(void);
unsigned fake_gpu_registered(void);
unsigned fake_gpu_pushed(void);
uint64_t fake_gpu_copied(void); /* bytes, both ways */

#endif
