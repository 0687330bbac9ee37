/* SPDX-License-Identifier: MIT
 * driver.h - whether this machine has a CUDA driver that a program could load.
 *
 * Looked for as the loader does, by name: dlopen() would ask for a newer C library than this tool
 * may, and would run the driver's constructors. */
#ifndef SC_CLI_DRIVER_H
#define SC_CLI_DRIVER_H

#include <stdbool.h>

#define SC_DRIVER_NAME "libcuda.so.1"

/* In LD_PRELOAD, LD_LIBRARY_PATH, the loader's cache or its own folders. */
bool sc_driver_is_there(void);

#endif
