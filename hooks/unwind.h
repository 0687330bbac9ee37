/* SPDX-License-Identifier: MIT
 * unwind.h - the callers of the callers, by libunwind.
 *
 * libunwind.so.8 exports functions that would take over every C++ exception of the program if it
 * came with us; so it is opened when the first stack is asked for, RTLD_LOCAL, and never closed.
 * Where there is none we go without. Lock-free; threads that race open it twice, which is once.
 * Call it without locks: it takes those of the loader. */
#ifndef SC_HOOKS_UNWIND_H
#define SC_HOOKS_UNWIND_H

#include <stddef.h>

/* Return addresses from here outwards, at most `most`. How many; 0: there is no libunwind. */
size_t sc_unwind(const void **frames, size_t most);

#endif
