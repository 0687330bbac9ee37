/* SPDX-License-Identifier: MIT
 * progress.h - says on stderr how far a replay is: on a terminal in one line that is rewritten,
 * else in a line every so many seconds. */
#ifndef REPLAY_PROGRESS_H
#define REPLAY_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    bool is_terminal;
    double every, last; /* seconds */
    uint64_t total;     /* of what `done` counts */
    const char *unit;
};

double progress_seconds(void); /* monotonic */
struct progress progress_start(uint64_t total, const char *unit, double every);
void progress_tell(struct progress *progress, uint64_t done, uint64_t requests, uint64_t live);
void progress_end(struct progress *progress);

#endif
