/* SPDX-License-Identifier: MIT
 * progress.h - how far a large log has been read, as a line on stderr that goes away again.
 *
 * On a terminal alone, for logs of SC_PROGRESS_FROM bytes and more, and at most ten times a second.
 * One log at a time, one thread. */
#ifndef SC_CLI_PROGRESS_H
#define SC_CLI_PROGRESS_H

#include <stdint.h>

enum { SC_PROGRESS_FROM = 16 << 20 };

/* Never from here on: somebody asked for quiet, or the terminal is being written to. */
void sc_progress_off(void);

/* `path` must stay valid until the end. A log whose size is not known has 0. */
void sc_progress_begin(const char *path, uint64_t bytes);
void sc_progress_add(uint64_t bytes); /* read since the last time */
void sc_progress_end(void);

/* Takes the line away; the next addition brings it back. Before anything is said on stderr. */
void sc_progress_clear(void);

#endif
