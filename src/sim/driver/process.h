/* SPDX-License-Identifier: MIT
 * process.h - where this process stands: not started, started, initialised, or a child of one that
 * was.
 *
 * CUDA does not survive fork(): a child of an initialised process has neither our worker threads
 * nor a trustworthy lock, so every call there answers CUDA_ERROR_NOT_INITIALIZED before it touches
 * anything, and the report is its parent's. The child is told apart by a page that the kernel wipes
 * on fork (raw clone too). A child of a process that never called cuInit is free to be one of its
 * own. */
#ifndef SC_SIM_PROCESS_H
#define SC_SIM_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "api.h"

/* First call of the process: settings, counters. Cheap afterwards. */
void sim_process_start(void);

/* cuInit: devices appear. */
CUresult sim_process_initialise(void);

bool sim_process_initialised(void);

/* Is this a child of a process that had called cuInit? */
bool sim_process_forked(void);

/* Did this very process (not its parent) make a call? Then the report is its to write. */
bool sim_process_reports(void);

/* The calling thread's number, from 1; never given out again. */
uint64_t sim_process_thread(void);

/* Is the calling thread one of ours, inside a host function or a registered kernel? */
bool sim_process_worker(void);
void sim_process_set_worker(void);

#endif
