/* SPDX-License-Identifier: MIT
 * judge.h - whether an operation may touch what it touches, at the time it runs.
 *
 * On a GPU most of these mistakes are silent: a copy into memory that has been given back succeeds,
 * and somebody else's numbers change. Two witnesses are asked. The ledger (ledger.h) knows whose
 * the memory was when the operation was enqueued and what has become of that record; it sees what a
 * cache below libcudart does wrong. The driver's own blocks (memory.h) know where there is memory
 * at all: an operation outside of it does not run. Each mistake is one violation, of kind
 *
 *     use-after-free    enqueued after the free, or still not done when the free had returned
 *     use-after-reuse   not done when the memory had been given out again
 *     early-reuse       runs on memory whose former owner's operations are not done
 *     out-of-bounds     beyond the allocation, or where there never was any
 *     no-access         of mapped memory that the device was given no access to
 *     early-use         of memory whose allocation the streams have not come to
 *     handed-out-twice  an allocation of memory that is another's
 *     double-free       a free of what was freed before
 *     invalid-free      a free of what was never allocated
 *
 * SIMCUDA_JUDGE=sync: a free waits for the device, as CUDA's does, so what was enqueued before it
 * must be done when it returns. SIMCUDA_JUDGE=deferred: a free need not wait; it is only wrong to
 * use memory again (early-reuse), be it mapped at another address, while the former owner's
 * operations are unfinished. Leaks are
 * counted in the report, and violations of kind "leak" with SIMCUDA_LEAKS=1. */
#ifndef SC_SIM_JUDGE_H
#define SC_SIM_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ledger.h"

/* Before `what` runs, on its worker: false, it would touch what is no memory. *told: something has
 * been said against it. */
bool sim_judge_before(const char *what, const struct sim_touch *touches,
                      const struct sim_claim *claims, size_t count, bool *told);

/* After it has run, when nothing was said before. */
void sim_judge_after(const char *what, const struct sim_touch *touches,
                     const struct sim_claim *claims, size_t count);

/* What the program has not freed. At exit. */
void sim_judge_leaks(uint64_t *allocations, uint64_t *bytes);

#endif
