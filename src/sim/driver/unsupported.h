/* SPDX-License-Identifier: MIT
 * unsupported.h - the answer of every function that is exported and not modelled. */
#ifndef SC_SIM_UNSUPPORTED_H
#define SC_SIM_UNSUPPORTED_H

#include "calls.h"

/* Counts the call and answers CUDA_ERROR_NOT_SUPPORTED, or what the state of the process demands.
 */
int sim_unsupported(enum sim_call call);

#endif
