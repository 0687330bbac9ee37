/* SPDX-License-Identifier: MIT
 * script.h - where a Python script stands in this thread, for call sites that people can read.
 *
 * PyTorch gives the interpreter's lock away before it allocates, so the interpreter cannot be
 * asked: to take that lock in the middle of somebody's cudaMalloc may deadlock. It need not be
 * asked: the frames of a thread that is inside a call change only when that call returns, so they
 * are read as they lie in memory. The stable interface is used for what it gives without the lock
 * (the version, this thread's state, the addresses of types); the rest is a table of offsets by
 * minor version (script_layout.def). Memory is read by process_vm_readv, which answers with an
 * error where a load would fault, and every object's type is checked before anything in it is
 * believed: an interpreter that is laid out in another way, or forbids the call, is one whose
 * script is not told.
 *
 * Frames of PyTorch itself and of the interpreter's own are skipped. A thread without a frame, as
 * those that run PyTorch's backward pass, is told by where the main thread stands: it waits there.
 *
 * Thread-safe, takes no lock, allocates nothing. Some 40 us: not for a request that is served. */
#ifndef SC_HOOKS_SCRIPT_H
#define SC_HOOKS_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>

/* "file:line", with its callers "outermost > ... > innermost", at most `depth` places; followed by
 * " (another thread)" where it is the main thread that stands there. Files below the working folder
 * are relative to it, those of packages begin with the package. False: this process or thread runs
 * no script that can be read. Without `out`: whether there is an interpreter that can be. */
bool sc_script_text(char *out, size_t bytes, unsigned depth);

#endif
