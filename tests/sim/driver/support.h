/* SPDX-License-Identifier: MIT
 * support.h - what the tests of the simulated driver share.
 *
 * Order is forced with gates, not with time: a gate is a host function that holds its stream until
 * the test opens it; it is static, since its stream may still be leaving it when the test returns.
 * Kernels and host functions leave notes in one list whose order is then compared. */
#ifndef SIM_TEST_SUPPORT_H
#define SIM_TEST_SUPPORT_H

#include <check.h>
#include <cuda.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/internal.h"
#include "sim/simcuda.h"

/* The call must answer this. */
#define ANSWERS(code, call) ck_assert_int_eq((call), (code))
#define OK(call)            ANSWERS(CUDA_SUCCESS, call)
#define INVALID(call)       ANSWERS(CUDA_ERROR_INVALID_VALUE, call)

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)

/* Sets SIMCUDA_name; before the first call of the process. */
void with(const char *name, const char *value);

/* cuInit, and device 0's primary context current; returns it. */
CUcontext start(void);

struct gate {
    sem_t entered, opened;
};

void gate_hold(struct gate *gate, CUstream stream); /* queue it: `stream` stops there */
void gate_reached(struct gate *gate);               /* wait until the stream has got there */
void gate_open(struct gate *gate);

/* Queues a host function, or a registered kernel, that notes `number`. */
void note(CUstream stream, int number);
void note_by_kernel(CUstream stream, int number);

/* The notes so far, in order. */
size_t note_count(void);
int note_at(size_t i);

/* The launchable function `name` of a fresh module. */
CUfunction function(const char *name);

/* Mapped bytes of device 0, by cuMemGetInfo. */
size_t mapped(void);

/* Runs `body` in a child that then exits as a program does, and must exit with 0. Returns what it
 * wrote to stderr, to be freed. */
char *stderr_of(void (*body)(void));

/* Runs `body` as above with SIMCUDA_REPORT set; returns the report's text, "" if none was written.
 */
char *report_of(void (*body)(void));

/* The number behind "key": in a report; -1: no such key. */
long long number_in(const char *report, const char *key);

/* A seed from SC_SEED or the clock, printed. */
uint64_t seed(void);
uint64_t next_random(uint64_t *state);

/* Runs the NULL-terminated list as one test case; a main's return value. */
int run_tests(const char *name, const TTest *const *tests);

#endif
