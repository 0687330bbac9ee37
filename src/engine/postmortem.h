/* SPDX-License-Identifier: MIT
 * postmortem.h - an out-of-memory in a few lines on stderr, for somebody under stress: how much was
 * refused where, where the memory is, why, who has it, what was different this time, what may help.
 *
 * Without locks; allocates nothing. */
#ifndef SC_ENGINE_POSTMORTEM_H
#define SC_ENGINE_POSTMORTEM_H

#include "engine/verdict.h"

/* `again`: told because a second request was refused; else because the process has ended. */
void sc_postmortem_say(const sc_oom *oom, int device, bool again);

#endif
