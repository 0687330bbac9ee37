/* SPDX-License-Identifier: MIT
 * calls.h - one number for each exported function: its counter, and whether its next call is to
 * fail.
 *
 * Counting is a table index, not a look-up of a name: an atomic add on the path of every call. The
 * list is names/cuda.txt. Everything in it that no other file defines is defined, weak, in
 * unsupported.c. */
#ifndef SC_SIM_CALLS_H
#define SC_SIM_CALLS_H

#include <stdbool.h>

enum sim_call {
#define CALL(name) CALL_##name,
#include "calls.def"
#undef CALL
    SIM_CALL_COUNT
};

/* Counts the call; nonzero: the CUDA error SIMCUDA_FAIL wants from it. */
int sim_calls_enter(enum sim_call call);

/* The call the thread made last: the one it is in. */
const char *sim_calls_current(void);

/* Marks the function as one that answers "not supported". */
void sim_calls_unsupported(enum sim_call call);

/* The function's exported name. */
const char *sim_calls_name(enum sim_call call);

/* Is `name` an exported function, or one without its version and stream suffixes? */
bool sim_calls_known(const char *name);

/* Does it mean this one? */
bool sim_calls_are(enum sim_call call, const char *name);

/* Hands the counters to the report and arms SIMCUDA_FAIL; once per process. */
void sim_calls_start(void);

#endif
