/* SPDX-License-Identifier: MIT
 * captures.h - a capture under test, what it must be in the end, and calls beside it.
 *
 * All of it in one process: each test has one of its own. */
#ifndef SIM_TEST_CAPTURES_H
#define SIM_TEST_CAPTURES_H

#include "support.h"

extern CUcontext context; /* that of the capture; set by captured() */

/* The capture under test: its stream, begun by the test's thread. */
CUstream captured(CUstreamCaptureMode mode, unsigned flags);
bool is_invalid(CUstream stream);
/* End it as what it must be. */
void expect_invalid(CUstream stream);
void expect_valid(CUstream stream);

/* What the calls beside it need, made before any capture. */
extern struct things {
    CUdeviceptr device, managed;
    void *pinned;
    char host[4096];
    CUevent event;
    CUmodule module;
} things;

void make_things(void);

CUresult alloc(void); /* cuMemAlloc of 512 bytes, which is unsafe in a capture */

/* A call made by another thread, whose own mode is `mode`. */
CUresult elsewhere(CUresult (*call)(void), CUstreamCaptureMode mode);

#endif
