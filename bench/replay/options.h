/* SPDX-License-Identifier: MIT
 * options.h - the command line of replay. Dies with the usage at what it does not know. */
#ifndef REPLAY_OPTIONS_H
#define REPLAY_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct options {
    const char *file;
    uint64_t passes;
    uint64_t loop_to;          /* steps; 0: play `passes` */
    const char *steps_to;      /* NULL: nowhere */
    uint64_t multiply, divide; /* bytes */
    uint64_t progress;         /* seconds */
    bool verifies, times;
};

/* Returns the exit status to end with, or -1 to go on. */
int options_parse(struct options *options, int argc, char **argv);

#endif
