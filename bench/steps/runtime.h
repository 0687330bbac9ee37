/* SPDX-License-Identifier: MIT
 * runtime.h - cudaMalloc and cudaFree for replay's player, served by the cache itself over a driver
 * that is one counter; and what became of each true step.
 *
 * One run at a time, one thread. */
#ifndef STEPS_RUNTIME_H
#define STEPS_RUNTIME_H

#include <stdbool.h>
#include <stdint.h>

struct verdict {
    uint64_t requests;
    uint64_t steps;  /* true ones */
    uint64_t ends;   /* that the cache saw */
    uint64_t exact;  /* of them, just before the first request of a true step */
    uint64_t covers; /* of them, by cover */
    uint64_t fallbacks;
    uint64_t spurious;    /* of them, for a new shape in the first true step */
    uint64_t fixed;       /* true steps all of whose requests came in phase fixed */
    uint64_t first_fixed; /* number of the first of them; UINT64_MAX: none */
    uint64_t hits;
};

/* Default settings. Told: each true step ends where it does; else inferred. */
void runtime_begin(bool is_told);
void runtime_step(void); /* the program's own loop begins a step */
struct verdict runtime_end(void);

#endif
