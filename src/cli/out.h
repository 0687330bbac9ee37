/* SPDX-License-Identifier: MIT
 * out.h - where a command's data goes: standard output, or a file that is replaced whole or stays
 * as it is. What is no regular file (a pipe, /dev/null) is written to as it comes. */
#ifndef SC_CLI_OUT_H
#define SC_CLI_OUT_H

#include "cli/logs.h"
#include <stdbool.h>
#include <stdio.h>

typedef struct sc_out {
    FILE *file;
    const char *path;    /* NULL: standard output */
    const char *command; /* who speaks */
    char *aside;         /* NULL: written in place */
} sc_out;

/* Writing to `path` would destroy one of the logs that are yet to be read: 0 where it would not,
 * else the exit status, and said. NULL is standard output. */
int sc_out_check(const char *path, const sc_logs *logs, const sc_command *command);
/* False, and said on stderr. The path must stay valid. */
bool sc_out_open(sc_out *out, const char *path, const char *command);
/* `is_good`: what was written is whole. False, and said: it was, but could not be kept. */
bool sc_out_close(sc_out *out, bool is_good);

#endif
