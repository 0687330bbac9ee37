/* SPDX-License-Identifier: MIT
 * formats.h - reads a trace in any of three formats, told by the first line.
 *
 *   id,lower,upper,size                      lifetimes of one pass over a graph: a block lives from
 *   7,12,40,1048576                          `lower` to `upper`. At the same time, frees come
 * before allocations, else the order of the file holds. One pass is one step.
 *
 *   # step 0                                 events: allocate, free, and where the program's own
 *   a 7 1048576                              loop began a step, counted from 0. Other comments and
 *   f 7                                      empty lines mean nothing. An id can be used again
 * after its free.
 *
 *   Thread,Time,Action,Pointer,Size,Stream   the log of RMM's logging adaptor: `allocate`, `free`
 * or 1,10:00:00.000001,allocate,0x7f00,64,0   `deallocate`, in the order of the file whatever the
 *   1,10:00:00.000002,free,0x7f00,64,0       thread and stream. `allocate failure` is left out.
 *
 * Dies at the first line that cannot be what it should: a free of what is not live, an allocation
 * of what is, a size that a free tells otherwise. */
#ifndef REPLAY_FORMATS_H
#define REPLAY_FORMATS_H

#include "input.h"
#include "trace.h"

struct trace formats_read(const struct input *input);

#endif
