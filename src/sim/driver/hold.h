/* SPDX-License-Identifier: MIT
 * hold.h - tests stop a named thread inside a driver call until they let it go.
 *
 * What is asked for by simcuda_hold_thread() and its kin (../internal.h), which are defined here. A
 * call is stopped after it has been counted and before it has taken any lock. One lock, taken
 * alone; while nothing is to be held, a call costs one load. */
#ifndef SC_SIM_HOLD_H
#define SC_SIM_HOLD_H

#include "calls.h"

/* Returns when nobody wants the calling thread to stop at this call. */
void sim_hold_here(enum sim_call call);

#endif
