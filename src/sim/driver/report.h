/* SPDX-License-Identifier: MIT
 * report.h - violations, and the report that SIMCUDA_REPORT asks for at exit.
 *
 * simcuda_violation() and simcuda_report_counters() (internal.h) are defined here too. The report
 * has a lock of its own, so that a violation can be counted from anywhere; nothing else is locked
 * under it. */
#ifndef SC_SIM_REPORT_H
#define SC_SIM_REPORT_H

/* A launch ran whose memory accesses are not known. */
void sim_report_unchecked(void);

/* simcuda_violation() for a caller that holds the lock of lock.h, under which nothing is written:
 * noted, and reported once the thread lets go of it, which sim_unlock() sees to. `kind` is a
 * literal. */
void sim_report_locked(const char *kind, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void sim_report_flush(void);

#endif
