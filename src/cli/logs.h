/* SPDX-License-Identifier: MIT
 * logs.h - the logs that the paths of a command line stand for: a file is itself, the folder of a
 * run is all the logs in it, by rank. A file that is named twice is one log.
 *
 * The list owns its names. */
#ifndef SC_CLI_LOGS_H
#define SC_CLI_LOGS_H

#include "cli/command.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct sc_log_file {
    dev_t device;
    ino_t number; /* 0: no regular file */
} sc_log_file;

typedef struct sc_logs {
    char **at;
    unsigned count;
    sc_log_file *files; /* as many, in any order */
} sc_logs;

/* False, and `command` has said so: a folder without a log. A file need not be there. */
bool sc_logs_add(sc_logs *all, const char *path, const char *command);
/* The one log that `path` stands for, or of those the one of this rank. 0, or the exit status:
 * `command` has said what is wrong. */
#define SC_ANY_RANK UINT64_MAX
int sc_logs_only(sc_logs *all, const char *path, uint64_t rank, const sc_command *command);
void sc_logs_release(sc_logs *all);

#endif
