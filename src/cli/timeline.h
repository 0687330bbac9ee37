/* SPDX-License-Identifier: MIT
 * timeline.h - memory over the steps of several logs, side by side.
 *
 * A lane is one device of one log, in the order in which they are named. Rows are few: each stands
 * for so many steps that the longest lane fits, and has the most there was in any of them. A step
 * record has the marks of every step since the one before, so none is missing. */
#ifndef SC_CLI_TIMELINE_H
#define SC_CLI_TIMELINE_H

#include "cli/logs.h"
#include <stdbool.h>

/* Prints it, or says what is wrong; the tool's exit code. */
int sc_timeline_tell(const sc_logs *logs, bool is_json);

#endif
