/* SPDX-License-Identifier: MIT
 * capture.h - which streams are capturing.
 *
 * The engine keeps a count; this table makes sure that each begin is matched by exactly one end,
 * however the capture ends: by cuStreamEndCapture, by destroying the stream, with its context.
 * 64 slots, taken and freed by compare and exchange, so a forked child finds no lock held. A
 * capture that finds the table full stays counted for good: then everything passes through,
 * which is slow and right. */
#ifndef SC_HOOKS_CAPTURE_H
#define SC_HOOKS_CAPTURE_H

#include "real.h"

/* Call after `context` is gone: its captures are, too. */
void sc_capture_context_ended(CUcontext context);

#endif
