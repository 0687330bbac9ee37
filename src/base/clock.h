/* SPDX-License-Identifier: MIT
 * clock.h - monotonic nanoseconds (CLOCK_MONOTONIC: read in user space, no system call). Only the
 * engine, the log and an arena that page-locks read it; the cache takes time as a parameter. */
#ifndef SC_BASE_CLOCK_H
#define SC_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t sc_clock_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif
