/* SPDX-License-Identifier: MIT
 * die.h - how replay ends when it cannot go on: one sentence on stderr, and an exit status.
 *
 * A trace is read whole before the first CUDA call, so bad input (EXIT_INPUT) ends a run that has
 * done nothing yet. EXIT_RUN is a replay that began and could not be finished. */
#ifndef REPLAY_DIE_H
#define REPLAY_DIE_H

enum { EXIT_RUN = 1, EXIT_INPUT = 2 };

void die(int status, const char *format, ...) __attribute__((noreturn, format(printf, 2, 3)));

#endif
