/* SPDX-License-Identifier: MIT
 * resolve.h - from a base name and a CUDA version to the exported function: what cuGetProcAddress
 * knows.
 *
 * The table is names/resolve.txt. A base name's versions appeared over time; a caller gets the
 * newest that is not newer than the version it names, nor than the driver. */
#ifndef SC_SIM_RESOLVE_H
#define SC_SIM_RESOLVE_H

#include <stdbool.h>

enum sim_resolved { SIM_RESOLVED, SIM_UNKNOWN_NAME, SIM_TOO_OLD };

/* per_thread: the flavour for per-thread default streams, where the function has one. *function is
 * NULL unless resolved. */
enum sim_resolved sim_resolve(const char *name, int version, bool per_thread, void **function);

#endif
