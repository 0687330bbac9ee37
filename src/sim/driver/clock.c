/* SPDX-License-Identifier: MIT */
#include "clock.h"

#include <errno.h>
#include <time.h>

#define NS_PER_S 1000000000u

/* A sleep ends up to this much late (timer slack and scheduling), so it is cut short by as much. */
#define SLEEP_ERROR_NS 80000ull

uint64_t sim_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

void sim_spend_ns(uint64_t ns)
{
    uint64_t end;

    if (ns == 0)
        return;
    end = sim_now_ns() + ns;
    if (ns > 2 * SLEEP_ERROR_NS) {
        uint64_t wake = end - SLEEP_ERROR_NS;
        struct timespec until = {(time_t)(wake / NS_PER_S), (long)(wake % NS_PER_S)};

        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
            continue;
    }
    while (sim_now_ns() < end)
        continue;
}
