/* SPDX-License-Identifier: MIT
 * bind.h - the driver, reached as the real libcudart reaches it.
 *
 * dlopen("libcuda.so.1", RTLD_NOW), one dlsym for cuGetProcAddress_v2 (libcudart 11: for
 * cuGetProcAddress), and from then on that resolver alone, by base name and version: whoever wraps
 * dlsym or the resolver sees here what he would see under NVIDIA's. The pointers are kept for life.
 * A function the driver lacks answers CUDA_ERROR_NOT_SUPPORTED, so no pointer of the table is NULL
 * once simrt_bind() has succeeded.
 *
 * A simulated driver also has the simcuda_* symbols of ../internal.h; under another one those
 * pointers are NULL. Thread-safe; nothing here is ever undone. */
#ifndef SIMRT_BIND_H
#define SIMRT_BIND_H

#include "../internal.h"
#include "../simcuda.h"

#include <cuda_runtime_api.h>
#include <cudaTypedefs.h>
#include <stdbool.h>

typedef struct simrt_driver {
#define DRIVER(name, version) PFN_##name##_v##version name;
#include "driver.def"
} simrt_driver;

typedef struct simrt_simulator {
    void (*report_counters)(const simcuda_counters *counters);
    void (*mapped_bytes)(int device, uint64_t *now, uint64_t *most);
    void (*allocated)(const void *pointer, size_t bytes);
    simcuda_allocation *(*freeing)(const void *pointer);
    void (*freed)(simcuda_allocation *allocation, int succeeded);
    int (*kernel)(const char *name, simcuda_function function, const size_t *argument_bytes,
                  unsigned count, simcuda_access access);
} simrt_simulator;

/* The second is for what a program compiled for per-thread default streams calls: its stream 0 is
 * the thread's own. */
extern simrt_driver simrt_driver_table;
extern simrt_driver simrt_per_thread_table;
extern simrt_simulator simrt_simulator_table;

/* Finds the driver on first use. cudaErrorInsufficientDriver when there is none. */
cudaError_t simrt_bind(void);

/* simrt_bind(), then the driver's own initialisation; refuses a driver older than this runtime. */
cudaError_t simrt_bind_initialised(void);

/* Whether the driver's initialisation was ever begun, in this process or one that forked it. */
bool simrt_bind_touched(void);

#endif
