/* SPDX-License-Identifier: MIT
 * clock.h - the costs the settings give to calls and kernels are real time, spent here. */
#ifndef SC_SIM_CLOCK_H
#define SC_SIM_CLOCK_H

#include <stdint.h>

/* Monotonic, in ns. */
uint64_t sim_now_ns(void);

/* Lets `ns` pass on the calling thread: asleep but for the end, which is waited for exactly. */
void sim_spend_ns(uint64_t ns);

#endif
