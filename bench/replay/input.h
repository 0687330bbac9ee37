/* SPDX-License-Identifier: MIT
 * input.h - the whole text of a file, for a reader that keeps pointers into it.
 *
 * A plain file is mapped, so a trace of gigabytes costs no copy and only the pages being read. A
 * file compressed by xz or gzip, told by its first bytes whatever its name, is unpacked into
 * memory by that tool, as is what comes through a pipe. Dies with a reason when it cannot be read,
 * and when the tool says that the file is damaged. The text lives until the process ends. */
#ifndef REPLAY_INPUT_H
#define REPLAY_INPUT_H

#include <stddef.h>

struct input {
    const char *name;
    const char *text; /* not terminated */
    size_t length;
};

struct input input_open(const char *path);

#endif
