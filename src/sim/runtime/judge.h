/* SPDX-License-Identifier: MIT
 * judge.h - tells the simulator's judge (../internal.h) what the program is given and gives back.
 *
 * Said here and not in the driver, since between the two there may be a cache, whose hits reach no
 * driver. Under another driver nobody listens. */
#ifndef SIMRT_JUDGE_H
#define SIMRT_JUDGE_H

#include "bind.h"

/* `pointer` is the program's now. */
static inline void simrt_judge_allocated(const void *pointer, size_t bytes)
{
    if (simrt_simulator_table.allocated != NULL && pointer != NULL)
        simrt_simulator_table.allocated(pointer, bytes);
}

/* Before the driver frees `pointer`, and after, with what came of it. */
static inline simcuda_allocation *simrt_judge_freeing(const void *pointer)
{
    return simrt_simulator_table.freeing == NULL ? NULL : simrt_simulator_table.freeing(pointer);
}

static inline void simrt_judge_freed(simcuda_allocation *allocation, bool succeeded)
{
    if (allocation != NULL)
        simrt_simulator_table.freed(allocation, succeeded);
}

#endif
