/* SPDX-License-Identifier: MIT
 * command.h - what the commands of the tool share: their signature, exit codes and manner of
 * speaking.
 *
 * Data goes to stdout, talk to stderr. A command gets its own arguments, without its name, and
 * returns the tool's exit code; `run` returns only when it could not start the program. */
#ifndef SC_CLI_COMMAND_H
#define SC_CLI_COMMAND_H

#include <stddef.h>

enum {
    SC_EXIT_DONE = 0,
    SC_EXIT_NO = 1, /* done, and the answer to what was asked is no */
    SC_EXIT_USAGE = 2,
    SC_EXIT_UNREADABLE = 3,
    SC_EXIT_FAILED = 125, /* of run, and out of memory anywhere */
    SC_EXIT_NOT_EXECUTABLE = 126,
    SC_EXIT_NOT_FOUND = 127
};

typedef struct sc_command {
    const char *name;
    int (*run)(int count, char **arguments);
    const char *summary; /* one line */
    const char *help;    /* the whole text of --help */
} sc_command;

#define COMMAND(name) extern const sc_command sc_command_##name;
#include "cli/commands.def"

/* One line on stderr, after "shapecache: ". */
void sc_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same, then where help is; returns SC_EXIT_USAGE. */
int sc_usage(const sc_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Memory, zeroed, or the end of the tool. */
void *sc_need(size_t bytes);
void *sc_need_again(void *memory, size_t bytes);
char *sc_need_copy(const char *text);

#endif
